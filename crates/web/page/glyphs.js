/** Small pictures beside words and figures: shapes of states, bars, curves. */

import { h, s, setAttribute } from "./dom.js";
import { compact, percent } from "./format.js";

/** @type {Object<string, [string, Level]>} word and level of a server's state */
const SERVER_STATES = {
  ONLINE: ["online", "ok"],
  SHUNNED: ["shunned", "bad"],
  SHUNNED_REPLICATION_LAG: ["lags", "warn"],
  OFFLINE_SOFT: ["offline soft", "off"],
  OFFLINE_HARD: ["offline hard", "off"],
  ABSENT: ["absent", "off"],
};

/** Paths in a square of 12 by 12: disc, triangle, cross, ring, diamond. */
const SHAPES = {
  ok: "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9Z",
  warn: "M6 .8 11.6 11H.4Z",
  bad: "M1 3 3 1l3 3 3-3 2 2-3 3 3 3-2 2-3-3-3 3-2-2 3-3Z",
  off: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Zm0 2a3 3 0 1 1 0 6 3 3 0 0 1 0-6Z",
  news: "M6 .5 11.5 6 6 11.5.5 6Z",
};

/**
 * Word and level of a server's state, by the name that the contract has for it.
 * @param {string} name
 */
export function serverState(name) {
  const [word, level] = SERVER_STATES[name] ?? [name.toLowerCase().replaceAll("_", " "), "off"];
  return { word, level };
}

/**
 * The shape of a level. Its word stands beside it.
 * @param {Level} level
 */
export const shape = (level) =>
  s("svg", { class: `shape ${level}`, viewBox: "0 0 12 12", "aria-hidden": "true" },
    s("path", { d: SHAPES[level], "fill-rule": "evenodd" }));

/**
 * Shape and word.
 * @param {Level} level
 * @param {string} word
 */
export const badge = (level, word) => h("span", { class: `badge ${level}` }, shape(level), word);

/**
 * Connections that are in use and free, of a limit.
 * @param {{ used: number, free: number, limit: number | null }} row without a limit if it is null.
 */
export function meter({ used, free, limit }) {
  const whole = Math.max(limit ?? 0, used + free, 1);
  const full = limit !== null && limit > 0 && used >= limit * 0.9;
  return h("span", { class: full ? "meter full" : "meter" },
    h("span", { class: "track" }, part("used", used / whole), part("free", free / whole)),
    h("span", { class: "words" }, h("b", {}, compact(used)),
      ` + ${compact(free)} of ${compact(limit)}`));
}

/**
 * @param {number} share 0 to 1
 */
export const shareBar = (share) => h("span", { class: "meter share" },
  h("span", { class: "track" }, part("used", share)),
  h("span", { class: "words" }, percent(share)));

/**
 * @param {string} kind
 * @param {number} share
 */
function part(kind, share) {
  const element = h("i", { class: kind });
  element.style.width = `${(Math.min(Math.max(share, 0), 1) * 100).toFixed(2)}%`;
  return element;
}

/**
 * A curve of values, oldest first; `slots` of them fill the width.
 * @param {number} width
 * @param {number} height
 * @param {number} slots
 */
export function sparkline(width, height, slots) {
  const area = s("path", { class: "area" });
  const line = s("path", { class: "line" });
  const size = { viewBox: `0 0 ${width} ${height}`, width, height };
  return {
    element: s("svg", { class: "spark", "aria-hidden": "true", ...size }, area, line),
    /** @param {(number | null)[]} values */
    update(values) {
      const top = Math.max(...values.map(Number), Number.MIN_VALUE) * 1.1;
      const step = width / (slots - 1);
      const start = width - step * (values.length - 1);
      const dots = values.map((value, index) => {
        const y = height - 1 - (Number(value) / top) * (height - 2);
        return `${(start + index * step).toFixed(1)} ${y.toFixed(1)}`;
      });
      const path = dots.length > 1 ? `M${dots.join("L")}` : "";
      setAttribute(line, "d", path);
      setAttribute(area, "d", path && `${path}L${width} ${height}L${start.toFixed(1)} ${height}Z`);
    },
  };
}
