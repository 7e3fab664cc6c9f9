/** States as word, shape and level: colour is never the only sign of a state. */

import { h, s } from "./dom.js";

/** @typedef {"ok" | "warn" | "bad" | "off"} Level */
/** @typedef {{ word: string, level: Level }} State */

/** @type {Object<string, State>} */
const SERVER_STATES = {
  ONLINE: { word: "online", level: "ok" },
  SHUNNED: { word: "shunned", level: "bad" },
  SHUNNED_REPLICATION_LAG: { word: "lags", level: "warn" },
  OFFLINE_SOFT: { word: "offline soft", level: "off" },
  OFFLINE_HARD: { word: "offline hard", level: "off" },
  ABSENT: { word: "absent", level: "off" },
};

/** Paths in a square of 12 by 12: disc, triangle, cross in a disc, ring. */
const SHAPES = {
  ok: "M6 1.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9Z",
  warn: "M6 .8 11.6 11H.4Z",
  bad: "M1 3 3 1l3 3 3-3 2 2-3 3 3 3-2 2-3-3-3 3-2-2 3-3Z",
  off: "M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Zm0 2a3 3 0 1 1 0 6 3 3 0 0 1 0-6Z",
};

/**
 * State of a server by the name that the contract has for it.
 * @param {string} name
 * @returns {State}
 */
export const serverState = (name) =>
  SERVER_STATES[name] ?? { word: name.toLowerCase().replaceAll("_", " "), level: "off" };

/**
 * The shape of a level, without words: the caller has the word beside it.
 * @param {Level} level
 */
export function shape(level) {
  return s("svg", { class: `shape ${level}`, viewBox: "0 0 12 12", "aria-hidden": "true" },
    s("path", { d: SHAPES[level], "fill-rule": "evenodd" }));
}

/**
 * Shape and word.
 * @param {Level} level
 * @param {string} word
 */
export const badge = (level, word) => h("span", { class: `badge ${level}` }, shape(level), word);
