/** Curves over the last 15 minutes, with marks of events, and the same as a table. */

import { h, setText } from "./dom.js";
import { clock } from "./format.js";
import { WINDOW_S } from "./stream.js";
import { Table, figures, twofold, words } from "./table.js";
import { ink, onTheme } from "./theme.js";

/** @type {Object<string, { word: string, colour: string }>} */
const KINDS = {
  SHUNNED: { word: "shunned", colour: "bad" },
  SHUNNED_REPLICATION_LAG: { word: "lags", colour: "warn" },
  CAUGHT_UP: { word: "caught up", colour: "ok" },
  ONLINE: { word: "online", colour: "ok" },
  JOINED: { word: "joined", colour: "ok" },
  LEFT: { word: "left", colour: "faint" },
  LOADED: { word: "loaded", colour: "accent" },
};

/** @param {ProxyEvent} event */
export const eventWord = (event) =>
  KINDS[event.event]?.word ?? event.event.toLowerCase().replaceAll("_", " ");

/** @param {ProxyEvent} event */
export const eventLevel = (event) => {
  const colour = KINDS[event.event]?.colour;
  return colour === "ok" || colour === "warn" || colour === "bad" ? colour : "off";
};

/**
 * "14:02:11 10.0.0.7:3306 shunned: 3 failed pings"
 * @param {ProxyEvent} event
 */
export const eventText = (event) =>
  [clock(event.time_ms), event.server, eventWord(event)].filter(Boolean).join(" ")
  + (event.cause ? `: ${event.cause}` : "");

/**
 * Plug-in of uPlot that draws the marks over the curves.
 * @param {() => ProxyEvent[]} events
 * @returns {PlotOptions["plugins"][0]}
 */
