/** Rows of what clients do at a `Model`, and of its configuration. */

const SCHEMAS = ["shop", "billing", "reports"];
const DIGESTS = [
  ["SELECT name, price FROM products WHERE id = ?", 20, 380],
  [
    "SELECT o.id, o.total, c.name FROM orders o JOIN customers c ON c.id = o.customer_id" +
      " WHERE o.created_at > ? ORDER BY o.id DESC LIMIT ?",
    20,
    6200,
  ],
  ["UPDATE products SET stock = stock - ? WHERE id = ?", 10, 1900],
  ["INSERT INTO orders (customer_id, total, created_at) VALUES (?, ?, ?)", 10, 2300],
  ["SELECT COUNT(*) FROM events WHERE tenant = ? AND day BETWEEN ? AND ?", 21, 48000],
  ["COMMIT", -1, 110],
  ["SELECT id FROM carts WHERE session = ? FOR UPDATE", 10, 900],
  ["DELETE FROM carts WHERE updated_at < ? LIMIT ?", 10, 15200],
  ["SELECT `value` FROM settings WHERE `key` = ?", 20, 210],
  ["SET NAMES utf8mb4", -1, 20],
];

export function statements(model, time) {
  const rows = Array.from({ length: Math.min(model.size.digests, 100) }, (_, index) => {
    const [text, hostgroup, base] = DIGESTS[index % DIGESTS.length];
    const share = 0.42 * 0.72 ** index;
    const count = Math.round((share * 6e8) / base);
    return {
      digest: `0x${(0xa103c0a69a916a08n + BigInt(index) * 7919n).toString(16).toUpperCase()}`,
      text: index < DIGESTS.length ? text : `${text} /* ${index} */`,
      hostgroup,
      user: index % 5 === 4 ? "reports" : "shop",
      schema: SCHEMAS[index % 3],
      client: "",
      count: count * 20,
      time_us: Math.round(share * 1.2e10),
      share: share * 0.97,
      recent: { count, time_us: Math.round(share * 6e8), share, errors: index === 3 ? 3 : 0 },
      p50_us: base,
      p95_us: base * 4,
      p99_us: base * 9,
      p999_us: base * 30,
      min_us: 90,
      max_us: base * 60,
      errors: index === 3 ? 44 : 0,
      rows_sent: count * 3,
      rows_affected: 0,
      bytes_out: count * 180,
      bytes_in: count * 60,
      first_ms: (time - 86_000) * 1000,
      last_ms: time * 1000,
      spark: Array.from({ length: 24 }, (_value, step) =>
        Math.round(base * (6 + 3 * Math.sin(index + step / 3 + time / 20) + model.next())),
      ),
    };
  });
  return {
    window_s: 60,
    spark_step_s: 5,
    rows,
    left_out: Math.max(0, model.size.digests - 100),
    total: {
      count: 14_994_375,
      time_us: 12_542_339_615,
      recent_count: 708_718,
      recent_time_us: 627_116_980,
    },
  };
}

