/** Curves over the last 15 minutes, with marks of events, and the same as a table. */

import { arrange, freshId, h, setText } from "./dom.js";
import { clock } from "./format.js";
import { eventText, marksPlugin } from "./marks.js";
import { WINDOW_S } from "./store.js";
import { Table } from "./table.js";
import { ink, onTheme } from "./theme.js";

const HEIGHT = 148;
/** Seconds around the cursor within which its line names an event. */
const NEAR_S = 8;

/**
 * @typedef {Object} Series
 * @property {keyof Point} key
 * @property {string} label
 * @property {string} colour Custom property of the style sheet, without dashes.
 * @property {"solid" | "dashed" | "dotted"} [line]
 * @property {boolean} [area]
 */

/** @type {Object<string, number[]>} */
const DASHES = { solid: [], dashed: [6, 4], dotted: [2, 3] };

export class Chart {
  /**
   * @param {{ title: string, format: (value: number | null) => string, series: Series[] }} options
   */
  constructor(options) {
    this.options = options;
    /** @type {Point[]} */
    this.points = [];
    /** @type {ProxyEvent[]} */
    this.events = [];
    /** @type {any} */
    this.plot = null;
    this.end = 0;
    this.build();
    this.stopTheme = onTheme(() => this.plot?.redraw());
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.canvas);
  }

  build() {
    const { title, format, series } = this.options;
    const heading = freshId();
    this.figures = series.map(() => h("b"));
    const legend = series.map((one, index) => h("span", { class: "key" },
      h("i", { class: `swatch ${one.line ?? "solid"} ink-${one.colour}` }), one.label, " ",
      this.figures[index]));
    this.note = h("span", { class: "note" });
    this.canvas = h("div", { class: "canvas", role: "img", "aria-labelledby": heading });
    this.table = new Table({
      title: `${title}, newest first`, empty: "No points yet.", step: 60,
      key: (/** @type {Point} */ point) => String(point.t),
      columns: [
        { label: "Time", text: (/** @type {Point} */ point) => clock(point.t * 1000) },
        ...series.map((one) => ({
          label: one.label, figure: true, text: (/** @type {Point} */ point) => format(point[one.key]),
        })),
      ],
    });
    this.table.element.hidden = true;
    this.toggle = h("button", { type: "button", class: "quiet", "aria-pressed": "false",
      "aria-label": `Show as table: ${title}`, onclick: () => this.flip() }, "Show as table");
    this.element = h("section", { class: "panel chart" },
      h("header", {}, h("h3", { id: heading }, title), h("span", { class: "legend" }, ...legend),
        this.note, this.toggle),
      this.canvas, this.table.element);
  }

  flip() {
    const tabular = this.table.element.hidden;
    this.table.element.hidden = !tabular;
    this.canvas.hidden = tabular;
    this.toggle.setAttribute("aria-pressed", String(tabular));
    setText(this.toggle, tabular ? "Show as curve" : "Show as table");
    this.draw();
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
    if (!this.table.element.hidden) this.table.update([...this.points].reverse());
    else if (this.plot) this.plot.setData(this.columns());
    else if (this.canvas.clientWidth > 0 && this.end > 0) this.start();
    this.describe(this.plot?.cursor.idx ?? null);
  }

  /** The points as columns; a row of nulls where seconds are missing, so that the curve has a gap. */
  columns() {
    const keys = this.options.series.map((one) => one.key);
    /** @type {number[]} */
    const times = [];
    /** @type {(number | null)[][]} */
    const columns = keys.map(() => []);
    let last = Infinity;
    for (const point of this.points) {
      if (point.t - last > 3) {
        times.push(last + 1);
        for (const column of columns) column.push(null);
      }
      times.push(point.t);
      keys.forEach((key, index) => columns[index]?.push(point[key]));
      last = point.t;
    }
    return [times, ...columns];
  }

  start() {
    const { series, format } = this.options;
    const axis = {
      stroke: () => ink("muted"), font: "11px system-ui, sans-serif",
      ticks: { show: false }, grid: { stroke: () => ink("grid"), width: 1 },
    };
    this.plot = new uPlot({
      width: this.canvas.clientWidth, height: HEIGHT, legend: { show: false }, padding: [6, 8, 0, 0],
      cursor: {
        drag: { x: false, y: false }, sync: { key: "now" }, y: false, points: { size: 6 },
      },
      scales: {
        x: { time: true, range: () => [this.end - WINDOW_S, this.end] },
        y: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ top) =>
          [0, Math.max(top * 1.15, 1)] },
      },
      axes: [
        { ...axis, grid: { show: false }, size: 20, gap: 2, space: 70,
          values: (/** @type {any} */ _, /** @type {number[]} */ splits) =>
            splits.map((split) => clock(split * 1000).slice(0, 5)) },
        { ...axis, size: 58, gap: 6, space: 34,
          values: (/** @type {any} */ _, /** @type {number[]} */ splits) => splits.map(format) },
      ],
      series: [{}, ...series.map((one) => ({
        label: one.label, width: 1.5, dash: DASHES[one.line ?? "solid"], points: { show: false },
        stroke: () => ink(one.colour), fill: one.area ? () => ink("wash") : undefined,
      }))],
      hooks: { setCursor: [(/** @type {any} */ plot) => this.describe(plot.cursor.idx)] },
      plugins: [marksPlugin(() => this.events)],
    }, this.columns(), this.canvas);
  }

  /**
   * Puts the figures of a point into the legend: those at the cursor, or the newest.
   * @param {number | null} index of the columns.
   */
  describe(index) {
    const at = index === null ? undefined : this.plot?.data[0][index];
    const point = at === undefined ? this.points.at(-1) : this.points.find((one) => one.t === at);
    this.options.series.forEach((one, place) => {
      const figure = this.figures[place];
      if (figure) setText(figure, this.options.format(point ? point[one.key] : null));
    });
    const event = at === undefined ? undefined
      : this.events.find((one) => Math.abs(one.time_ms / 1000 - at) <= NEAR_S);
    setText(this.note, at === undefined ? "" : event ? eventText(event) : clock(at * 1000));
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
    arrange(this.element, []);
  }
}