function marksPlugin(events) {
  return { hooks: { draw: (plot) => {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    for (const event of events()) {
      const x = Math.round(plot.valToPos(event.time_ms / 1000, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.strokeStyle = ctx.fillStyle = ink(KINDS[event.event]?.colour ?? "faint");
      ctx.lineWidth = ratio;
      ctx.setLineDash([2 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      drawHead(ctx, event.kind === "config", x, bbox.top, 4 * ratio);
    }
    ctx.restore();
  } } };
}

/**
 * Head of a mark: a diamond for the configuration, a triangle for servers.
 * @param {CanvasRenderingContext2D} ctx
 * @param {boolean} diamond
 * @param {number} x
 * @param {number} y
 * @param {number} size
 */
function drawHead(ctx, diamond, x, y, size) {
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.moveTo(x - size, y);
  if (diamond) ctx.lineTo(x, y - size);
  ctx.lineTo(x + size, y);
  ctx.lineTo(x, y + size);
  ctx.closePath();
  ctx.fill();
}

const HEIGHT = 148;
/** Seconds around the cursor within which the header names an event. */
const NEAR_S = 8;

export class Chart {
  /**
   * @param {string} title
   * @param {(value: Figure) => string} format
   * @param {Series[]} series
   */
  constructor(title, format, series) {
    this.format = format;
    this.series = series;
    /** @type {Point[]} */
    this.points = [];
    /** @type {ProxyEvent[]} */
    this.events = [];
    /** @type {uPlot | null} */
    this.plot = null;
    this.end = 0;
    this.figures = series.map(() => h("b"));
    this.note = h("span", { class: "note" });
    this.canvas = h("div", { class: "canvas", role: "img", "aria-label": `${title}, last 15 minutes` });
    /** @type {Table<Point>} */
    this.table = new Table({
      title: `${title}, newest first`, empty: "No points yet.", step: 60, key: (row) => String(row.t),
      columns: [words("Time", (row) => clock(row.t * 1000)),
        ...series.map((one) => figures(one.label, (/** @type {Point} */ row) => row[one.key], format))],
    });
    this.element = twofold(title, "chart", this.canvas, this.table.element, () => this.draw(),
      h("span", { class: "legend" }, ...series.map((one, index) => h("span", { class: "key" },
        h("i", { class: `swatch ink-${one.colour}` }), `${one.label} `, this.figures[index]))),
      this.note);
    this.stopTheme = onTheme(() => this.plot?.redraw());
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.canvas);
  }

  /**
   * @param {Point[]} points ascending
   * @param {ProxyEvent[]} events
   * @param {number} end Unix seconds at the right edge.
   */
  update(points, events, end) {
    this.points = points;
    this.events = events;
    this.end = end;
    this.draw();
  }

  draw() {
    if (this.canvas.hidden) this.table.update([...this.points].reverse());
    else if (this.plot) this.plot.setData(this.columns());
    else if (this.canvas.clientWidth > 0 && this.end > 0) this.start();
    this.describe(this.plot?.cursor.idx ?? null);
  }

  /** The points as columns. Where seconds are missing is a row of nulls: the curve has a gap. */
  columns() {
    /** @type {(number | null)[][]} */
    const columns = [[], ...this.series.map(() => [])];
    let last = Infinity;
    for (const point of this.points) {
      if (point.t - last > 3) columns.forEach((column, index) => column.push(index ? null : last + 1));
      columns[0]?.push(point.t);
      this.series.forEach((one, index) => columns[index + 1]?.push(point[one.key]));
      last = point.t;
    }
    return columns;
  }

  start() {
    const axis = {
      stroke: () => ink("muted"), font: "11px system-ui, sans-serif", ticks: { show: false },
      grid: { stroke: () => ink("grid"), width: 1 },
    };
    this.plot = new uPlot({
      width: this.canvas.clientWidth, height: HEIGHT, legend: { show: false }, padding: [6, 2, 0, 0],
      cursor: { drag: { x: false, y: false }, sync: { key: "now" }, y: false, points: { size: 6 } },
      scales: {
        x: { range: () => [this.end - WINDOW_S, this.end] },
        y: { range: (_, __, top) =>
          [0, Math.max(top * 1.15, 1)] },
      },
      axes: [
        { ...axis, grid: { show: false }, size: 20, gap: 2, space: 70,
          values: (_, splits) =>
            splits.map((split) => clock(split * 1000).slice(0, 5)) },
        { ...axis, size: 58, gap: 6, space: 34,
          values: (_, splits) => splits.map(this.format) },
      ],
      series: [{}, ...this.series.map((one) => ({
        width: one.colour === "accent" ? 1.5 : 1, points: { show: false },
        stroke: () => ink(one.colour), fill: one.area ? () => ink(`${one.colour}-wash`) : undefined,
      }))],
      hooks: { setCursor: [(plot) => this.describe(plot.cursor.idx)] },
      plugins: [marksPlugin(() => this.events)],
    }, this.columns(), this.canvas);
  }

  /**
   * Puts figures into the legend: those at the cursor, or the newest.
   * @param {number | null} index of the columns.
   */
  describe(index) {
    const at = index === null ? null : this.plot?.data[0]?.[index] ?? null;
    const point = at === null ? this.points.at(-1) : this.points.find((one) => one.t === at);
    this.series.forEach((one, place) => {
      const figure = this.figures[place];
      if (figure) setText(figure, this.format(point?.[one.key]));
    });
    if (at === null) return setText(this.note, "");
    const event = this.events.find((one) => Math.abs(one.time_ms / 1000 - at) <= NEAR_S);
    setText(this.note, event ? eventText(event) : clock(at * 1000));
  }

  resize() {
    const width = this.canvas.clientWidth;
    if (width === 0) return;
    if (this.plot) this.plot.setSize({ width, height: HEIGHT });
    else this.draw();
  }

  /** Frees the canvas. */
  destroy() {
    this.stopTheme();
    this.observer.disconnect();
    this.plot?.destroy();
  }
}