export function sessions(model, time) {
  const rows = Array.from({ length: 200 }, (_, index) => {
    const state = index < 3 ? "waiting" : index < 14 ? "running" : "idle";
    const transaction = index % 9 === 5;
    return {
      id: 1_073_741_851 + index,
      user: ["shop", "billing", "reports"][index % 3],
      schema: SCHEMAS[index % 3],
      client: `10.1.4.${index}:${50_000 + index}`,
      hostgroup: [10, 20, 21][index % 3],
      server: state === "running" ? model.fleet[index % 3].server : null,
      state,
      command: state === "idle" ? "Sleep" : "Query",
      ms: state === "idle" ? 1680 + index * 310 : 12 + ((time * 137 + index * 71) % 900),
      statement: state === "idle" ? null : "SELECT name, price FROM products WHERE id = 7",
      pin: transaction ? { reason: "transaction", ms: 1678 + index * 100 } : null,
      transaction_ms: transaction ? 1700 + index * 100 : null,
    };
  });
  return {
    totals: {
      clients: 418,
      idle: 404,
      running: 11,
      waiting: 3,
      logging_in: 0,
      pinned: 31,
      in_transaction: 22,
      prepared_clients: 812,
      prepared_servers: 96,
    },
    rows,
    pins: [
      ["transaction", "shop", 22, 81_678],
      ["user_variable", "billing", 6, 412_000],
      ["temporary_table", "reports", 2, 1_210_500],
      ["named_lock", "batch", 1, 5_300_000],
    ].map(([reason, user, sessions, oldest]) => ({
      reason,
      user,
      hostgroup: 10,
      sessions,
      oldest_ms: oldest,
      oldest_session: 1_073_741_851,
    })),
    transactions: rows
      .filter((row) => row.transaction_ms !== null)
      .slice(0, 8)
      .map((row, index) => ({
        id: row.id,
        user: row.user,
        client: row.client,
        hostgroup: 10,
        server: model.fleet[0].server,
        state: row.state,
        ms: index === 7 ? 81_700 : row.transaction_ms,
        idle_ms: row.ms,
      })),
    users: [
      ["shop", 301, 31],
      ["billing", 64, 12],
      ["reports", 40, 3],
      ["batch", 2, 2],
    ].map(([user, clients, connections]) => ({ user, clients, clients_max: 1000, connections })),
    prepared: [
      ["shop", "shop", 24, 640, 61],
      ["billing", "billing", 4, 172, 35],
    ].map(([user, schema, texts, open_clients, open_servers]) => ({
      user,
      schema,
      texts,
      open_clients,
      open_servers,
    })),
    left_out: 218,
  };
}

export function config(_model, time) {
  const version = (module, number, age, runs) => ({
    module,
    version: number,
    by: number % 2 ? "admin" : "deploy",
    applied_ms: (time - age) * 1000,
    runs,
  });
  return {
    modules: [
      ["MYSQL SERVERS", 9, 600, 1, 2],
      ["MYSQL USERS", 4, 9000, 0, 0],
      ["MYSQL QUERY RULES", 12, 90_000, 0, 0],
      ["MYSQL VARIABLES", 2, 260_000, 0, 0],
      ["ADMIN VARIABLES", 1, 260_000, 0, 0],
    ].map(([module, number, age, loaded, saved]) => ({
      module,
      version: number,
      by: number % 2 ? "admin" : "deploy",
      applied_ms: (time - age) * 1000,
      not_loaded: loaded,
      not_saved: saved,
    })),
    diff: [
      {
        module: "MYSQL SERVERS",
        against: "runtime",
        table: "mysql_servers",
        row: "20,10.0.20.6,3306",
        change: "changed",
        column: "weight",
        there: "1",
        memory: "5",
      },
      {
        module: "MYSQL SERVERS",
        against: "disk",
        table: "mysql_servers",
        row: "20,10.0.20.6,3306",
        change: "changed",
        column: "weight",
        there: "1",
        memory: "5",
      },
      {
        module: "MYSQL SERVERS",
        against: "disk",
        table: "mysql_servers",
        row: "21,10.0.21.11,3306",
        change: "added",
        column: null,
        there: null,
        memory: "archive",
      },
    ],
    diff_left_out: 0,
    versions: [
      version("MYSQL SERVERS", 9, 600, true),
      version("MYSQL USERS", 4, 9000, true),
      version("MYSQL SERVERS", 8, 86_000, false),
      version("MYSQL QUERY RULES", 12, 90_000, true),
      version("MYSQL SERVERS", 7, 172_000, false),
      version("MYSQL QUERY RULES", 11, 190_000, false),
    ],
    check: [{ level: "warning", message: "`mysql_users`: user `reports` has no password" }],
    read_only: false,
    read_at_ms: (time - 3) * 1000,
  };
}
