/** The slider of the header: a moment of the record in place of the live state. */

import { readRecord, readRecorded } from "./api.js";
import { byId, setAttribute, setText } from "./dom.js";
import { clock, day } from "./format.js";

/** Milliseconds that the slider rests before its moment is asked for. */
const REST_MS = 150;

/** The moment of the newest record, Unix ms: the right end of the slider. */
let newest = 0;
let timer = 0;
/** Number of the last question: answers to earlier ones are dropped. */
let round = 0;

/** Asks how far the record reaches, and gives the slider that range. */
async function measure() {
  try {
    const { from_ms, to_ms } = await readRecord();
    newest = to_ms ?? Date.now();
    byId("when").min = String(-Math.ceil((newest - (from_ms ?? newest)) / 10_000) * 10);
  } catch {
    // The banner of the stream says that the proxy cannot be reached.
  }
}

/** @param {string} text */
function label(text) {
  setText(byId("when-text"), text);
  setAttribute(byId("when"), "aria-valuetext", text);
}

/** Puts the slider to its right end. */
export function resetRecorder() {
  round += 1;
  clearTimeout(timer);
  byId("when").value = "0";
  label("live");
}

/**
 * Wires the slider.
 * @param {(envelope: Envelope) => void} onPast
 * @param {() => void} onLive
 * @param {(error: Error) => void} onError
 */
export function startRecorder(onPast, onLive, onError) {
  const slider = byId("when");
  const show = async (/** @type {number} */ at, /** @type {number} */ own) => {
    try {
      const envelope = await readRecorded(at);
      if (own !== round) return;
      label(`${day(envelope.time_ms)} ${clock(envelope.time_ms)}`);
      onPast(envelope);
    } catch (error) {
      if (own !== round) return;
      onLive();
      onError(/** @type {Error} */ (error));
    }
  };
  for (const event of ["focus", "pointerenter"]) slider.addEventListener(event, measure);
  slider.addEventListener("input", () => {
    const back = Number(slider.value);
    if (back === 0) {
      onLive();
      return;
    }
    const at = (newest || Date.now()) + back * 1000;
    label(`${day(at)} ${clock(at)}`);
    round += 1;
    clearTimeout(timer);
    timer = window.setTimeout(show, REST_MS, at, round);
  });
  resetRecorder();
}
