/** View "now": is it the clients, the proxy or a server, and since when? */

import { h } from "./dom.js";
import { Chart } from "./chart.js";
import { clock, compact, count, micros } from "./format.js";
import { eventLevel, eventWord } from "./marks.js";
import { meter } from "./meter.js";
import { badge } from "./states.js";
import { Table } from "./table.js";
import { Timeline } from "./timeline.js";

/** @returns {import("./app.js").View} */
export function nowView() {
  const timeline = new Timeline();
  const charts = makeCharts();
  const hostgroups = hostgroupTable();
  const errors = errorTable();
  const events = eventTable();
  return {
    element: h("div", { class: "view now" },
      h("h2", { class: "unseen" }, "Now"),
      timeline.element,
      h("div", { class: "charts" }, ...charts.map((chart) => chart.element)),
      h("div", { class: "pair" }, hostgroups.element, errors.element),
      events.element),
    update(state) {
      const now = state.views.now;
      if (!now || "error" in now) return;
      timeline.update(now.timeline, now.events);
      const end = Math.floor(state.time_ms / 1000);
      for (const chart of charts) chart.update(now.points, now.events, end);
      hostgroups.update(now.hostgroups);
      errors.update(now.errors);
      events.update([...now.events].reverse());
    },
    destroy() {
      for (const chart of charts) chart.destroy();
    },
  };
}

function makeCharts() {
  return [
    new Chart({ title: "Queries per second", format: compact, series: [
      { key: "qps", label: "q/s", colour: "accent", area: true },
    ] }),
    new Chart({ title: "Response time", format: micros, series: [
      { key: "p50_us", label: "p50", colour: "muted", line: "dotted" },
      { key: "p95_us", label: "p95", colour: "accent" },
      { key: "p99_us", label: "p99", colour: "muted", line: "dashed" },
    ] }),
    new Chart({ title: "Clients", format: compact, series: [
      { key: "clients", label: "connected", colour: "muted", line: "dotted" },
      { key: "busy", label: "busy", colour: "accent" },
      { key: "waiting", label: "waiting", colour: "warn", line: "dashed" },
    ] }),
    new Chart({ title: "Server connections and errors", format: compact, series: [
      { key: "used", label: "used", colour: "accent" },
      { key: "free", label: "free", colour: "muted", line: "dotted" },
      { key: "errors", label: "errors/s", colour: "bad", line: "dashed" },
    ] }),
  ];
}

/** @returns {Table<Hostgroup>} */
function hostgroupTable() {
  return new Table({
    title: "Hostgroups", empty: "No hostgroups.", key: (row) => String(row.hostgroup),
    level: (row) => (row.usable === 0 ? "bad" : row.usable < row.servers ? "warn" : ""),
    columns: [
      { label: "Hostgroup", text: (row) => [row.hostgroup, row.role, row.comment].filter((part) =>
        part !== null && part !== "").join(" "), value: (row) => row.hostgroup },
      { label: "Usable", value: (row) => row.usable / Math.max(row.servers, 1),
        text: (row) => `${count(row.usable)} of ${count(row.servers)}`,
        draw: (cell, row) => cell.replaceChildren(
          badge(row.usable === 0 ? "bad" : row.usable < row.servers ? "warn" : "ok",
            `${count(row.usable)} of ${count(row.servers)}`)) },
      { label: "Connections", value: (row) => row.used, kind: "metered",
        title: "In use and free, of the limit of the usable servers",
        text: (row) => `${count(row.used)} used, ${count(row.free)} free of ${count(row.limit)}`,
        draw: (cell, row) => cell.replaceChildren(meter(row.used, row.free, row.limit)) },
      { label: "Waiting", figure: true, text: (row) => count(row.waiting), value: (row) => row.waiting },
      { label: "Q/s", figure: true, text: (row) => compact(row.qps), value: (row) => row.qps },
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
      { label: "Error", text: (row) => [row.code, row.message].filter(Boolean).join(" "),
        value: (row) => row.code, kind: "prose" },
      { label: "From", text: (row) => row.server ?? "the proxy", value: (row) => row.server,
        kind: "code" },
      { label: "Last minute", figure: true, text: (row) => count(row.recent),
        value: (row) => row.recent },
      { label: "All", figure: true, text: (row) => compact(row.count), value: (row) => row.count },
      { label: "Last", figure: true, minor: true, text: (row) => clock(row.last_ms),
        value: (row) => row.last_ms },
    ],
  });
}

/** @returns {Table<ProxyEvent>} */
function eventTable() {
  return new Table({
    title: "Events, last 15 minutes", empty: "No events.", step: 20,
    key: (row) => `${row.time_ms} ${row.event} ${row.server} ${row.hostgroup} ${row.cause}`,
    columns: [
      { label: "Time", text: (row) => clock(row.time_ms), value: (row) => row.time_ms, kind: "time" },
      { label: "Event", text: eventWord, value: eventWord,
        draw: (cell, row) => cell.replaceChildren(badge(eventLevel(row), eventWord(row))) },
      { label: "Server", text: (row) => row.server ?? "–", value: (row) => row.server, kind: "code" },
      { label: "Hostgroup", figure: true, minor: true,
        text: (row) => (row.hostgroup === null ? "–" : String(row.hostgroup)),
        value: (row) => row.hostgroup },
      { label: "Cause", text: (row) => row.cause || "–", kind: "prose" },
    ],
  });
}
