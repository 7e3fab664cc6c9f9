/** The header: verdict, figures, and the name and icon of the tab. */

import { arrange, byId, h, setAttribute, setText } from "./dom.js";
import { ago, clock, count, micros, plural } from "./format.js";
import { shape, sparkline } from "./glyphs.js";
import { announce } from "./live.js";
import { TRACE } from "./store.js";

/** @type {Object<string, { value: HTMLElement, more: HTMLElement, box: HTMLElement }>} */
const figures = {};
const curves = { qps: sparkline(84, 22, TRACE), p95: sparkline(84, 22, TRACE) };
/** The verdict that was said last. */
let said = "";

/** Builds the figures. */
export function startHead() {
  const names = {
    clients: "Clients", qps: "Queries/s", p95: "p95", waiting: "Waiting", errors: "Errors/s",
    config: "Config",
  };
  for (const [key, name] of Object.entries(names)) {
    const value = h("b");
    const more = h("small");
    const curve = key === "qps" ? curves.qps : key === "p95" ? curves.p95 : null;
    const box = h("div", { class: `fact ${key}` },
      h("dt", {}, name), h("dd", {}, value, more, curve?.element));
    figures[key] = { value, more, box };
    byId("figures").append(box);
  }
}

/**
 * Shows the header of a state.
 * @param {Envelope} state
 * @param {{ qps: number[], p95: (number | null)[] }} trace
 */
export function showHead(state, trace) {
  const { head, proxy } = state;
  setText(byId("host"), proxy.host);
  byId("host").title = `version ${proxy.version}, up since ${ago(proxy.started_ms, state.time_ms)}`;
  showVerdict(head.verdict, proxy.host);
  put("clients", count(head.clients), `of ${count(head.clients_max)}`);
  put("qps", count(head.qps), "");
  put("p95", micros(head.p95_us), "");
  put("waiting", count(head.waiting), "", head.waiting > 0 ? "warn" : "");
  put("errors", count(head.errors), "", head.errors > 0 ? "bad" : "");
  showConfig(head, state.time_ms);
  curves.qps.update(trace.qps);
  curves.p95.update(trace.p95);
}

/**
 * @param {Head} head
 * @param {number} now
 */
function showConfig({ config, accepts }, now) {
  const open = [
    accepts ? "" : "paused",
    config.not_loaded ? `${count(config.not_loaded)} not loaded` : "",
    config.not_saved ? `${count(config.not_saved)} not saved` : "",
    config.problems ? plural(config.problems, "problem") : "",
  ].filter(Boolean).join(", ");
  const version = config.version === null ? "–" : `v${config.version}`;
  const when = config.applied_ms === null ? "" : ago(config.applied_ms, now);
  put("config", version, open || when, open ? "warn" : "");
  const { box } = figures.config ?? {};
  if (box) box.title = config.by ? `loaded by ${config.by}, ${when}` : `loaded ${when}`;
}

/**
 * @param {string} key
 * @param {string} value
 * @param {string} more
 * @param {string} [level]
 */
function put(key, value, more, level = "") {
  const figure = figures[key];
  if (!figure) return;
  setText(figure.value, value);
  setText(figure.more, more);
  setAttribute(figure.box, "data-level", level);
}

/**
 * @param {Verdict} verdict
 * @param {string} host
 */
function showVerdict(verdict, host) {
  const box = byId("verdict");
  if (box.dataset.level !== verdict.level) {
    box.dataset.level = verdict.level;
    byId("verdict-shape").replaceChildren(shape(verdict.level));
    byId("icon").href = `icon-${verdict.level}.svg`;
  }
  setText(byId("verdict-text"), verdict.text);
  document.title = `${verdict.level === "ok" ? "" : `${verdict.text} – `}${host} – Pointsman`;
  const reasons = byId("reasons");
  if (reasons.dataset.text !== verdict.reasons.join("\n")) {
    reasons.dataset.text = verdict.reasons.join("\n");
    arrange(reasons, verdict.reasons.map((reason) => h("li", {}, reason)));
    box.classList.toggle("more", verdict.reasons.length > 0);
  }
  if (said !== verdict.text) {
    if (said) announce(verdict.text);
    said = verdict.text;
  }
}

/**
 * Marks the header as old while the connection is lost.
 * @param {boolean} old
 */
export function markOld(old) {
  document.documentElement.classList.toggle("old", old);
}

/**
 * Banner with the state of the connection.
 * @param {Exclude<Link, { kind: "live" }>} link
 * @param {() => void} retry
 */
export function linkBanner(link, retry) {
  if (link.kind === "polling") {
    return h("p", { class: "banner warn" }, shape("warn"),
      `No live stream: ${link.reason}. The page asks every 5 s.`);
  }
  return h("p", { class: "banner bad" }, shape("bad"),
    `Connection lost since ${clock(link.since)}: ${link.reason}. Next try ${clock(link.retry)}.`,
    h("button", { type: "button", onclick: retry }, "Try now"));
}
