/** The HTTP interface of the page in front of a `Model`, with switches for what goes wrong. */

import { createServer } from "node:http";
import { readFile } from "node:fs/promises";
import { extname } from "node:path";
import { gzipSync } from "node:zlib";
import { chosen } from "./lists.mjs";
import { Model } from "./model.mjs";

const PAGE = new URL("../page/", import.meta.url);
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".txt": "text/plain",
};
const SECURITY = {
  "Content-Security-Policy":
    "default-src 'self'; base-uri 'none'; form-action 'self'; " +
    "frame-ancestors 'none'; object-src 'none'",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cache-Control": "no-cache",
};
const VIEWS = ["now", "servers", "statements", "sessions", "config"];
const STATEMENTS = {
  kill: (body) => `KILL ${body.id}`,
  pause: () => "PROXYSQL PAUSE",
  resume: () => "PROXYSQL RESUME",
  rollback: (body) =>
    `POINTSMAN ROLLBACK ${body.module}${body.version === null ? "" : ` TO ${body.version}`}`,
  load: (body) => `LOAD ${body.module} TO RUNTIME`,
};

export class Mock {
  /** @param {{ servers?: number, digests?: number, period?: number }} [options] period in ms. */
  constructor(options = {}) {
    this.model = new Model(options);
    this.period = options.period ?? 1000;
    this.viewers = new Set();
    this.maxViewers = 32;
    this.sessions = new Map();
    this.actions = [];
    this.server = createServer((request, response) => this.answer(request, response));
  }

  /** @returns {Promise<string>} its address. */
  async start(port = 0) {
    await new Promise((resolve) => this.server.listen(port, "127.0.0.1", resolve));
    this.port = this.server.address().port;
    this.timer = setInterval(() => this.tick(), this.period);
    return `http://127.0.0.1:${this.port}`;
  }

  /** Ends as a proxy that is killed; `start(port)` brings it back. */
  async stop() {
    clearInterval(this.timer);
    const closed = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    this.viewers.clear();
    await closed;
  }

  tick() {
    this.model.tick(this.model.points.at(-1).t + 1);
    for (const viewer of this.viewers) this.send(viewer, "changed", viewer.last);
  }

  send(viewer, event, from) {
    const state = this.model.envelope(viewer.views, viewer.account, from);
    viewer.last = this.model.points.at(-1).t;
    viewer.response.write(`id: ${state.id}\nevent: ${event}\ndata: ${sorted(state)}\n\n`);
  }

  account(request) {
    const cookie = /pointsman_\d+=(\w+)/.exec(request.headers.cookie ?? "");
    return cookie ? this.sessions.get(cookie[1]) : undefined;
  }

  async answer(request, response) {
    const url = new URL(request.url, "http://mock");
    const account = this.account(request);
    const route = `${request.method} ${url.pathname}`;
    const reply = (status, body, headers = {}) => {
      response.writeHead(status, { ...SECURITY, "Content-Type": "application/json", ...headers });
      response.end(body === null ? undefined : sorted(body));
    };
    if (!url.pathname.startsWith("/api/") && request.method === "GET")
      return this.file(url, response);
    const body = await text(request);
    if (route === "POST /login") return this.login(new URLSearchParams(body), reply);
    if (!account) return reply(401, { error: "login_required", message: "log in first" });
    const viewer = { user: account.user, rights: account.rights };
    const views = (url.searchParams.get("views") ?? "")
      .split(",")
      .filter((name) => VIEWS.includes(name));
    if (route === "GET /api/session") return reply(200, account);
    if (route === "GET /api/state") return reply(200, this.model.envelope(views, viewer));
    if (route === "GET /api/stream")
      return this.stream(url, request, response, views, viewer, reply);
    if (route === "GET /api/record") return this.record(url.searchParams.get("at"), viewer, reply);
    const list = /^GET \/api\/(sessions|statements)$/.exec(route)?.[1];
    if (list) return this.list(list, url.searchParams, viewer, reply);
    if (route === "GET /api/explain") return this.explain(url.searchParams, reply);
    if (request.headers["x-csrf-token"] !== account.csrf) {
      return reply(403, {
        error: "bad_token",
        message: "the token of this action is not that of the login",
      });
    }
    if (route === "POST /logout") return this.logout(request, reply);
    if (route === "POST /api/action") return this.act(JSON.parse(body), reply);
    return reply(404, { error: "not_found", message: "there is no such address" });
  }

  list(name, query, viewer, reply) {
    const view = this.model.envelope([name], viewer).views[name];
    const found = chosen(name, view.rows, query);
    if (found) return reply(200, found);
    return reply(400, { error: "bad_request", message: "there is no such column" });
  }

  async file(url, response) {
    const name = url.pathname === "/" ? "index.html" : url.pathname.slice(1);
    try {
      if (name.includes("/")) throw new Error("a folder");
      const content = await readFile(new URL(name, PAGE));
      response.writeHead(200, {
        ...SECURITY,
        "Content-Type": TYPES[extname(name)] ?? "text/plain",
        "Content-Encoding": "gzip",
      });
      response.end(gzipSync(content));
    } catch {
      response.writeHead(404, SECURITY).end();
    }
  }

