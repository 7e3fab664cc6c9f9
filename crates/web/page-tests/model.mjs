/** A proxy that does not exist: its figures move, one of its servers comes and goes. */

import { VIEWS } from "./rows.mjs";

const WINDOW_S = 900;

/** Random numbers that follow from a seed. */
function random(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export class Model {
  /** @param {{ servers?: number, digests?: number, now?: number }} [size] */
  constructor(size = {}) {
    this.size = { servers: 7, digests: 40, ...size };
    this.next = random(7);
    this.version = "0.1.0";
    this.boot = "5f2c91ab";
    this.number = 0;
    this.accepts = true;
    this.quiet = false;
    /** Sentence in place of the views, or "". */
    this.broken = "";
    this.events = [];
    this.points = [];
    const start = Math.floor((size.now ?? Date.now()) / 1000) - WINDOW_S;
    this.started = (start - 86_400 * 3) * 1000;
    this.fleet = this.makeServers(start * 1000);
    this.event(start + 300, "config", "LOADED", null, null, "MYSQL SERVERS, version 9, by admin");
    for (let second = start; second < start + WINDOW_S; second += 1) this.tick(second);
  }

  makeServers(from) {
    const names = [
      "primary",
      "replica-1",
      "replica-2",
      "replica-3",
      "reports-1",
      "reports-2",
      "archive",
    ];
    return Array.from({ length: this.size.servers }, (_, index) => {
      const hostgroup = index === 0 ? 10 : index < 4 ? 20 : index < 7 ? 21 : 22 + (index % 40);
      const address =
        index < 7
          ? `10.0.${hostgroup}.${index + 5}:3306`
          : `10.${hostgroup}.${index >> 8}.${index & 255}:3306`;
      return {
        id: `s${index}`,
        hostgroup,
        server: address,
        name: names[index] ?? `db-${index}`,
        state: "ONLINE",
        spans: [{ from_ms: from, to_ms: from, state: "ONLINE", cause: "" }],
        load: index === 0 ? 2100 : 900 + this.next() * 3000,
        lag: 0,
      };
    });
  }

  event(second, kind, event, hostgroup, server, cause) {
    this.events.push({ time_ms: second * 1000, kind, event, hostgroup, server, cause });
    this.events = this.events.filter((one) => one.time_ms > (second - WINDOW_S) * 1000).slice(-200);
  }

  become(server, second, state, cause) {
    if (!server || server.state === state) return;
    server.state = state;
    server.spans.push({ from_ms: second * 1000, to_ms: second * 1000, state, cause });
    const name =
      state === "ONLINE" && server.was === "SHUNNED_REPLICATION_LAG" ? "CAUGHT_UP" : state;
    server.was = state;
    this.event(second, "server", name, server.hostgroup, server.server, cause);
  }

  /** Moves on by one second. */
  tick(second) {
    this.number += 1;
    const age = this.points.length;
    const [, , second2, lagging, , archived] = this.fleet;
    if (age === 420) this.become(second2, second, "SHUNNED", "the monitor's ping failed 3 times");
    if (age === 560) this.become(second2, second, "ONLINE", "");
    if (age === 800)
      this.become(lagging, second, "SHUNNED_REPLICATION_LAG", "it lags 41 s, more than 30 s");
    if (age === 100) this.become(archived, second, "OFFLINE_SOFT", "LOAD MYSQL SERVERS");
    if (lagging?.state === "SHUNNED_REPLICATION_LAG") lagging.lag = 41 + (age % 5);
    for (const server of this.fleet) {
      const last = server.spans.at(-1);
      if (last) last.to_ms = second * 1000;
      server.spans = server.spans.filter((span) => span.to_ms > (second - WINDOW_S) * 1000);
      server.load *= 1 + (this.next() - 0.5) * 0.02;
    }
    this.points.push(this.point(second, age));
    if (this.points.length > WINDOW_S) this.points.shift();
  }

  point(second, age) {
    const trouble = age > 420 && age < 470;
    const wave = Math.sin(second / 60) * 600 + Math.sin(second / 9) * 160 + this.next() * 350;
    const clients = Math.round(418 + Math.sin(second / 130) * 40);
    const base = 1650 + Math.sin(second / 45) * 180 + this.next() * 260 + (trouble ? 2600 : 0);
    return {
      t: second,
      qps: Math.round(11_800 + wave - (trouble ? 3900 : 0)),
      p50_us: Math.round(base * 0.24),
      p95_us: Math.round(base),
      p99_us: Math.round(base * 2.1 + this.next() * 900),
      clients,
      busy: Math.round(clients * 0.11 + this.next() * 12),
      waiting: trouble ? 9 + Math.round(this.next() * 14) : this.next() > 0.93 ? 2 : 0,
      used: Math.round(38 + this.next() * 9),
      free: Math.round(21 - this.next() * 5),
      errors: trouble ? Math.round(8 + this.next() * 22) : 0,
      bytes_in: 1.4e6,
      bytes_out: 9.1e6,
    };
  }

  usable(server) {
    return server.state === "ONLINE";
  }

  head() {
    const point = this.points.at(-1);
    const out = this.fleet.filter((server) => !this.usable(server));
    const names = out.map((server) => server.name);
    const lag = this.fleet[3]?.lag;
    const text = this.quiet
      ? "All servers take sessions"
      : `${out.length} of ${this.fleet.length} servers out: ${names[0]} lags ${lag} s` +
        (names.length > 1 ? `, ${names.slice(1, 3).join(", ")}` : "");
    const reasons = this.quiet
      ? []
      : out.map(
          (server) =>
            `hostgroup ${server.hostgroup}: ${server.name} (${server.server}): ${server.spans.at(-1).cause || server.state}`,
        );
    return {
      verdict: { level: this.quiet ? "ok" : "warn", text, reasons },
      clients: point.clients,
      clients_max: 2048,
      qps: point.qps,
      p95_us: point.p95_us,
      waiting: point.waiting,
      errors: point.errors,
      accepts: this.accepts,
      config: {
        version: 9,
        by: "admin",
        applied_ms: (point.t - 600) * 1000,
        not_loaded: 1,
        not_saved: 2,
        problems: 1,
      },
    };
  }

  envelope(names, viewer, pointsFrom = 0) {
    const time = this.points.at(-1).t;
    const views = {};
    for (const name of names)
      views[name] = this.broken ? { error: this.broken } : VIEWS[name](this, time, pointsFrom);
    return {
      id: `${this.boot}-${this.number}`,
      time_ms: time * 1000 + 123,
      proxy: {
        host: "proxy-1",
        version: this.version,
        started_ms: this.started,
        uptime_s: time - this.started / 1000,
      },
      viewer,
      head: this.head(),
      views,
    };
  }
}
