/** A proxy that does not exist: its figures move, one of its servers comes and goes. */

const WINDOW_S = 900;
const SCHEMAS = ["shop", "billing", "reports"];
const DIGESTS = [
  ["SELECT name, price FROM products WHERE id = ?", 20, 380],
  ["SELECT o.id, o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id"
    + " WHERE o.created_at > ? ORDER BY o.id DESC LIMIT ?", 20, 6200],
  ["UPDATE products SET stock = stock - ? WHERE id = ?", 10, 1900],
  ["INSERT INTO orders (customer_id, total, created_at) VALUES (?, ?, ?)", 10, 2300],
  ["SELECT COUNT(*) FROM events WHERE tenant = ? AND day BETWEEN ? AND ?", 21, 48000],
  ["COMMIT", -1, 110],
  ["SELECT id FROM carts WHERE session = ? FOR UPDATE", 10, 900],
  ["DELETE FROM carts WHERE updated_at < ? LIMIT ?", 10, 15200],
  ["SELECT `value` FROM settings WHERE `key` = ?", 20, 210],
  ["SET NAMES utf8mb4", -1, 20],
];

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
    this.events = [];
    this.points = [];
    const start = Math.floor((size.now ?? Date.now()) / 1000) - WINDOW_S;
    this.started = (start - 86_400 * 3) * 1000;
    this.fleet = this.makeServers(start * 1000);
    this.event(start + 300, "config", "LOADED", null, null, "MYSQL SERVERS, version 9, by admin");
    for (let second = start; second < start + WINDOW_S; second += 1) this.tick(second);
  }

  makeServers(from) {
    const names = ["primary", "replica-1", "replica-2", "replica-3", "reports-1", "reports-2", "archive"];
    return Array.from({ length: this.size.servers }, (_, index) => {
      const hostgroup = index === 0 ? 10 : index < 4 ? 20 : index < 7 ? 21 : 22 + (index % 40);
      const address = index < 7 ? `10.0.${hostgroup}.${index + 5}:3306`
        : `10.${hostgroup}.${index >> 8}.${index & 255}:3306`;
      return { id: `s${index}`, hostgroup, server: address, name: names[index] ?? `db-${index}`,
        state: "ONLINE", spans: [{ from_ms: from, to_ms: from, state: "ONLINE", cause: "" }],
        load: index === 0 ? 2100 : 900 + this.next() * 3000, lag: 0 };
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
    const name = state === "ONLINE" && server.was === "SHUNNED_REPLICATION_LAG" ? "CAUGHT_UP" : state;
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
    if (age === 800) this.become(lagging, second, "SHUNNED_REPLICATION_LAG", "it lags 41 s, more than 30 s");
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
    return { t: second, qps: Math.round(11_800 + wave - (trouble ? 3900 : 0)),
      p50_us: Math.round(base * 0.24), p95_us: Math.round(base), p99_us: Math.round(base * 2.1 + this.next() * 900),
      clients, busy: Math.round(clients * 0.11 + this.next() * 12), waiting: trouble ? 9 + Math.round(this.next() * 14) : this.next() > 0.93 ? 2 : 0,
      used: Math.round(38 + this.next() * 9), free: Math.round(21 - this.next() * 5),
      errors: trouble ? Math.round(8 + this.next() * 22) : 0, bytes_in: 1.4e6, bytes_out: 9.1e6 };
  }

  usable(server) {
    return server.state === "ONLINE";
  }

  head() {
    const point = this.points.at(-1);
    const out = this.fleet.filter((server) => !this.usable(server));
    const names = out.map((server) => server.name);
    const lag = this.fleet[3]?.lag;
    const text = this.quiet ? "All servers take sessions"
      : `${out.length} of ${this.fleet.length} servers out: ${names[0]} lags ${lag} s`
      + (names.length > 1 ? `, ${names.slice(1, 3).join(", ")}` : "");
    const reasons = this.quiet ? [] : out.map((server) =>
      `hostgroup ${server.hostgroup}: ${server.name} (${server.server}): ${server.spans.at(-1).cause || server.state}`);
    return { verdict: { level: this.quiet ? "ok" : "warn", text, reasons }, clients: point.clients,
      clients_max: 2048, qps: point.qps, p95_us: point.p95_us, waiting: point.waiting,
      errors: point.errors, accepts: this.accepts,
      config: { version: 9, by: "admin", applied_ms: (point.t - 600) * 1000, not_loaded: 1, not_saved: 2,
        problems: 1 } };
  }

  envelope(names, viewer, pointsFrom = 0) {
    const time = this.points.at(-1).t;
    const views = {};
    for (const name of names) views[name] = this[name](time, pointsFrom);
    return { id: `${this.boot}-${this.number}`, time_ms: time * 1000 + 123,
      proxy: { host: "proxy-1", version: this.version, started_ms: this.started,
        uptime_s: time - this.started / 1000 }, viewer, head: this.head(), views };
  }

  now(time, pointsFrom) {
    return { points: this.points.filter((point) => point.t > pointsFrom),
      timeline: { from_ms: (time - WINDOW_S) * 1000, to_ms: time * 1000,
        servers: this.fleet.map(({ hostgroup, server, name, spans }) =>
          ({ hostgroup, server, name, spans: spans.map((span) => ({ ...span })) })) },
      hostgroups: this.groups(), errors: this.errors(time), events: [...this.events] };
  }

  groups() {
    const groups = new Map();
    for (const server of this.fleet) {
      const group = groups.get(server.hostgroup) ?? { hostgroup: server.hostgroup,
        role: { 10: "writer", 20: "reader" }[server.hostgroup] ?? null, partner: { 10: 20, 20: 10 }[server.hostgroup] ?? null,
        comment: server.hostgroup === 21 ? "reports" : "", servers: 0, usable: 0, used: 0, free: 0, limit: 0, waiting: 0, qps: 0 };
      group.servers += 1;
      if (this.usable(server)) {
        group.usable += 1;
        group.used += 3 + Math.round(server.load / 300);
        group.free += 4;
        group.limit += 100;
        group.qps += Math.round(server.load);
      }
      groups.set(server.hostgroup, group);
    }
    return [...groups.values()].slice(0, 200);
  }

  errors(time) {
    return [{ hostgroup: 20, server: this.fleet[2].server, code: 2013, count: 812, recent: 0,
      first_ms: (time - 480) * 1000, last_ms: (time - 430) * 1000, message: "Lost connection to server during query" },
    { hostgroup: 10, server: this.fleet[0].server, code: 1213, count: 44, recent: 3, first_ms: (time - 9000) * 1000,
      last_ms: (time - 12) * 1000, message: "Deadlock found when trying to get lock; try restarting transaction" },
    { hostgroup: null, server: null, code: 9001, count: 5, recent: 0, first_ms: (time - 470) * 1000,
      last_ms: (time - 440) * 1000, message: "Max connect timeout reached while reaching hostgroup 20 after 10000ms" }];
  }

  serverRows() {
    return this.fleet.map((one, index) => ({ id: one.id, hostgroup: one.hostgroup, configured_in: one.hostgroup,
      server: one.server, name: one.name, status: one.state, usable: this.usable(one),
      reason: this.usable(one) ? null : one.spans.at(-1).cause || "it is OFFLINE_SOFT: it finishes what it has",
      weight: index === 1 ? 5 : 1, used: this.usable(one) ? 3 + Math.round(one.load / 300) : 0, free: this.usable(one) ? 4 : 0, limit: 100,
      most_used: 41, opened: 310 + index, failed: index === 2 ? 9 : 0, queries: 1_203_311 + index,
      qps: this.usable(one) ? Math.round(one.load) : 0, latency_us: 190 + index * 7, bytes_out: 1.2e6, bytes_in: 9.1e6,
      lag_s: one.hostgroup === 10 ? null : one.lag, max_lag_s: one.hostgroup === 10 ? 0 : 30, read_only: one.hostgroup !== 10 }));
  }
}

Object.assign(Model.prototype, {
  servers(_time) {
    const rows = this.serverRows();
    const groups = [...new Set(rows.map((row) => row.hostgroup))];
    const users = [["shop", 10, 301], ["billing", 10, 64], ["reports", 21, 40], ["batch", 10, 2]];
    return { listeners: [
      { id: "l0", address: "0.0.0.0:6033", protocol: "mysql", role: "auto", hostgroup: null, max_connections: 0 },
      { id: "l1", address: "0.0.0.0:6034", protocol: "tcp", role: "auto", hostgroup: 10, max_connections: 0 }],
    users: users.map(([user, hostgroup, clients], index) => ({ id: `u${index}`, user, default_hostgroup: hostgroup, clients, clients_max: 1000, fast_forward: false })),
    rules: [["^SELECT .* FROM reports", 21, 512_104], ["^SELECT COUNT\\(\\*\\) FROM events", 21, 90_211]].map(([match, to, hits], index) =>
      ({ id: `r${index + 1}`, rule_id: (index + 1) * 10, match, username: index ? "reports" : null, schemaname: null, destination_hostgroup: to, apply: true, hits, comment: index ? "heavy counts" : "" })),
    hostgroups: groups.map((group) => ({ id: `h${group}`, hostgroup: group, role: { 10: "writer", 20: "reader" }[group] ?? null, partner: { 10: 20, 20: 10 }[group] ?? null, comment: group === 21 ? "reports" : "" })),
    servers: rows,
    edges: [...users.map((_, index) => ({ from: "l0", to: `u${index}`, why: "any user" })), { from: "l1", to: "h10", why: "listener" },
      ...users.map(([, group], index) => ({ from: `u${index}`, to: `h${group}`, why: "default_hostgroup" })),
      { from: "r1", to: "h21", why: "destination_hostgroup" }, { from: "r2", to: "h21", why: "destination_hostgroup" },
      { from: "h10", to: "h20", why: "read/write split" }, ...rows.map((row) => ({ from: `h${row.hostgroup}`, to: row.id, why: "member" }))],
    left_out: { users: 0, rules: 0 } };
  },

  statements(time) {
    const rows = Array.from({ length: Math.min(this.size.digests, 100) }, (_, index) => {
      const [text, hostgroup, base] = DIGESTS[index % DIGESTS.length];
      const share = 0.42 * 0.72 ** index;
      const count = Math.round((share * 6e8) / base);
      return { digest: `0x${(0xa103c0a69a916a08n + BigInt(index) * 7919n).toString(16).toUpperCase()}`,
        text: index < DIGESTS.length ? text : `${text} /* ${index} */`, hostgroup, user: index % 5 === 4 ? "reports" : "shop", schema: SCHEMAS[index % 3], client: "",
        count: count * 20, time_us: Math.round(share * 1.2e10), share: share * 0.97,
        recent: { count, time_us: Math.round(share * 6e8), share, errors: index === 3 ? 3 : 0 },
        p50_us: base, p95_us: base * 4, p99_us: base * 9, p999_us: base * 30, min_us: 90, max_us: base * 60, errors: index === 3 ? 44 : 0,
        rows_sent: count * 3, rows_affected: 0, bytes_out: count * 180, bytes_in: count * 60, first_ms: (time - 86_000) * 1000, last_ms: time * 1000,
        spark: Array.from({ length: 24 }, (_value, step) => Math.round(base * (6 + 3 * Math.sin(index + step / 3 + time / 20) + this.next()))) };
    });
    return { window_s: 60, spark_step_s: 5, rows, left_out: Math.max(0, this.size.digests - 100),
      total: { count: 14_994_375, time_us: 12_542_339_615, recent_count: 708_718, recent_time_us: 627_116_980 } };
  },

  sessions(time) {
    const rows = Array.from({ length: 200 }, (_, index) => {
      const state = index < 3 ? "waiting" : index < 14 ? "running" : "idle";
      const transaction = index % 9 === 5;
      return { id: 1_073_741_851 + index, user: ["shop", "billing", "reports"][index % 3], schema: SCHEMAS[index % 3], client: `10.1.4.${index}:${50_000 + index}`,
        hostgroup: [10, 20, 21][index % 3], server: state === "running" ? this.fleet[index % 3].server : null, state, command: state === "idle" ? "Sleep" : "Query",
        ms: state === "idle" ? 1680 + index * 310 : 12 + ((time * 137 + index * 71) % 900), statement: state === "idle" ? null : "SELECT name, price FROM products WHERE id = 7",
        pin: transaction ? { reason: "transaction", ms: 1678 + index * 100 } : null, transaction_ms: transaction ? 1700 + index * 100 : null };
    });
    return { totals: { clients: 418, idle: 404, running: 11, waiting: 3, logging_in: 0, pinned: 31, in_transaction: 22, prepared_clients: 812, prepared_servers: 96 }, rows,
      pins: [["transaction", "shop", 22, 81_678], ["user_variable", "billing", 6, 412_000], ["temporary_table", "reports", 2, 1_210_500], ["named_lock", "batch", 1, 5_300_000]].map(([reason, user, sessions, oldest]) =>
        ({ reason, user, hostgroup: 10, sessions, oldest_ms: oldest, oldest_session: 1_073_741_851 })),
      transactions: rows.filter((row) => row.transaction_ms !== null).slice(0, 8).map((row, index) => ({ id: row.id, user: row.user, client: row.client, hostgroup: 10, server: this.fleet[0].server, state: row.state, ms: index === 7 ? 81_700 : row.transaction_ms, idle_ms: row.ms })),
      users: [["shop", 301, 31], ["billing", 64, 12], ["reports", 40, 3], ["batch", 2, 2]].map(([user, clients, connections]) => ({ user, clients, clients_max: 1000, connections })),
      prepared: [["shop", "shop", 24, 640, 61], ["billing", "billing", 4, 172, 35]].map(([user, schema, texts, open_clients, open_servers]) => ({ user, schema, texts, open_clients, open_servers })),
      left_out: 218 };
  },

  config(time) {
    const version = (module, number, age, runs) => ({ module, version: number, by: number % 2 ? "admin" : "deploy", applied_ms: (time - age) * 1000, runs });
    return { modules: [["MYSQL SERVERS", 9, 600, 1, 2], ["MYSQL USERS", 4, 9000, 0, 0], ["MYSQL QUERY RULES", 12, 90_000, 0, 0], ["MYSQL VARIABLES", 2, 260_000, 0, 0], ["ADMIN VARIABLES", 1, 260_000, 0, 0]].map(([module, number, age, loaded, saved]) =>
      ({ module, version: number, by: number % 2 ? "admin" : "deploy", applied_ms: (time - age) * 1000, not_loaded: loaded, not_saved: saved })),
    diff: [{ module: "MYSQL SERVERS", against: "runtime", table: "mysql_servers", row: "20,10.0.20.6,3306", change: "changed", column: "weight", there: "1", memory: "5" },
      { module: "MYSQL SERVERS", against: "disk", table: "mysql_servers", row: "20,10.0.20.6,3306", change: "changed", column: "weight", there: "1", memory: "5" },
      { module: "MYSQL SERVERS", against: "disk", table: "mysql_servers", row: "21,10.0.21.11,3306", change: "added", column: null, there: null, memory: "archive" }], diff_left_out: 0,
    versions: [version("MYSQL SERVERS", 9, 600, true), version("MYSQL USERS", 4, 9000, true), version("MYSQL SERVERS", 8, 86_000, false), version("MYSQL QUERY RULES", 12, 90_000, true), version("MYSQL SERVERS", 7, 172_000, false), version("MYSQL QUERY RULES", 11, 190_000, false)],
    check: [{ level: "warning", message: "`mysql_users`: user `reports` has no password" }], read_only: false, read_at_ms: (time - 3) * 1000 };
  },
});
