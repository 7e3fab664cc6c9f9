/** View "now": is it the clients, the proxy or a server, and since when? */

import { Chart } from "./chart.js";
import { h } from "./dom.js";
import { eventLevel, eventWord } from "./events.js";
import { clock, compact, count, micros } from "./format.js";
import { Table, connections, figures, states, words } from "./table.js";
import { Timeline } from "./timeline.js";

/** @returns {View} */
export function nowView() {
  const timeline = new Timeline();
  const charts = makeCharts();
  const hostgroups = hostgroupTable();
  const errors = errorTable();
  const events = eventTable();
  return {
    element: h("div", { class: "view now" }, h("h2", { class: "unseen" }, "Now"), timeline.element,
      h("div", { class: "charts" }, ...charts.map((chart) => chart.element)),
      h("div", { class: "pair" }, hostgroups.element, errors.element), events.element),
    update({ views: { now }, time_ms }) {
      if (!now) return;
      timeline.update(now.timeline, now.events);
      const end = Math.floor(time_ms / 1000);
      for (const chart of charts) chart.update(now.points, now.events, end);
      hostgroups.update(now.hostgroups);
      errors.update(now.errors);
      events.update(now.events);
    },
    destroy() {
      for (const chart of charts) chart.destroy();
    },
  };
}

function makeCharts() {
  const onCursor = (/** @type {number | null} */ time) => {
    for (const chart of charts) chart.point(time);
  };
  const charts = [
    new Chart("Queries", compact, [
      { key: "qps", label: "per second", colour: "accent", area: true },
    ], onCursor),
    new Chart("Response time", micros, [
      { key: "p99_us", label: "p99", colour: "faint" },
      { key: "p95_us", label: "p95", colour: "accent" },
      { key: "p50_us", label: "p50", colour: "ink" },
    ], onCursor),
    new Chart("Clients at work", compact, [
      { key: "busy", label: "busy", colour: "accent" },
      { key: "waiting", label: "waiting", colour: "warn", area: true },
      { key: "errors", label: "errors per second", colour: "bad", area: true },
    ], onCursor),
    new Chart("Connections", compact, [
      { key: "clients", label: "of clients", colour: "faint" },
      { key: "used", label: "to servers, used", colour: "accent" },
      { key: "free", label: "free", colour: "ink" },
    ], onCursor),
  ];
  return charts;
}

/** @param {Hostgroup} row */
const levelOf = (row) => (row.usable === 0 ? "bad" : row.usable < row.servers ? "warn" : "ok");

/** @param {Hostgroup} row */
const usableOf = (row) => `${count(row.usable)} of ${count(row.servers)}`;

/** @returns {Table<Hostgroup>} */
function hostgroupTable() {
  return new Table({
    title: "Hostgroups", empty: "No hostgroups.", key: (row) => String(row.hostgroup),
    level: (row) => (levelOf(row) === "ok" ? "" : levelOf(row)),
    columns: [
      words("Hostgroup", (row) => row.hostgroup, "", {
        text: (row) => `${row.hostgroup} ${row.role ?? ""} ${row.comment}`.trim(),
      }),
      states("Usable", levelOf, usableOf, (row) => row.usable / Math.max(row.servers, 1)),
      connections(),
      figures("Waiting", (row) => row.waiting),
      figures("Q/s", (row) => row.qps, compact),
    ],
  });
}

/** @returns {Table<ErrorRow>} */
function errorTable() {
  return new Table({
    title: "Errors by cause", empty: "No errors.", sort: "Last minute",
    key: (row) => `${row.hostgroup} ${row.server} ${row.code}`,
    level: (row) => (row.recent > 0 ? "bad" : ""),
    columns: [
      words("Error", (row) => `${row.code ?? ""} ${row.message ?? ""}`.trim(), "prose"),
      words("From", (row) => row.server ?? "the proxy", "code"),
      words("Hostgroup", (row) => row.hostgroup, "minor"),
      words("User", (row) => row.users, "minor"),
      figures("Last minute", (row) => row.recent),
      figures("All", (row) => row.count, compact),
      figures("Last", (row) => row.last_ms, clock, "minor"),
    ],
  });
}

/** @returns {Table<ProxyEvent>} */
function eventTable() {
  return new Table({
    title: "Events, last 15 minutes", empty: "No events.", sort: "Time", step: 20,
    key: (row) => `${row.time_ms} ${row.event} ${row.server} ${row.hostgroup} ${row.cause}`,
    columns: [
      words("Time", (row) => row.time_ms, "code", { text: (row) => clock(row.time_ms) }),
      states("Event", eventLevel, eventWord),
      words("Server", (row) => row.server, "code"),
      words("Hostgroup", (row) => row.hostgroup, "minor"),
      words("Cause", (row) => row.cause, "prose wide"),
    ],
  });
}
