/** Curves on a canvas: axes, lines over the last 15 minutes, marks of events, the cursor. */

import { clock } from "./format.js";
import { WINDOW_S } from "./store.js";
import { ink } from "./theme.js";

/** Pixels around the curves, for the figures of the axes and the heads of marks. */
const EDGE = { left: 60, right: 4, top: 8, bottom: 18 };
/** Seconds without a point from which a curve has a gap. */
const GAP_S = 3;
/** Pixels that a figure of an axis needs. */
const SPACE = { x: 64, y: 34 };

/** Maps seconds and values to pixels of a canvas. */
export class Scale {
  /**
   * @param {number} width
   * @param {number} height
   * @param {number} end Unix seconds at the right edge
   * @param {number} top largest value
   */
  constructor(width, height, end, top) {
    this.left = EDGE.left;
    this.right = width - EDGE.right;
    this.floor = height - EDGE.bottom;
    this.end = end;
    this.top = Math.max(top * 1.15, 1);
  }

  /** @param {number} time Unix seconds */
  x(time) {
    return this.right - ((this.end - time) / WINDOW_S) * (this.right - this.left);
  }

  /** @param {number} value */
  y(value) {
    return this.floor - (value / this.top) * (this.floor - EDGE.top);
  }

  /**
   * The time at a place, in Unix seconds.
   * @param {number} x
   */
  time(x) {
    return this.end - ((this.right - x) / (this.right - this.left)) * WINDOW_S;
  }
}

/**
 * Steps of an axis: 1, 2 or 5 times a power of ten, at least `least`.
 * @param {number} least
 */
function niceStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
}

/**
 * Draws the figures of both axes and the lines of the grid.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scale} scale
 * @param {(value: number) => string} format of the values
 */
export function drawAxes(ctx, scale, format) {
  ctx.font = "11px system-ui, sans-serif";
  ctx.fillStyle = ink("muted");
  ctx.strokeStyle = ink("grid");
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  const step = niceStep((scale.top * SPACE.y) / (scale.floor - EDGE.top));
  for (let value = 0; value <= scale.top; value += step) {
    const y = Math.round(scale.y(value)) + 0.5;
    stroke(ctx, scale.left, y, scale.right, y);
    ctx.fillText(format(value), scale.left - 8, y);
  }
  const begin = scale.end - WINDOW_S;
  const tick = ((scale.right - scale.left) / WINDOW_S) * 180 > SPACE.x ? 180 : 300;
  ctx.textAlign = "center";
  ctx.textBaseline = "bottom";
  for (let time = Math.ceil(begin / tick) * tick; time <= scale.end; time += tick) {
    const x = scale.x(time);
    if (x < scale.left + 12 || x > scale.right - 12) continue;
    ctx.fillText(clock(time * 1000).slice(0, 5), x, scale.floor + EDGE.bottom);
  }
}

/**
 * Draws a curve, and its area if it has one.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scale} scale
 * @param {Point[]} points
 * @param {Series} series
 */
export function drawCurve(ctx, scale, points, { key, colour, area }) {
  ctx.strokeStyle = ink(colour);
  ctx.fillStyle = ink(`${colour}-wash`);
  ctx.lineWidth = colour === "accent" ? 1.5 : 1;
  ctx.lineJoin = "round";
  /** @type {[number, number][]} */
  let run = [];
  let last = 0;
  const finish = () => {
    if (run.length > 1) drawRun(ctx, run, area ? scale.floor : null);
    run = [];
  };
  for (const point of points) {
    const value = point[key];
    if (value === null || point.t - last > GAP_S) finish();
    if (value !== null) run.push([scale.x(point.t), scale.y(value)]);
    last = point.t;
  }
  finish();
  ctx.lineWidth = 1;
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {[number, number][]} run places without a gap
 * @param {number | null} floor of the area
 */
function drawRun(ctx, run, floor) {
  ctx.beginPath();
  for (const [x, y] of run) ctx.lineTo(x, y);
  ctx.stroke();
  if (floor === null) return;
  ctx.lineTo(run.at(-1)?.[0] ?? 0, floor);
  ctx.lineTo(run[0]?.[0] ?? 0, floor);
  ctx.fill();
}

/**
 * Draws a mark: a diamond for the configuration, a triangle for servers.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scale} scale
 * @param {ProxyEvent} event
 * @param {Level} level
 */
export function drawMark(ctx, scale, event, level) {
  const x = Math.round(scale.x(event.time_ms / 1000)) + 0.5;
  if (x < scale.left || x > scale.right) return;
  ctx.strokeStyle = ctx.fillStyle = ink(level);
  ctx.setLineDash([2, 3]);
  stroke(ctx, x, EDGE.top, x, scale.floor);
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.moveTo(x - 4, EDGE.top);
  if (event.kind === "config") ctx.lineTo(x, EDGE.top - 4);
  ctx.lineTo(x + 4, EDGE.top);
  ctx.lineTo(x, EDGE.top + 4);
  ctx.fill();
}

/**
 * Draws the line of the cursor, and a dot on each curve.
 * @param {CanvasRenderingContext2D} ctx
 * @param {Scale} scale
 * @param {Point} point at the cursor
 * @param {Series[]} series
 */
export function drawCursor(ctx, scale, point, series) {
  const x = Math.round(scale.x(point.t)) + 0.5;
  ctx.strokeStyle = ink("muted");
  stroke(ctx, x, EDGE.top, x, scale.floor);
  for (const { key, colour } of series) {
    const value = point[key];
    if (value === null) continue;
    ctx.fillStyle = ink(colour);
    ctx.beginPath();
    ctx.arc(x, scale.y(value), 3, 0, 2 * Math.PI);
    ctx.fill();
  }
}

/**
 * @param {CanvasRenderingContext2D} ctx
 * @param {number} x
 * @param {number} y
 * @param {number} endX
 * @param {number} endY
 */
function stroke(ctx, x, y, endX, endY) {
  ctx.beginPath();
  ctx.moveTo(x, y);
  ctx.lineTo(endX, endY);
  ctx.stroke();
}
