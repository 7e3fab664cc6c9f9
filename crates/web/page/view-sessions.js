/** View "sessions": which clients wait and for what, and which state binds connections? */

import { h, setText } from "./dom.js";
import { ask } from "./confirm.js";
import { compact, count, millis } from "./format.js";
import { mayAct } from "./login.js";
import { badge } from "./states.js";
import { Table } from "./table.js";

/** @type {Object<string, import("./states.js").Level>} */
const LEVELS = { waiting: "warn", running: "ok", idle: "off", login: "off", tunnel: "off" };
/** Milliseconds of an open transaction from which it is marked. */
const OLD_MS = 60_000;

/**
 * @param {URLSearchParams} address
 * @returns {import("./app.js").View}
 */
export function sessionsView(address) {
  const totals = h("dl", { class: "totals" });
  const pins = pinTable();
  const transactions = transactionTable();
  const users = userTable();
  const prepared = preparedTable();
  const sessions = sessionTable(address.get("filter") ?? "");
  return {
    element: h("div", { class: "view sessions" }, h("h2", { class: "unseen" }, "Sessions"), totals,
      sessions.element,
      h("div", { class: "pair" }, pins.element, transactions.element),
      h("div", { class: "pair" }, users.element, prepared.element)),
    update(state) {
      const data = state.views.sessions;
      if (!data || "error" in data) return;
      drawTotals(totals, data.totals);
      sessions.update(data.rows, data.left_out);
      pins.update(data.pins);
      transactions.update(data.transactions);
      users.update(data.users);
      prepared.update(data.prepared);
    },
  };
}

/**
 * @param {HTMLElement} list
 * @param {SessionsView["totals"]} totals
 */
function drawTotals(list, totals) {
  const figures = [
    ["clients", totals.clients], ["running", totals.running], ["waiting", totals.waiting],
    ["idle", totals.idle], ["logging in", totals.logging_in], ["pinned", totals.pinned],
    ["in a transaction", totals.in_transaction],
  ];
  figures.forEach(([name, value], index) => {
    const box = list.children[index]
      ?? list.appendChild(h("div", {}, h("dt", {}, String(name)), h("dd")));
    if (box.lastChild) setText(box.lastChild, count(Number(value)));
    box.classList.toggle("zero", value === 0);
  });
}

/**
 * The button that ends a session, for accounts that may.
 * @param {HTMLElement} cell
 * @param {number} id
 */
function drawId(cell, id) {
  cell.replaceChildren(h("span", { class: "id" }, String(id)));
  if (!mayAct()) return;
  cell.append(h("button", { type: "button", class: "quiet danger", "aria-label": `Kill session ${id}`,
    onclick: () => ask({
      title: "Kill a session", statement: `KILL ${id}`, body: { action: "kill", id },
      text: "The connection of the client is closed. An open transaction is rolled back.",
    }) }, "Kill"));
}

/**
 * @param {string} filtered
 * @returns {Table<SessionRow>}
 */
function sessionTable(filtered) {
  return new Table({
    title: "Sessions", empty: "No sessions.", filter: true, filtered, step: 20,
    key: (row) => String(row.id), level: (row) => (row.state === "waiting" ? "warn" : ""),
    columns: [
      { label: "State", text: (row) => row.state, value: (row) => row.state,
        draw: (cell, row) => cell.replaceChildren(badge(LEVELS[row.state] ?? "off", row.state)) },
      { label: "For", figure: true, text: (row) => millis(row.ms), value: (row) => row.ms },
      { label: "User", text: (row) => row.user, value: (row) => row.user },
      { label: "Client", minor: true, text: (row) => row.client, value: (row) => row.client,
        kind: "code" },
      { label: "Schema", minor: true, text: (row) => row.schema || "–", value: (row) => row.schema },
      { label: "Waits for, runs at", value: (row) => row.server, kind: "code",
        text: (row) => row.server ?? (row.hostgroup === null || row.hostgroup < 0 ? "–"
          : `hostgroup ${row.hostgroup}`) },
      { label: "Pin", value: (row) => row.pin?.reason ?? null,
        text: (row) => (row.pin ? `${row.pin.reason}, ${millis(row.pin.ms)}` : "–") },
      { label: "Transaction", figure: true, minor: true, text: (row) => millis(row.transaction_ms),
        value: (row) => row.transaction_ms },
      { label: "Statement", text: (row) => row.statement ?? row.command, kind: "sql",
        draw: (cell, row) => cell.replaceChildren(
          h("code", { title: row.statement ?? "" }, row.statement ?? row.command)) },
      { label: "Session", figure: true, text: (row) => String(row.id), value: (row) => row.id,
        kind: "acts", draw: (cell, row) => drawId(cell, row.id) },
    ],
  });
}

