/** Meters: a bar of what is in use and free of a limit, with the figures beside it. */

import { h } from "./dom.js";
import { compact, percent } from "./format.js";

/**
 * Connections of a server or hostgroup.
 * @param {number} used
 * @param {number} free
 * @param {number} limit
 */
export function meter(used, free, limit) {
  const whole = Math.max(limit, used + free, 1);
  const bar = h("span", { class: "bar" }, part("used", used / whole), part("free", free / whole));
  return h("span", { class: `meter${used >= limit * 0.9 && limit > 0 ? " full" : ""}` }, bar,
    h("span", { class: "words" }, h("b", {}, compact(used)), ` used, ${compact(free)} free of ${compact(limit)}`));
}

/**
 * A share as bar and figure.
 * @param {number} share 0 to 1
 */
export function shareBar(share) {
  return h("span", { class: "meter share" }, h("span", { class: "bar" }, part("used", share)),
    h("span", { class: "words" }, percent(share)));
}

/**
 * @param {string} kind
 * @param {number} share
 */
function part(kind, share) {
  const element = h("i", { class: kind });
  element.style.width = `${(Math.min(Math.max(share, 0), 1) * 100).toFixed(2)}%`;
  return element;
}
