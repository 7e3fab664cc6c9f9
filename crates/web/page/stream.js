/** The stream of states: opened for some views, resumed after a loss with a growing pause. */

import { readState } from "./api.js";

/** Milliseconds of silence after which a connection counts as lost. The proxy sends each second. */
const SILENCE_MS = 20_000;
/** Milliseconds between two questions while the proxy has no place for another stream. */
const POLL_MS = 5000;
/** Seconds before each try to connect again; the last one repeats. */
const BACKOFF_S = [1, 2, 4, 8, 15];

export class Stream {
  /** @param {StreamListener} listener */
  constructor(listener) {
    this.listener = listener;
    /** @type {string[]} */
    this.views = [];
    /** @type {EventSource | null} */
    this.source = null;
    this.lastId = "";
    this.tries = 0;
    this.lostSince = 0;
    this.timer = 0;
    /** Number of the current try: answers to earlier ones are dropped. */
    this.round = 0;
    document.addEventListener("visibilitychange", () => this.seen());
  }

  /** A tab that no viewer sees has no stream; shown again, it goes on where it was. */
  seen() {
    if (document.hidden) this.stop();
    else this.retryNow();
  }

  /**
   * Opens the stream for these views, in place of the one before.
   * @param {string[]} views
   */
  watch(views) {
    this.views = views;
    this.lastId = "";
    this.tries = 0;
    this.connect();
  }

  /** Tries again at once. */
  retryNow() {
    if (this.views.length > 0) this.connect();
  }

  /** Closes the stream until `watch`. */
  close() {
    this.stop();
    this.views = [];
  }

  stop() {
    this.round += 1;
    this.source?.close();
    this.source = null;
    clearTimeout(this.timer);
  }

  connect() {
    this.stop();
    if (document.hidden) return;
    const round = this.round;
    const last = this.lastId ? `&last=${encodeURIComponent(this.lastId)}` : "";
    const source = new EventSource(`/api/stream?views=${this.views.join(",")}${last}`);
    this.source = source;
    source.addEventListener("whole", (event) => this.received(true, event));
    source.addEventListener("changed", (event) => this.received(false, event));
    source.addEventListener("end", (event) => this.ended(event));
    source.addEventListener("error", () => {
      if (round === this.round) this.failed();
    });
    this.expectSound();
  }

  expectSound() {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.failed(), SILENCE_MS);
  }

  /**
   * @param {boolean} whole
   * @param {MessageEvent} event
   */
  received(whole, event) {
    this.lastId = event.lastEventId || this.lastId;
    this.live();
    this.expectSound();
    this.listener.onState(whole, JSON.parse(event.data));
  }

  live() {
    this.tries = 0;
    this.lostSince = 0;
    this.listener.onLink({ kind: "live" });
  }

  /** @param {MessageEvent} event */
  ended(event) {
    const { error, message } = JSON.parse(event.data);
    if (error === "login_required") {
      this.stop();
      this.listener.onLoginRequired();
    } else {
      this.lose(message);
    }
  }

  /** Asks without a stream why there is none: an EventSource does not tell. */
  async failed() {
    this.stop();
    const round = this.round;
    try {
      const state = await readState(this.views);
      if (round !== this.round) return;
      this.listener.onState(true, state);
      this.poll();
    } catch (error) {
      if (round !== this.round) return;
      const refusal = /** @type {import("./api.js").Refusal} */ (error);
      if (refusal.status === 401) this.listener.onLoginRequired();
      else this.lose(refusal.message);
    }
  }

  /** The proxy answers but gives no stream: the first try again is quick, later ones are polls. */
  poll() {
    this.lostSince = 0;
    this.tries += 1;
    if (this.tries > 1) {
      this.listener.onLink({ kind: "polling", reason: "the proxy has no free stream" });
    }
    this.timer = window.setTimeout(() => this.connect(), this.tries > 1 ? POLL_MS : 500);
  }

  /** @param {string} reason */
  lose(reason) {
    this.stop();
    const pause = BACKOFF_S[Math.min(this.tries, BACKOFF_S.length - 1)] ?? 15;
    const wait = pause * 1000 * (1 + Math.random() * 0.3);
    this.tries += 1;
    this.lostSince ||= Date.now();
    this.listener.onLink({
      kind: "lost", since: this.lostSince, retry: Date.now() + wait, reason,
    });
    this.timer = window.setTimeout(() => this.connect(), wait);
  }
}