/** @returns {Table<Pin>} */
function pinTable() {
  return new Table({
    title: "Pins by cause and user", empty: "No session is bound to its connection.",
    sort: "Sessions", step: 15, key: (row) => `${row.reason} ${row.user} ${row.hostgroup}`,
    columns: [
      { label: "Pin", text: (row) => row.reason, value: (row) => row.reason },
      { label: "User", text: (row) => row.user, value: (row) => row.user },
      { label: "Hostgroup", figure: true, text: (row) => String(row.hostgroup),
        value: (row) => row.hostgroup },
      { label: "Sessions", figure: true, text: (row) => count(row.sessions),
        value: (row) => row.sessions },
      { label: "Oldest", figure: true, text: (row) => millis(row.oldest_ms),
        value: (row) => row.oldest_ms },
      { label: "Its session", figure: true, minor: true, text: (row) => String(row.oldest_session),
        kind: "acts", draw: (cell, row) => drawId(cell, row.oldest_session) },
    ],
  });
}

/** @returns {Table<Transaction>} */
function transactionTable() {
  return new Table({
    title: "Oldest transactions", empty: "No transaction is open.", sort: "Open", step: 15,
    key: (row) => String(row.id), level: (row) => (row.ms >= OLD_MS ? "warn" : ""),
    columns: [
      { label: "Open", figure: true, text: (row) => millis(row.ms), value: (row) => row.ms },
      { label: "Idle", figure: true, text: (row) => millis(row.idle_ms), value: (row) => row.idle_ms },
      { label: "User", text: (row) => row.user, value: (row) => row.user },
      { label: "Client", minor: true, text: (row) => row.client, value: (row) => row.client,
        kind: "code" },
      { label: "Server", text: (row) => row.server ?? "–", value: (row) => row.server, kind: "code" },
      { label: "Session", figure: true, text: (row) => String(row.id), value: (row) => row.id,
        kind: "acts", draw: (cell, row) => drawId(cell, row.id) },
    ],
  });
}

/** @returns {Table<UserRow>} */
function userTable() {
  return new Table({
    title: "Users by connections that they hold", empty: "No users.", sort: "Connections", step: 15,
    key: (row) => row.user,
    columns: [
      { label: "User", text: (row) => row.user, value: (row) => row.user },
      { label: "Clients", figure: true, value: (row) => row.clients,
        text: (row) => `${count(row.clients)} of ${compact(row.clients_max)}` },
      { label: "Connections", figure: true, text: (row) => count(row.connections),
        value: (row) => row.connections },
      { label: "Clients per connection", figure: true,
        text: (row) => (row.connections ? (row.clients / row.connections).toFixed(1) : "–"),
        value: (row) => (row.connections ? row.clients / row.connections : null) },
    ],
  });
}

/** @returns {Table<Prepared>} */
function preparedTable() {
  return new Table({
    title: "Prepared statements", empty: "No statement is prepared.", sort: "Per text", step: 15,
    key: (row) => `${row.user} ${row.schema}`,
    columns: [
      { label: "User", text: (row) => row.user, value: (row) => row.user },
      { label: "Schema", text: (row) => row.schema || "–", value: (row) => row.schema },
      { label: "Texts", figure: true, text: (row) => count(row.texts), value: (row) => row.texts },
      { label: "By clients", figure: true, text: (row) => count(row.open_clients),
        value: (row) => row.open_clients },
      { label: "At servers", figure: true, text: (row) => count(row.open_servers),
        value: (row) => row.open_servers },
      { label: "Per text", figure: true, value: (row) => row.open_clients / Math.max(row.texts, 1),
        text: (row) => (row.open_clients / Math.max(row.texts, 1)).toFixed(1),
        title: "Statements that clients have open of each text: a figure that grows is a leak" },
    ],
  });
}
