/** Panels of curves: legend with figures, canvas, and the same as a table. */

import { Scale, drawAxes, drawCursor, drawCurve, drawMark } from "./curves.js";
import { h, setText } from "./dom.js";
import { eventLevel, eventText } from "./events.js";
import { clock } from "./format.js";
import { Table, figures, twofold, words } from "./table.js";
import { onTheme } from "./theme.js";

const HEIGHT = 152;
/** Seconds around the cursor within which the note names an event. */
const NEAR_S = 8;

export class Chart {
  /**
   * @param {string} title
   * @param {(value: Figure) => string} format
   * @param {Series[]} series
   * @param {(time: number | null) => void} onCursor gets the Unix second under the pointer.
   */
  constructor(title, format, series, onCursor) {
    this.format = format;
    this.series = series;
    /** @type {Point[]} */
    this.points = [];
    /** @type {ProxyEvent[]} */
    this.events = [];
    this.end = 0;
    /** @type {number | null} */
    this.cursor = null;
    this.figures = series.map(() => h("b"));
    this.note = h("span", { class: "note" });
    this.canvas = h("canvas", {
      onpointermove: (/** @type {PointerEvent} */ event) =>
        onCursor(this.scale().time(event.offsetX)),
      onpointerleave: () => onCursor(null),
    });
    this.picture = h("div",
      { class: "canvas", role: "img", "aria-label": `${title}, last 15 minutes` },
      this.canvas, this.note);
    /** @type {Table<Point>} */
    this.table = new Table({
      title: `${title}, newest first`, empty: "No points yet.", step: 60,
      key: (row) => String(row.t),
      columns: [words("Time", (row) => row.t, "", { text: (row) => clock(row.t * 1000) }),
        ...series.map((one) =>
          figures(one.label, (/** @type {Point} */ row) => row[one.key], format))],
    });
    this.element = twofold(title, "chart", this.picture, this.table.element, () => this.draw(),
      h("span", { class: "legend" }, ...series.map((one, index) => h("span", { class: "key" },
        h("i", { class: `swatch ink-${one.colour}` }), `${one.label} `, this.figures[index]))));
    this.stopTheme = onTheme(() => this.draw());
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.picture);
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

  /** @param {number | null} time Unix seconds */
  point(time) {
    this.cursor = time;
    this.draw();
  }

  scale() {
    const values = this.points.flatMap((point) => this.series.map(({ key }) => point[key] ?? 0));
    const top = values.reduce((most, value) => Math.max(most, value), 0);
    return new Scale(this.picture.clientWidth, HEIGHT, this.end, top);
  }

  draw() {
    const { cursor, points } = this;
    const at = cursor === null ? points.at(-1)
      : points.findLast((point) => point.t <= cursor + 0.5) ?? points[0];
    this.series.forEach((one, index) => {
      const figure = this.figures[index];
      if (figure) setText(figure, this.format(at?.[one.key]));
    });
    const event = cursor === null ? undefined
      : this.events.find((one) => Math.abs(one.time_ms / 1000 - cursor) <= NEAR_S);
    setText(this.note, cursor === null ? "" : event ? eventText(event) : clock(cursor * 1000));
    if (this.picture.hidden) this.table.update([...points].reverse());
    else this.drawPicture(cursor === null ? undefined : at);
  }

  /** @param {Point | undefined} at the point under the cursor */
  drawPicture(at) {
    const width = this.picture.clientWidth;
    const ctx = this.canvas.getContext("2d");
    if (!ctx || width === 0 || this.end === 0) return;
    const ratio = devicePixelRatio;
    if (this.canvas.width !== Math.round(width * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(HEIGHT * ratio);
      this.canvas.style.height = `${HEIGHT}px`;
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, HEIGHT);
    const scale = this.scale();
    drawAxes(ctx, scale, this.format);
    for (const one of this.series) drawCurve(ctx, scale, this.points, one);
    for (const event of this.events) {
      drawMark(ctx, scale, event, eventLevel(event));
    }
    if (at) drawCursor(ctx, scale, at, this.series);
  }

  /** Ends its observers. */
  destroy() {
    this.stopTheme();
    this.observer.disconnect();
  }
}
