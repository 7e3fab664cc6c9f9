/** The state timeline: what each server was in the last 15 minutes. */

import { arrange, h, s, setText } from "./dom.js";
import { eventText } from "./events.js";
import { clock, count, millis } from "./format.js";
import { serverState, shape } from "./glyphs.js";
import { Table, figures, twofold, words } from "./table.js";

/** Servers that are shown at first, and added with each press of "show more". */
const STEP = 20;
/** Units of a bar's picture. */
const WIDTH = 1000;
const HEIGHT = 16;
/** Top and height of a bar by level: a state has a form of its own besides its colour. */
const BARS = { ok: [6.5, 3], warn: [3, 10], bad: [0, 16], off: [7.5, 1], news: [0, 0] };
/** Milliseconds between two times of the axis, and of one that is short. */
const TICK_MS = 180_000;
const SHORT_TICK_MS = 60_000;

/** @param {TimelineServer} server */
const nameOf = (server) => server.name || server.server;

/** @param {TimelineServer} server */
const keyOf = (server) => `${server.hostgroup} ${server.server}`;

/** @param {TimelineServer} server */
const stateOf = (server) => serverState(server.spans.at(-1)?.state ?? "ABSENT");

/**
 * Rank of a server: out now first, then changed within the window, then the rest.
 * @param {TimelineServer} server
 */
function rank(server) {
  const { level } = stateOf(server);
  if (level === "bad") return 0;
  if (level === "warn") return 1;
  if (server.spans.length > 1) return 2;
  return level === "off" ? 3 : 4;
}

export class Timeline {
  constructor() {
    /** @type {Map<string, TimelineRow>} */
    this.rows = new Map();
    this.limit = STEP;
    /** @type {NowView["timeline"]} */
    this.data = { from_ms: 0, to_ms: 1, servers: [] };
    /** @type {ProxyEvent[]} */
    this.events = [];
    this.list = h("ol", { class: "rows" });
    this.scale = h("span", { class: "scale" });
    this.total = h("span", { class: "total" });
    this.more = h("button", { type: "button", class: "more", hidden: true, onclick: () => {
      this.limit += STEP;
      this.draw();
    } });
    this.table = spanTable();
    this.picture = h("div", {}, this.list,
      h("div", { class: "axis", "aria-hidden": "true" }, this.scale), this.more);
    this.element = twofold("Servers, last 15 minutes", "timeline", this.picture, this.table.element,
      () => this.draw(), this.total);
  }

  /**
   * @param {NowView["timeline"]} data
   * @param {ProxyEvent[]} events
   */
  update(data, events) {
    this.data = data;
    this.events = events;
    this.draw();
  }

  draw() {
    const { servers } = this.data;
    // A row that has left its hostgroup is not out: another one may stand in its place.
    const there = servers.filter((server) => server.spans.at(-1)?.state !== "ABSENT");
    const out = there.filter((server) => stateOf(server).level !== "ok").length;
    const all = count(there.length);
    setText(this.total, out ? `${count(out)} of ${all} out` : all);
    if (this.picture.hidden) this.drawTable();
    else this.drawPicture();
  }

  drawTable() {
    this.table.update(this.data.servers
      .flatMap((server) => server.spans.map((span) => ({ server, span })))
      .sort((a, b) => b.span.from_ms - a.span.from_ms));
  }

  drawPicture() {
    const { servers } = this.data;
    const sorted = servers.map((server, index) => ({ server, index, rank: rank(server) }))
      .sort((a, b) => a.rank - b.rank || a.index - b.index);
    const rows = new Map();
    for (const { server } of sorted.slice(0, this.limit)) {
      const row = this.rows.get(keyOf(server)) ?? newRow(server);
      this.drawRow(row, server);
      rows.set(keyOf(server), row);
    }
    this.rows = rows;
    arrange(this.list, [...rows.values()].map((row) => row.line));
    const left = servers.length - this.limit;
    this.more.hidden = left <= 0;
    setText(this.more, `Show ${Math.min(STEP, left)} more of ${count(servers.length)}`);
    this.drawAxis();
  }

  /** @param {number} time Unix ms */
  place(time) {
    const { from_ms: from, to_ms: to } = this.data;
    return Math.round(Math.max(0, Math.min(1, (time - from) / (to - from))) * WIDTH);
  }

  /**
   * @param {TimelineRow} row
   * @param {TimelineServer} server
   */
  drawRow(row, server) {
    const places = server.spans.map((span) => [this.place(span.from_ms), this.place(span.to_ms)]);
    const memo = `${places} ${server.spans.map((span) => span.state)}`;
    if (memo === row.memo) return;
    row.memo = memo;
    row.bars.replaceChildren(...server.spans.map((span, index) => {
      const [x = 0, end = 0] = places[index] ?? [];
      const { word, level } = serverState(span.state);
      const [y, height] = BARS[level];
      const text = `${word} ${clock(span.from_ms)}–${clock(span.to_ms)}`;
      return s("rect", { x, y, width: Math.max(2, end - x), height, class: level },
        s("title", {}, span.cause ? `${text}: ${span.cause}` : text));
    }));
    const { word, level } = stateOf(server);
    row.word.replaceChildren(shape(level), word);
    row.word.className = `badge ${level}`;
  }

  /** Times below the bars, and marks of loaded configurations. */
  drawAxis() {
    const { from_ms: from, to_ms: to } = this.data;
    const marks = this.events.filter((one) => one.kind === "config").map((event) =>
      this.at(event.time_ms, h("span", { class: "mark", title: eventText(event) })));
    const tick = to - from < 3 * TICK_MS ? SHORT_TICK_MS : TICK_MS;
    for (let time = Math.ceil(from / tick) * tick; time <= to; time += tick) {
      marks.push(this.at(time, h("span", { class: "tick" }, clock(time).slice(0, 5))));
    }
    this.scale.replaceChildren(...marks);
  }

  /**
   * @param {number} time Unix ms
   * @param {HTMLElement} mark
   */
  at(time, mark) {
    mark.style.left = `${(this.place(time) * 100) / WIDTH}%`;
    return mark;
  }
}

/**
 * @param {TimelineServer} server
 * @returns {TimelineRow}
 */
function newRow(server) {
  const bars = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none",
    "aria-hidden": "true" });
  const word = h("span");
  const line = h("li", {}, h("span", { class: "name", title: server.server },
    h("span", { class: "group" }, String(server.hostgroup)),
    h("span", { class: "label" }, nameOf(server))), bars, word);
  return { line, bars, word, memo: "" };
}

/** @returns {Table<{ server: TimelineServer, span: Span }>} */
function spanTable() {
  return new Table({
    title: "States, newest first", empty: "No servers.", filter: "",
    key: ({ server, span }) => `${keyOf(server)} ${span.from_ms}`,
    columns: [
      words("Server", ({ server }) => nameOf(server)),
      words("Address", ({ server }) => server.server, "code minor"),
      figures("Hostgroup", ({ server }) => server.hostgroup),
      words("State", ({ span }) => serverState(span.state).word),
      figures("From", ({ span }) => span.from_ms, clock),
      figures("For", ({ span }) => span.to_ms - span.from_ms, millis),
      words("Cause", ({ span }) => span.cause, "prose"),
    ],
  });
}