  login(form, reply) {
    const rights = { admin: "admin", stats: "stats" }[form.get("user")];
    if (!rights || form.get("password") !== form.get("user")) {
      return reply(401, { error: "wrong_login", message: "wrong user or password" });
    }
    const id = `s${this.sessions.size}${Date.now()}`;
    const account = {
      user: form.get("user"),
      rights,
      csrf: `c${id}`,
      expires_ms: Date.now() + 43_200_000,
    };
    this.sessions.set(id, account);
    return reply(200, account, {
      "Set-Cookie": `pointsman_${this.port}=${id}; HttpOnly; SameSite=Strict; Path=/`,
    });
  }

  logout(request, reply) {
    this.sessions.delete(/pointsman_\d+=(\w+)/.exec(request.headers.cookie)[1]);
    return reply(204, null);
  }

  stream(url, request, response, views, account, reply) {
    if (this.viewers.size >= this.maxViewers) {
      return reply(503, { error: "too_many_viewers", message: "32 viewers are there already" });
    }
    response.writeHead(200, { ...SECURITY, "Content-Type": "text/event-stream" });
    response.write("retry: 2000\n\n");
    const viewer = { response, views, account, last: 0 };
    const last = url.searchParams.get("last") ?? request.headers["last-event-id"] ?? "";
    const [boot, number] = last.split("-");
    const known = boot === this.model.boot;
    const missed = this.model.number - Number(number);
    this.send(viewer, known ? "changed" : "whole", known ? this.model.points.at(-1).t - missed : 0);
    this.viewers.add(viewer);
    response.on("close", () => this.viewers.delete(viewer));
  }

  /** The points that are there are the record. */
  record(at, viewer, reply) {
    const from = this.model.points[0].t;
    const to = this.model.points.at(-1).t;
    if (at === null) return reply(200, { from_ms: from * 1000, to_ms: to * 1000 });
    const second = Math.max(from, Math.min(to, Math.floor(Number(at) / 1000)));
    const state = this.model.envelope(["now"], viewer);
    state.time_ms = second * 1000;
    state.views.now.points = state.views.now.points.filter((point) => point.t <= second);
    state.head.qps = state.views.now.points.at(-1).qps;
    return reply(200, state);
  }

  /** Tells all viewers to go. */
  end(code, message) {
    for (const viewer of this.viewers) {
      viewer.response.end(`event: end\ndata: ${JSON.stringify({ error: code, message })}\n\n`);
    }
  }

  explain(query, reply) {
    const statement = query.get("statement") ?? "";
    if (/^selec\b/i.test(statement))
      return reply(409, { error: "failed", message: "this is not a statement" });
    const [primary, one, two] = this.model.fleet;
    const steps = [
      [
        "session",
        `user ${query.get("user") || "shop"}`,
        `schema ${query.get("schema") || "shop"}, from 127.0.0.1 at 0.0.0.0:6033, outside a transaction`,
      ],
      ["digest", "0xA103C0A69A916A08", statement.replace(/\d+/g, "?")],
      ["shape", "read", ""],
      ["rule 10", "no match", "match_pattern ^SELECT .* FROM reports"],
      ["split", "reader", "a plain read outside a transaction"],
      ["destination", "hostgroup 20", "split: a plain read outside a transaction"],
      [
        `server ${one.server}`,
        "candidate",
        "by weight, 5 of 6; it runs 3 statements and has 12 of 100 connections",
      ],
      [
        `server ${two.server}`,
        two.state === "ONLINE" ? "candidate" : "shunned",
        two.spans.at(-1).cause || "by weight, 1 of 6",
      ],
      [`server ${primary.server}`, "no", "it is in hostgroup 10"],
      ["cache", "no", "no cache_ttl"],
    ].map(([step, result, detail]) => ({ step, result, detail }));
    return reply(200, {
      steps,
      route: {
        destination: "hostgroup 20",
        reason: "split: a plain read outside a transaction",
        hostgroup: 20,
        flagOUT: 0,
        outputs: {},
        steps: [],
      },
    });
  }

  act(body, reply) {
    const statement = STATEMENTS[body.action]?.(body);
    if (statement === undefined)
      return reply(400, { error: "bad_request", message: "no such action" });
    if (statement !== body.confirm) {
      return reply(409, { error: "bad_confirmation", message: `type exactly: ${statement}` });
    }
    this.actions.push(statement);
    if (body.action === "pause" || body.action === "resume")
      this.model.accepts = body.action === "resume";
    return reply(200, { ok: true, statement, message: "" });
  }
}

/** JSON with members in alphabetical order: nothing may depend on another one. */
function sorted(value) {
  return JSON.stringify(value, (_key, inner) =>
    inner && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

async function text(request) {
  let whole = "";
  for await (const part of request) whole += part;
  return whole;
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const mock = new Mock({
    servers: Number(process.env.SERVERS ?? 7),
    digests: Number(process.env.DIGESTS ?? 40),
  });
  console.log(await mock.start(Number(process.argv[2] ?? 0)));
}
