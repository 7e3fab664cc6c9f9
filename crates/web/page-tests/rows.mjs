/** The views of a `Model`: rows as the contract has them. */

import { config, sessions, statements } from "./workload.mjs";

const WINDOW_S = 900;

function now(model, time, pointsFrom) {
  return {
    points: model.points.filter((point) => point.t > pointsFrom),
    timeline: {
      from_ms: (time - WINDOW_S) * 1000,
      to_ms: time * 1000,
      servers: model.fleet.map(({ hostgroup, server, name, spans }) => ({
        hostgroup,
        server,
        name,
        spans: spans.map((span) => ({ ...span })),
      })),
    },
    hostgroups: groups(model),
    errors: errors(model, time),
    events: [...model.events],
  };
}

function groups(model) {
  const groups = new Map();
  for (const server of model.fleet) {
    const group = groups.get(server.hostgroup) ?? {
      hostgroup: server.hostgroup,
      role: { 10: "writer", 20: "reader" }[server.hostgroup] ?? null,
      partner: { 10: 20, 20: 10 }[server.hostgroup] ?? null,
      comment: server.hostgroup === 21 ? "reports" : "",
      servers: 0,
      usable: 0,
      used: 0,
      free: 0,
      limit: 0,
      waiting: 0,
      qps: 0,
    };
    group.servers += 1;
    if (model.usable(server)) {
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

function errors(model, time) {
  return [
    {
      hostgroup: 20,
      server: model.fleet[2].server,
      code: 2013,
      count: 812,
      recent: 0,
      first_ms: (time - 480) * 1000,
      last_ms: (time - 430) * 1000,
      message: "Lost connection to server during query",
    },
    {
      hostgroup: 10,
      server: model.fleet[0].server,
      code: 1213,
      count: 44,
      recent: 3,
      first_ms: (time - 9000) * 1000,
      last_ms: (time - 12) * 1000,
      message: "Deadlock found when trying to get lock; try restarting transaction",
    },
    {
      hostgroup: null,
      server: null,
      code: 9001,
      count: 5,
      recent: 0,
      first_ms: (time - 470) * 1000,
      last_ms: (time - 440) * 1000,
      message: "Max connect timeout reached while reaching hostgroup 20 after 10000ms",
    },
  ];
}

function serverRows(model) {
  return model.fleet.map((one, index) => ({
    id: one.id,
    hostgroup: one.hostgroup,
    configured_in: one.hostgroup,
    server: one.server,
    name: one.name,
    status: one.state,
    usable: model.usable(one),
    reason: model.usable(one)
      ? null
      : one.spans.at(-1).cause || "it is OFFLINE_SOFT: it finishes what it has",
    weight: index === 1 ? 5 : 1,
    used: model.usable(one) ? 3 + Math.round(one.load / 300) : 0,
    free: model.usable(one) ? 4 : 0,
    limit: 100,
    most_used: 41,
    opened: 310 + index,
    failed: index === 2 ? 9 : 0,
    queries: 1_203_311 + index,
    qps: model.usable(one) ? Math.round(one.load) : 0,
    latency_us: 190 + index * 7,
    bytes_out: 1.2e6,
    bytes_in: 9.1e6,
    lag_s: one.hostgroup === 10 ? null : one.lag,
    max_lag_s: one.hostgroup === 10 ? 0 : 30,
    read_only: one.hostgroup !== 10,
  }));
}

function servers(model) {
  const rows = serverRows(model);
  const groups = [...new Set(rows.map((row) => row.hostgroup))];
  const users = [
    ["shop", 10, 301],
    ["billing", 10, 64],
    ["reports", 21, 40],
    ["batch", 10, 2],
  ];
  return {
    listeners: [
      {
        id: "l0",
        address: "0.0.0.0:6033",
        protocol: "mysql",
        role: "auto",
        hostgroup: null,
        max_connections: 0,
      },
      {
        id: "l1",
        address: "0.0.0.0:6034",
        protocol: "tcp",
        role: "auto",
        hostgroup: 10,
        max_connections: 0,
      },
    ],
    users: users.map(([user, hostgroup, clients], index) => ({
      id: `u${index}`,
      user,
      default_hostgroup: hostgroup,
      clients,
      clients_max: 1000,
      fast_forward: false,
    })),
    rules: [
      ["^SELECT .* FROM reports", 21, 512_104],
      ["^SELECT COUNT\\(\\*\\) FROM events", 21, 90_211],
    ].map(([match, to, hits], index) => ({
      id: `r${index + 1}`,
      rule_id: (index + 1) * 10,
      match,
      username: index ? "reports" : null,
      schemaname: null,
      destination_hostgroup: to,
      apply: true,
      hits,
      comment: index ? "heavy counts" : "",
    })),
    hostgroups: groups.map((group) => ({
      id: `h${group}`,
      hostgroup: group,
      role: { 10: "writer", 20: "reader" }[group] ?? null,
      partner: { 10: 20, 20: 10 }[group] ?? null,
      comment: group === 21 ? "reports" : "",
    })),
    servers: rows,
    edges: [
      ...users.map((_, index) => ({ from: "l0", to: `u${index}`, why: "any user" })),
      { from: "l1", to: "h10", why: "listener" },
      ...users.map(([, group], index) => ({
        from: `u${index}`,
        to: `h${group}`,
        why: "default_hostgroup",
      })),
      { from: "r1", to: "h21", why: "destination_hostgroup" },
      { from: "r2", to: "h21", why: "destination_hostgroup" },
      { from: "h10", to: "h20", why: "read/write split" },
      ...rows.map((row) => ({ from: `h${row.hostgroup}`, to: row.id, why: "member" })),
    ],
    left_out: { users: 0, rules: 0, edges: 0 },
  };
}

/** Views by name: functions of the model, its time in Unix s, and the first point that is new. */
export const VIEWS = { now, servers, statements, sessions, config };
