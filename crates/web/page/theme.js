/** Themes: that of the system, light or dark. The choice is kept in this browser. */

import { byId, setText } from "./dom.js";

const CHOICES = ["system", "light", "dark"];

/** @type {Set<() => void>} */
const listeners = new Set();
/** @type {Map<string, string>} */
let inks = new Map();

function current() {
  return document.documentElement.dataset.theme ?? "system";
}

function changed() {
  inks = new Map();
  for (const listener of listeners) listener();
}

/**
 * Calls `listener` after each change of colours.
 * @param {() => void} listener
 * @returns {() => void} ends that.
 */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * A colour of the style sheet, as a canvas takes it.
 * @param {string} name of a custom property, without the dashes.
 * @returns {string}
 */
export function ink(name) {
  let colour = inks.get(name);
  if (!colour) {
    const probe = byId("ink");
    probe.style.color = `var(--${name})`;
    colour = getComputedStyle(probe).color;
    inks.set(name, colour);
  }
  return colour;
}

/** Wires the button that goes through the themes. */
export function startTheme() {
  const button = byId("theme");
  const label = byId("theme-word");
  setText(label, current());
  button.addEventListener("click", () => {
    const next = CHOICES[(CHOICES.indexOf(current()) + 1) % CHOICES.length] ?? "system";
    if (next === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem("theme", next);
    } catch {
      // Storage is blocked: the choice lasts as long as the page.
    }
    setText(label, next);
    changed();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
}
