/** View "servers": why is this server not used? */

import { h } from "./dom.js";
import { bytes, compact, count, micros, seconds } from "./format.js";
import { RouteMap } from "./map.js";
import { meter } from "./meter.js";
import { badge, serverState } from "./states.js";
import { Table } from "./table.js";

/**
 * @param {URLSearchParams} address
 * @returns {import("./app.js").View}
 */
export function serversView(address) {
  const map = new RouteMap();
  const servers = serverTable(address.get("filter") ?? "");
  const rules = ruleTable();
  return {
    element: h("div", { class: "view servers" }, h("h2", { class: "unseen" }, "Servers"),
      map.element, servers.element, rules.element),
    update(state) {
      const data = state.views.servers;
      if (!data || "error" in data) return;
      map.update(data);
      servers.update(data.servers);
      rules.update(data.rules, data.left_out.rules);
    },
    destroy: () => map.destroy(),
  };
}

/** @param {ServerRow} row */
const levelOf = (row) => {
  const { level } = serverState(row.status);
  return row.usable ? "ok" : level === "ok" ? "bad" : level;
};

/**
 * @param {string} filtered
 * @returns {Table<ServerRow>}
 */
function serverTable(filtered) {
  return new Table({
    title: "Servers", empty: "No servers.", filter: true, filtered,
    key: (row) => row.id, level: (row) => (row.usable ? "" : levelOf(row)),
    columns: [
      { label: "State", text: (row) => serverState(row.status).word,
        value: (row) => `${row.usable ? 0 : 1}${row.status}`,
        memo: (row) => `${row.status} ${row.usable}`,
        draw: (cell, row) => cell.replaceChildren(badge(levelOf(row), serverState(row.status).word)) },
      { label: "Hostgroup", figure: true, value: (row) => row.hostgroup,
        text: (row) => (row.configured_in === row.hostgroup ? String(row.hostgroup)
          : `${row.hostgroup} (configured in ${row.configured_in})`) },
      { label: "Server", text: (row) => [row.name, row.server].filter(Boolean).join(" "),
        value: (row) => row.name || row.server, kind: "server",
        draw: (cell, row) => cell.replaceChildren(row.name ? h("b", {}, row.name) : "",
          h("span", { class: "code" }, row.server)) },
      { label: "Why not", text: (row) => row.reason ?? (row.usable ? "–" : "not known"),
        value: (row) => row.reason, kind: "prose" },
      { label: "Connections", value: (row) => row.used, kind: "metered",
        text: (row) => `${count(row.used)} used, ${count(row.free)} free of ${count(row.limit)}`,
        draw: (cell, row) => cell.replaceChildren(meter(row.used, row.free, row.limit)) },
      { label: "Q/s", figure: true, text: (row) => compact(row.qps), value: (row) => row.qps },
      { label: "Ping", figure: true, text: (row) => micros(row.latency_us),
        value: (row) => row.latency_us, title: "Time of the last ping of the monitor" },
      { label: "Lag", figure: true, value: (row) => row.lag_s,
        text: (row) => seconds(row.lag_s) + (row.max_lag_s ? ` of ${seconds(row.max_lag_s)}` : "") },
      { label: "Writes", minor: true, value: (row) => String(row.read_only),
        text: (row) => (row.read_only === null ? "–" : row.read_only ? "refused" : "taken"),
        title: "read_only of the server" },
      { label: "Weight", figure: true, minor: true, text: (row) => count(row.weight),
        value: (row) => row.weight },
      { label: "Peak", figure: true, minor: true, text: (row) => count(row.most_used),
        value: (row) => row.most_used, title: "Most connections that were in use at once" },
      { label: "Opened", figure: true, minor: true, value: (row) => row.opened,
        text: (row) => compact(row.opened) + (row.failed ? `, ${compact(row.failed)} failed` : "") },
      { label: "Sent", figure: true, minor: true, text: (row) => bytes(row.bytes_out),
        value: (row) => row.bytes_out },
      { label: "Received", figure: true, minor: true, text: (row) => bytes(row.bytes_in),
        value: (row) => row.bytes_in },
    ],
  });
}

/** @returns {Table<Rule>} */
function ruleTable() {
  return new Table({
    title: "Query rules", empty: "No query rules.", filter: true, step: 20,
    key: (row) => row.id,
    columns: [
      { label: "Rule", figure: true, text: (row) => String(row.rule_id), value: (row) => row.rule_id },
      { label: "Match", text: (row) => row.match || "every statement", value: (row) => row.match,
        kind: "code prose" },
      { label: "User", text: (row) => row.username ?? "any", value: (row) => row.username },
      { label: "Schema", minor: true, text: (row) => row.schemaname ?? "any",
        value: (row) => row.schemaname },
      { label: "Hostgroup", figure: true, value: (row) => row.destination_hostgroup,
        text: (row) => (row.destination_hostgroup === null ? "–" : String(row.destination_hostgroup)) },
      { label: "Hits", figure: true, text: (row) => compact(row.hits), value: (row) => row.hits },
      { label: "Then", minor: true, text: (row) => (row.apply ? "stops" : "next rule"),
        value: (row) => Number(row.apply) },
      { label: "Comment", minor: true, text: (row) => row.comment || "–", kind: "prose" },
    ],
  });
}
