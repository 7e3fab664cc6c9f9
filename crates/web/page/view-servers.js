/** View "servers": why is this server not used? */

import { h } from "./dom.js";
import { compact, micros, seconds } from "./format.js";
import { serverState } from "./glyphs.js";
import { RouteMap } from "./map.js";
import { Table, connections, figures, states, words } from "./table.js";

/**
 * @param {URLSearchParams} address
 * @returns {View}
 */
export function serversView(address) {
  const map = new RouteMap();
  const servers = serverTable(address.get("filter") ?? "");
  const rules = ruleTable();
  return {
    element: h("div", { class: "view servers" }, h("h2", { class: "unseen" }, "Servers"),
      map.element, servers.element, rules.element),
    update({ views }) {
      const data = views.servers;
      if (!data) return;
      map.update(data);
      servers.update(data.servers);
      rules.update(data.rules, data.left_out.rules);
    },
    destroy: () => map.destroy(),
  };
}

/** @param {ServerRow} row */
function levelOf(row) {
  const { level } = serverState(row.status);
  return row.usable ? "ok" : level === "ok" ? "bad" : level;
}

/** @param {ServerRow} row */
const writesOf = (row) => (row.read_only === null ? null : row.read_only ? "refused" : "taken");

/**
 * @param {string} filter
 * @returns {Table<ServerRow>}
 */
function serverTable(filter) {
  return new Table({
    title: "Servers", empty: "No servers.", filter, key: (row) => row.id,
    level: (row) => (row.usable ? "" : levelOf(row)),
    columns: [
      states("State", levelOf, (row) => serverState(row.status).word,
        (row) => `${Number(row.usable)} ${row.status}`),
      words("Hostgroup", (row) => row.hostgroup, "", {
        text: ({ hostgroup, configured_in: row }) => (row === hostgroup ? String(hostgroup)
          : `${hostgroup} (${row === null ? "discovered" : `row: ${row}`})`) }),
      words("Server", (row) => `${row.name} ${row.server}`, "server", {
        draw: (cell, row) => cell.replaceChildren(row.name && h("b", {}, row.name),
          h("span", { class: "code" }, row.server)) }),
      words("Why not", (row) => row.reason, "prose"),
      connections(),
      figures("Q/s", (row) => row.qps, compact),
      figures("Ping", (row) => row.latency_us, micros),
      figures("Lag", (row) => row.lag_s, seconds, "", {
        text: ({ lag_s: lag, max_lag_s: most }) =>
          seconds(lag) + (most ? ` / ${seconds(most)}` : "") }),
      words("Writes", writesOf, "minor", { title: "By read_only of the server" }),
      figures("Weight", (row) => row.weight, undefined, "minor"),
      figures("Opened", (row) => row.opened, compact, "minor"),
      figures("Failed", (row) => row.failed, compact, "minor"),
    ],
  });
}

/** @returns {Table<Rule>} */
function ruleTable() {
  return new Table({
    title: "Query rules", empty: "No query rules.", filter: "", step: 20, key: (row) => row.id,
    columns: [
      words("Rule", (row) => row.rule_id),
      words("Match", (row) => (row.comment === null ? "not shown" : row.match || "every statement"),
        "code prose"),
      words("User", (row) => row.username ?? "any"),
      words("Schema", (row) => row.schemaname ?? "any", "minor"),
      words("Hostgroup", (row) => row.destination_hostgroup),
      figures("Hits", (row) => row.hits, compact),
      words("Then", (row) => (row.apply ? "stops" : "next rule"), "minor"),
      words("Comment", (row) => row.comment ?? "", "prose minor"),
    ],
  });
}
