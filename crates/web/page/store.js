/** The last state of the proxy, put together from events of the stream. */

/** Seconds of points that are kept. */
export const WINDOW_S = 900;
/** Figures of the header that are kept for its curves: those of the last minute. */
export const TRACE = 60;

export class Store {
  constructor() {
    /** @type {Envelope | null} */
    this.state = null;
    /** @type {{ qps: number[], p95: (number | null)[] }} */
    this.trace = { qps: [], p95: [] };
  }

  /**
   * Takes an event in.
   * @param {boolean} whole the envelope replaces its views; else points of `now` are appended.
   * @param {Envelope} envelope
   */
  apply(whole, envelope) {
    const before = this.state?.views ?? {};
    const views = { ...before, ...envelope.views };
    const now = envelope.views.now;
    if (now?.points) {
      const kept = whole ? [] : (before.now?.points ?? []);
      views.now = { ...now, points: joined(kept, now.points) };
    }
    if (whole && now?.points) this.note(...now.points.slice(-TRACE));
    else if (this.state?.time_ms !== envelope.time_ms) this.note(envelope.head);
    this.state = { ...envelope, views };
  }

  /** @param {...{ qps: number, p95_us: number | null }} heads oldest first */
  note(...heads) {
    const { qps, p95 } = this.trace;
    this.trace = {
      qps: [...qps, ...heads.map((head) => head.qps)].slice(-TRACE),
      p95: [...p95, ...heads.map((head) => head.p95_us)].slice(-TRACE),
    };
  }
}

/**
 * Points of `kept` and `fresh`, each second once, at most `WINDOW_S` seconds.
 * @param {Point[]} kept
 * @param {Point[]} fresh
 */
function joined(kept, fresh) {
  const last = kept.at(-1)?.t ?? -Infinity;
  const all = kept.concat(fresh.filter((point) => point.t > last));
  const from = (all.at(-1)?.t ?? 0) - WINDOW_S;
  const first = all.findIndex((point) => point.t > from);
  return first > 0 ? all.slice(first) : all;
}
