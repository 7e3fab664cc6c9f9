/** Starts the page: account, stream, header, and the view that the address names. */

import { startConfirm } from "./confirm.js";
import { arrange, byId, h, setAttribute, setText } from "./dom.js";
import { startExplain } from "./explain.js";
import { ago, clock, day } from "./format.js";
import { shape } from "./glyphs.js";
import { linkBanner, markOld, showHead, startHead } from "./head.js";
import { announce } from "./live.js";
import { csrf, resume, showLogin, startLogin } from "./login.js";
import { resetRecorder, startRecorder } from "./recorder.js";
import { Store } from "./store.js";
import { Stream } from "./stream.js";
import { startTheme } from "./theme.js";
import { configView } from "./view-config.js";
import { nowView } from "./view-now.js";
import { serversView } from "./view-servers.js";
import { sessionsView } from "./view-sessions.js";
import { statementsView } from "./view-statements.js";

/** @type {Object<string, (address: URLSearchParams) => View>} */
const VIEWS = {
  now: nowView, servers: serversView, statements: statementsView, sessions: sessionsView,
  config: configView,
};

const store = new Store();
/** A moment of the record that is shown in place of the live state. @type {Store | null} */
let past = null;
/** @type {View | null} */
let view = null;
let viewName = "";
let frame = 0;
let frozen = false;
/** Whether the view was not painted yet: a view that is opened while frozen is painted once. */
let blank = true;
/** Why the proxy could not read the view, or "". */
let failure = "";
/** Versions of the proxy: of the first state and of the last one. */
let firstVersion = "";
let version = "";
/** @type {Link} */
let link = { kind: "live" };

const stream = new Stream({ onState: take, onLink: showLink, onLoginRequired: loginAgain });

/**
 * @param {boolean} whole
 * @param {Envelope} envelope
 */
function take(whole, envelope) {
  store.apply(whole, envelope);
  firstVersion ||= envelope.proxy.version;
  const changed = version !== envelope.proxy.version;
  version = envelope.proxy.version;
  if (changed) showBanners();
  if (past) return;
  if (!frozen) showHead(envelope, store.trace);
  if (!frozen || blank) frame ||= requestAnimationFrame(paint);
}

function paint() {
  frame = 0;
  const { state } = past ?? store;
  const content = state?.views[viewName];
  if (!state || !view || !content) return;
  blank = false;
  const error = content.error ?? "";
  if (!error) view.update(state);
  if (error === failure) return;
  failure = error;
  if (error) announce(error);
  showBanners();
}

/** @param {Link} next */
function showLink(next) {
  if (link.kind === "live" && next.kind === "live") return;
  if (link.kind === "lost" && next.kind !== "lost") announce("Connection is back");
  if (link.kind !== "lost" && next.kind === "lost") announce(`Connection lost: ${next.reason}`);
  link = next;
  markOld(next.kind === "lost");
  showBanners();
}

function showBanners() {
  const banners = [];
  if (link.kind !== "live") banners.push(linkBanner(link, () => stream.retryNow()));
  if (past?.state) {
    const at = past.state.time_ms;
    banners.push(h("p", { class: "banner news" }, shape("news"),
      `This is ${day(at)} ${clock(at)}, ${ago(at, Date.now())}.`,
      h("button", { type: "button", onclick: goLive }, "Live")));
  }
  if (failure) {
    banners.push(h("p", { class: "banner warn" }, shape("warn"),
      `The proxy could not read this view: ${failure}`));
  }
  if (version !== firstVersion) {
    banners.push(h("p", { class: "banner news" }, shape("news"),
      `The proxy runs version ${version}; this page is of version ${firstVersion}.`,
      h("button", { type: "button", onclick: () => location.reload() }, "Reload the page")));
  }
  const box = byId("banners");
  const focused = box.contains(document.activeElement);
  arrange(box, banners);
  if (focused) box.querySelector("button")?.focus();
}

/**
 * Shows a moment of the record, in the view that is recorded.
 * @param {Envelope} envelope
 */
function goBack(envelope) {
  past = new Store();
  past.apply(true, envelope);
  showHead(envelope, past.trace);
  showBanners();
  if (viewName === "now") paint();
  else location.hash = "#now";
}

function goLive() {
  resetRecorder();
  if (!past) return;
  past = null;
  if (store.state) showHead(store.state, store.trace);
  showBanners();
  paint();
}

function loginAgain() {
  goLive();
  stream.close();
  showLogin("The login has expired.");
}

/** Shows the view that the address names: `#statements`, `#statements?open=0x...`. */
function navigate() {
  const [name = "", query = ""] = location.hash.slice(1).split("?");
  if (name === "main" && view) {
    history.replaceState(null, "", `#${viewName}`);
    byId("main").focus();
    return;
  }
  const wanted = name in VIEWS ? name : "now";
  if (wanted !== "now") goLive();
  viewName = wanted;
  blank = true;
  view?.destroy?.();
  view = VIEWS[wanted]?.(new URLSearchParams(query)) ?? null;
  for (const anchor of byId("nav").children) {
    setAttribute(anchor, "aria-current", anchor.hash === `#${wanted}` ? "page" : null);
  }
  byId("main").replaceChildren(...(view ? [view.element] : []));
  stream.watch([wanted]);
  paint();
}

function freeze() {
  frozen = !frozen;
  const button = byId("freeze");
  button.setAttribute("aria-pressed", String(frozen));
  setText(button, frozen ? `Frozen ${clock(Date.now())}` : "Freeze");
  if (!frozen && !past && store.state) {
    showHead(store.state, store.trace);
    paint();
  }
}

startTheme();
startHead();
startExplain();
startConfirm(csrf);
startRecorder(goBack, goLive, (error) => announce(error.message));
startLogin(navigate, () => stream.close());
byId("freeze").addEventListener("click", freeze);
addEventListener("hashchange", () => {
  if (!byId("page").hidden) navigate();
});
addEventListener("online", () => stream.retryNow());
resume(navigate);
