/** The live region: what a screen reader says by itself. It is polite and seldom speaks. */

import { byId } from "./dom.js";

/** Milliseconds between two texts. Of several texts within it only the last one is said. */
const QUIET_MS = 5000;

/** @type {string | null} */
let pending = null;
let last = -QUIET_MS;
let timer = 0;

function say() {
  timer = 0;
  if (pending === null) return;
  last = performance.now();
  byId("live").textContent = pending;
  pending = null;
}

/**
 * Has a text said.
 * @param {string} text
 */
export function announce(text) {
  pending = text;
  if (timer) return;
  timer = window.setTimeout(say, Math.max(0, last + QUIET_MS - performance.now()));
}
