/** View "sessions": which clients wait and for what, and which state binds connections? */

import { readRows } from "./api.js";
import { ask } from "./confirm.js";
import { h, setText } from "./dom.js";
import { compact, millis } from "./format.js";
import { mayAct } from "./login.js";
import { Table, figures, states, words } from "./table.js";

/** @type {Object<string, Level>} */
const LEVELS = { waiting: "warn", running: "ok" };
/** @type {(keyof SessionsView["totals"])[]} */
const TOTALS = ["clients", "running", "waiting", "idle", "logging_in", "pinned", "in_transaction"];
/** Milliseconds of an open transaction from which it is marked. */
const OLD_MS = 60_000;

/**
 * @param {URLSearchParams} address
 * @returns {View}
 */
export function sessionsView(address) {
  const totals = h("dl", { class: "panel totals" });
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
    update({ views }) {
      const data = views.sessions;
      if (!data) return;
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
  TOTALS.forEach((name, index) => {
    const value = totals[name];
    const box = list.children[index]
      ?? list.appendChild(h("div", {}, h("dt", {}, name.replaceAll("_", " ")), h("dd")));
    if (box.lastChild) setText(box.lastChild, compact(value));
    box.classList.toggle("zero", value === 0);
  });
}

/**
 * Column of a session's id, with the button that ends the session for accounts that may.
 * @template R
 * @param {string} label
 * @param {(row: R) => number} read
 * @returns {Column<R>}
 */
const ids = (label, read) => words(label, read, "num acts", { draw: (cell, row) => {
  const id = read(row);
  cell.replaceChildren(String(id));
  if (!mayAct()) return;
  cell.append(h("button", {
    type: "button", class: "quiet danger", "aria-label": `Kill session ${id}`, onclick: () => ask({
      title: "Kill a session", statement: `KILL ${id}`, body: { action: "kill", id },
      text: "The connection of the client is closed. An open transaction is rolled back.",
    }) }, "Kill"));
} });

/** @param {SessionRow} row */
const placeOf = (row) =>
  row.server ?? (row.hostgroup === null || row.hostgroup < 0 ? null : `hostgroup ${row.hostgroup}`);

/**
 * @param {string} filter
 * @returns {Table<SessionRow>}
 */
function sessionTable(filter) {
  return new Table({
    title: "Sessions", empty: "No sessions.", filter, step: 20, key: (row) => String(row.id),
    level: (row) => (row.state === "waiting" ? "warn" : ""),
    remote: (wanted) => readRows("sessions", wanted),
    columns: [
      states("State", (row) => LEVELS[row.state] ?? "off", (row) => row.state),
      figures("For", (row) => row.ms, millis),
      words("User", (row) => row.user),
      words("Client", (row) => row.client, "code minor"),
      words("Schema", (row) => row.schema, "minor"),
      words("Waits for, runs at", placeOf, "code"),
      words("Pin", (row) => row.pin && `${row.pin.reason}, ${millis(row.pin.ms)}`, "pin"),
      figures("Transaction", (row) => row.transaction_ms, millis, "minor"),
      words("Statement", (row) => row.statement ?? row.command, "sql", {
        draw: (cell, row) => cell.replaceChildren(
          h("code", { title: row.statement ?? "" }, row.statement ?? row.command)) }),
      ids("Session", (row) => row.id),
    ],
  });
}

/** @returns {Table<Pin>} */
function pinTable() {
  return new Table({
    title: "Pins by cause and user", empty: "No session is bound to its connection.",
    sort: "Sessions", step: 15, key: (row) => `${row.reason} ${row.user} ${row.hostgroup}`,
    columns: [
      words("Pin", (row) => row.reason),
      words("User", (row) => row.user),
      words("Hostgroup", (row) => row.hostgroup),
      figures("Sessions", (row) => row.sessions),
      figures("Oldest", (row) => row.oldest_ms, millis),
      ids("Its session", (row) => row.oldest_session),
    ],
  });
}

/** @returns {Table<Transaction>} */
function transactionTable() {
  return new Table({
    title: "Oldest transactions", empty: "No transaction is open.", sort: "Open", step: 15,
    key: (row) => String(row.id), level: (row) => (row.ms >= OLD_MS ? "warn" : ""),
    columns: [
      figures("Open", (row) => row.ms, millis),
      figures("Idle", (row) => row.idle_ms, millis),
      words("User", (row) => row.user),
      words("Client", (row) => row.client, "code minor"),
      words("Server", (row) => row.server, "code"),
      ids("Session", (row) => row.id),
    ],
  });
}

/** @returns {Table<UserRow>} */
function userTable() {
  return new Table({
    title: "Users by connections that they hold", empty: "No users.", sort: "Connections", step: 15,
    key: (row) => row.user,
    columns: [
      words("User", (row) => row.user),
      figures("Clients", (row) => row.clients),
      figures("Limit", (row) => row.clients_max, compact),
      figures("Connections", (row) => row.connections),
      figures("Clients per connection",
        (row) => (row.connections ? row.clients / row.connections : null), compact),
    ],
  });
}

/** @param {Prepared} row */
const perText = (row) => row.open_clients / Math.max(row.texts, 1);

/** @returns {Table<Prepared>} */
function preparedTable() {
  return new Table({
    title: "Prepared statements", empty: "No statement is prepared.", sort: "Per text", step: 15,
    key: (row) => `${row.user} ${row.schema}`,
    columns: [
      words("User", (row) => row.user),
      words("Schema", (row) => row.schema),
      figures("Texts", (row) => row.texts),
      figures("By clients", (row) => row.open_clients),
      figures("At servers", (row) => row.open_servers),
      figures("Per text", perText, compact, "",
        { title: "Statements that clients have open of each text: a figure that grows is a leak" }),
    ],
  });
}
