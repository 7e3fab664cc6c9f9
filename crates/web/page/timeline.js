/** The state timeline: what each server was in the last 15 minutes. */

import { arrange, freshId, h, s, setAttribute, setText } from "./dom.js";
import { clock, count, millis } from "./format.js";
import { eventText } from "./marks.js";
import { serverState, shape } from "./states.js";
import { Table } from "./table.js";

/** Servers that are shown at first, and added with each press of "show more". */
const STEP = 20;
/** Units of the picture's width, for 15 minutes. */
const WIDTH = 1000;
const HEIGHT = 16;
/** Top and height of a bar by level: a state has a form of its own besides its colour. */
const BARS = { ok: [6, 4], warn: [3, 10], bad: [0, 16], off: [7, 2] };

/** @typedef {{ line: HTMLElement, bars: SVGElement, word: HTMLElement, memo: string }} Row */

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
    /** @type {Map<string, Row>} */
    this.rows = new Map();
    this.limit = STEP;
    /** @type {NowView["timeline"] | null} */
    this.data = null;
    /** @type {ProxyEvent[]} */
    this.events = [];
    this.build();
  }

  build() {
    const heading = freshId();
    this.list = h("ol", { class: "rows" });
    this.axis = h("div", { class: "axis", "aria-hidden": "true" });
    this.total = h("span", { class: "total" });
    this.more = h("button", { type: "button", class: "more", onclick: () => {
      this.limit += STEP;
      this.draw();
    } });
    this.table = new Table({
      title: "States, newest first", empty: "No servers.", filter: true,
      key: (/** @type {SpanRow} */ row) => `${keyOf(row.server)} ${row.span.from_ms}`,
      columns: spanColumns(),
    });
    this.table.element.hidden = true;
    this.toggle = h("button", { type: "button", class: "quiet", "aria-pressed": "false",
      "aria-label": "Show as table: servers, last 15 minutes", onclick: () => this.flip(),
    }, "Show as table");
    this.picture = h("div", { class: "picture" }, this.list, this.axis, this.more);
    this.element = h("section", { class: "panel timeline", "aria-labelledby": heading },
      h("header", {}, h("h3", { id: heading }, "Servers, last 15 minutes"), this.total, this.toggle),
      this.picture, this.table.element);
  }

  flip() {
    const tabular = this.table.element.hidden;
    this.table.element.hidden = !tabular;
    this.picture.hidden = tabular;
    this.toggle.setAttribute("aria-pressed", String(tabular));
    setText(this.toggle, tabular ? "Show as picture" : "Show as table");
    this.draw();
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
    if (!this.data) return;
    const { servers } = this.data;
    const out = servers.filter((server) => stateOf(server).level !== "ok").length;
    setText(this.total, out ? `${count(out)} of ${count(servers.length)} out` : count(servers.length));
    if (!this.table.element.hidden) return this.drawTable();
    const sorted = servers.map((server, index) => ({ server, index, rank: rank(server) }))
      .sort((a, b) => a.rank - b.rank || a.index - b.index);
    /** @type {Map<string, Row>} */
    const rows = new Map();
    for (const { server } of sorted.slice(0, this.limit)) {
      const row = this.rows.get(keyOf(server)) ?? newRow(server);
      this.drawRow(row, server);
      rows.set(keyOf(server), row);
    }
    this.rows = rows;
    arrange(this.list, [...rows.values()].map((row) => row.line));
    this.more.hidden = servers.length <= this.limit;
    setText(this.more, `Show ${Math.min(STEP, servers.length - this.limit)} more of ${count(servers.length)}`);
    this.drawAxis();
  }

  drawTable() {
    const rows = this.data?.servers.flatMap((server) =>
      server.spans.map((span) => ({ server, span }))) ?? [];
    this.table.update(rows.sort((a, b) => b.span.from_ms - a.span.from_ms));
  }

  /** @param {number} time Unix ms */
  place(time) {
    const { from_ms: from, to_ms: to } = this.data ?? { from_ms: 0, to_ms: 1 };
    return Math.max(0, Math.min(WIDTH, ((time - from) / (to - from)) * WIDTH));
  }

  /**
   * @param {Row} row
   * @param {TimelineServer} server
   */
  drawRow(row, server) {
    const bars = server.spans.map((span) => ({
      span, x: Math.round(this.place(span.from_ms)), end: Math.round(this.place(span.to_ms)),
    }));
    const memo = bars.map((bar) => `${bar.x} ${bar.end} ${bar.span.state}`).join();
    if (memo === row.memo) return;
    row.memo = memo;
    row.bars.replaceChildren(...bars.map(({ span, x, end }) => {
      const state = serverState(span.state);
      const [y, height] = BARS[state.level];
      return s("rect", { x, y, width: Math.max(1, end - x), height, class: state.level },
        s("title", {}, `${state.word} ${clock(span.from_ms)}–${clock(span.to_ms)}`
          + (span.cause ? `: ${span.cause}` : "")));
    }));
    const state = stateOf(server);
    row.word.replaceChildren(shape(state.level), state.word);
    row.word.className = `badge ${state.level}`;
  }

  /** Times below the bars, and marks of loaded configurations. */
  drawAxis() {
    if (!this.data) return;
    const { from_ms: from, to_ms: to } = this.data;
    const ticks = [];
    const step = 3 * 60_000;
    for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
      ticks.push({ text: clock(time).slice(0, 5), at: time, kind: "tick", title: "" });
    }
    for (const event of this.events.filter((one) => one.kind === "config")) {
      ticks.push({ text: "", at: event.time_ms, kind: "mark", title: eventText(event) });
    }
    const lines = ticks.map((tick) => {
      const line = h("span", { class: tick.kind, title: tick.title || null }, tick.text);
      line.style.left = `${this.place(tick.at) / (WIDTH / 100)}%`;
      return line;
    });
    this.axis.replaceChildren(h("span", { class: "scale" }, ...lines));
  }
}

/** @param {TimelineServer} server */
function newRow(server) {
  const bars = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none",
    "aria-hidden": "true" });
  const word = h("span", { class: "badge" });
  const name = server.name || server.server;
  const line = h("li", {},
    h("span", { class: "name", title: server.server },
      h("b", { class: "group" }, String(server.hostgroup)), h("span", { class: "label" }, name)),
    bars, word);
  setAttribute(line, "data-server", server.server);
  return { line, bars, word, memo: "" };
}

/** @typedef {{ server: TimelineServer, span: Span }} SpanRow */

/** @returns {import("./table.js").Column<SpanRow>[]} */
function spanColumns() {
  return [
    { label: "Server", text: (row) => row.server.name || row.server.server,
      value: (row) => row.server.name || row.server.server },
    { label: "Address", text: (row) => row.server.server, minor: true, kind: "code" },
    { label: "Hostgroup", figure: true, text: (row) => String(row.server.hostgroup),
      value: (row) => row.server.hostgroup },
    { label: "State", text: (row) => serverState(row.span.state).word,
      value: (row) => serverState(row.span.state).word },
    { label: "From", figure: true, text: (row) => clock(row.span.from_ms),
      value: (row) => row.span.from_ms },
    { label: "For", figure: true, text: (row) => millis(row.span.to_ms - row.span.from_ms),
      value: (row) => row.span.to_ms - row.span.from_ms },
    { label: "Cause", text: (row) => row.span.cause || "–" },
  ];
}
