/** Figures, durations and times as people read them. A value that is not known is a dash. */

export const NONE = "–";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const three = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const clockFormat = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit", minute: "2-digit", second: "2-digit",
});
const dayFormat = new Intl.DateTimeFormat("en-GB", {
  day: "2-digit", month: "short", hour: "2-digit", minute: "2-digit",
});

/** @param {Figure} value */
const missing = (value) => value === null || value === undefined || !Number.isFinite(value);

/**
 * 11834 -> "11,834"
 * @param {Figure} value
 */
export const count = (value) => (missing(value) ? NONE : whole.format(Number(value)));

/**
 * 1203311 -> "1.2 M"; below 100,000 as it is.
 * @param {Figure} value
 */
export function compact(value) {
  if (missing(value)) return NONE;
  const number = Number(value);
  if (Math.abs(number) < 10) return three.format(number);
  if (Math.abs(number) < 1e5) return whole.format(number);
  return scaled(number, 1000, ["", "k", "M", "G", "T", "P"]);
}

/**
 * @param {Figure} value bytes
 * @returns {string} "1.34 MB", with powers of 1000.
 */
export const bytes = (value) =>
  missing(value) ? NONE : scaled(Number(value), 1000, ["B", "kB", "MB", "GB", "TB", "PB"]);

/**
 * @param {number} value
 * @param {number} base
 * @param {string[]} units
 */
function scaled(value, base, units) {
  let unit = 0;
  while (Math.abs(value) >= base && unit < units.length - 1) {
    value /= base;
    unit += 1;
  }
  const figure = Math.abs(value) < 1000 ? three.format(value) : whole.format(value);
  return units[unit] ? `${figure} ${units[unit]}` : figure;
}

/**
 * @param {Figure} value microseconds
 * @returns {string} "410 µs", "1.91 ms", "4.2 s", "3 min 20 s", "2 h 5 min", "3 d 4 h"
 */
export function micros(value) {
  if (missing(value)) return NONE;
  const us = Number(value);
  if (us === 0) return "0 s";
  if (us < 1000) return `${whole.format(us)} µs`;
  if (us < 999_500) return `${three.format(us / 1000)} ms`;
  if (us < 59_950_000) return `${three.format(us / 1e6)} s`;
  const seconds = Math.round(us / 1e6);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  return `${Math.floor(minutes / 1440)} d ${Math.floor((minutes % 1440) / 60)} h`;
}

/** @param {Figure} value milliseconds */
export const millis = (value) => micros(missing(value) ? value : Number(value) * 1000);

/** @param {Figure} value seconds */
export const seconds = (value) => micros(missing(value) ? value : Number(value) * 1e6);

/**
 * 0.614 -> "61 %"; a share that is not zero is at least "< 1 %".
 * @param {Figure} value
 */
export function percent(value) {
  if (missing(value)) return NONE;
  const number = Number(value) * 100;
  return number > 0 && number < 1 ? "< 1 %" : `${whole.format(number)} %`;
}

/**
 * @param {Figure} time Unix milliseconds
 * @returns {string} "14:02:11" of this browser's time zone.
 */
export const clock = (time) => (missing(time) ? NONE : clockFormat.format(Number(time)));

/**
 * @param {Figure} time Unix milliseconds
 * @returns {string} "27 Nov, 14:02"
 */
export const day = (time) => (missing(time) ? NONE : dayFormat.format(Number(time)));

/**
 * @param {Figure} time Unix milliseconds
 * @param {number} now Unix milliseconds
 * @returns {string} "8 min ago", with one unit
 */
export function ago(time, now) {
  if (missing(time)) return NONE;
  const passed = Math.max(0, Math.round((now - Number(time)) / 1000));
  if (passed < 60) return `${passed} s ago`;
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86_400) return `${Math.floor(passed / 3600)} h ago`;
  return `${Math.floor(passed / 86_400)} d ago`;
}

/**
 * "1 server", "2 servers"
 * @param {number} number
 * @param {string} noun
 */
export const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
