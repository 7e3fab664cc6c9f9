/** View "statements": what loads the servers, and why there? */

import { readRows } from "./api.js";
import { h, setText } from "./dom.js";
import { explainFor } from "./explain.js";
import { ago, bytes, compact, count, micros, percent } from "./format.js";
import { shareBar, sparkline } from "./glyphs.js";
import { Table, figures, words } from "./table.js";

/** Values of a curve at most, as the contract says. */
const SPARK_VALUES = 24;

let recent = true;
/** Time of the state, Unix ms. */
let time = 0;

/** @param {Digest} row */
const of = (row) => (recent ? row.recent : row);

/**
 * A time that the proxy knows for all statements since the reset only.
 * @param {Figure} value
 */
const sinceReset = (value) => (recent ? null : value);
const SINCE_RESET = { title: "Of all statements since the reset" };

/** @param {Digest} row */
const average = (row) => (of(row).count ? of(row).time_us / of(row).count : null);

/**
 * @param {URLSearchParams} address
 * @returns {View}
 */
export function statementsView(address) {
  /** @type {StatementsView | undefined} */
  let data;
  const table = digestTable(address);
  const summary = h("span", { class: "total" });
  const choice = h("span", { class: "switch", role: "group", "aria-label": "Time" });
  const draw = () => {
    for (const button of choice.children) {
      const pressed = (button.textContent === "Last minute") === recent;
      button.setAttribute("aria-pressed", String(pressed));
    }
    if (!data) return;
    const { total } = data;
    setText(summary, recent
      ? `${count(total.recent_count)} statements, ${micros(total.recent_time_us)} of server time`
      : `${compact(total.count)} statements, ${micros(total.time_us)} of server time`);
    table.update(data.rows, data.left_out);
  };
  for (const word of ["Last minute", "Since the reset"]) {
    choice.append(h("button", { type: "button", onclick: () => {
      recent = word === "Last minute";
      draw();
    } }, word));
  }
  table.tools.prepend(summary, choice);
  return {
    element: h("div", { class: "view statements" }, h("h2", { class: "unseen" }, "Statements"),
      table.element),
    update(state) {
      time = state.time_ms;
      data = state.views.statements;
      draw();
    },
  };
}

/**
 * @param {URLSearchParams} address
 * @returns {Table<Digest>}
 */
function digestTable(address) {
  return new Table({
    title: "Statements by share of server time", empty: "No statements yet.", sort: "Share",
    remote: (wanted) => readRows("statements", { ...wanted, recent: recent ? "1" : "0" }),
    filter: address.get("filter") ?? "", level: (row) => (row.recent.errors > 0 ? "bad" : ""),
    key: (row) => [row.digest, row.hostgroup, row.user, row.schema, row.client].join(":"),
    detail: {
      label: (row) => `Details of ${row.digest}`, open: address.get("open") ?? "", build: detail,
      onOpen: (key) => history.replaceState(null, "",
        key ? `#statements?open=${encodeURIComponent(key)}` : "#statements"),
    },
    columns: [
      words("Statement", (row) => row.text, "sql", {
        draw: (cell, row) => cell.append(h("code", { title: row.text }, row.text)) }),
      words("Share", (row) => of(row).share, "", { text: (row) => percent(of(row).share),
        memo: (row) => of(row).share.toFixed(4),
        draw: (cell, row) => cell.replaceChildren(shareBar(of(row).share)) }),
      { label: "Last 2 min", text: () => "", memo: (row) => row.spark.join(),
        title: "Server time, each 5 s", draw: (cell, row) => {
          const curve = sparkline(96, 18, SPARK_VALUES);
          curve.update(row.spark);
          cell.replaceChildren(curve.element);
        } },
      words("Hostgroup", (row) => (row.hostgroup < 0 ? "proxy" : row.hostgroup)),
      words("User", (row) => row.user, "minor"),
      figures("Count", (row) => of(row).count, compact),
      figures("Average", average, micros),
      figures("p50", (row) => sinceReset(row.p50_us), micros, "minor", SINCE_RESET),
      figures("p95", (row) => sinceReset(row.p95_us), micros, "", SINCE_RESET),
      figures("p99", (row) => sinceReset(row.p99_us), micros, "minor", SINCE_RESET),
      figures("Errors", (row) => of(row).errors, compact),
    ],
  });
}

/**
 * What a press on a row shows.
 * @param {Digest} first
 */
function detail(first) {
  const facts = h("dl", { class: "facts" });
  const element = h("div", {}, h("pre", { class: "sql", tabindex: "0" }, first.text), facts,
    h("p", { class: "buttons" }, h("button", { type: "button", class: "primary", onclick: () =>
      explainFor({ statement: first.text, user: first.user, schema: first.schema }) },
    "Explain route")));
  /** @param {Digest} row */
  const update = (row) => {
    const rows = [
      ["Digest", row.digest], ["User", row.user], ["Schema", row.schema],
      ["Client", row.client || "any"],
      ["Fastest, slowest", `${micros(row.min_us)}, ${micros(row.max_us)}`],
      ["p50, p95 since the reset", `${micros(row.p50_us)}, ${micros(row.p95_us)}`],
      ["p99, p99.9 since the reset", `${micros(row.p99_us)}, ${micros(row.p999_us)}`],
      ["Rows sent, affected", `${compact(row.rows_sent)}, ${compact(row.rows_affected)}`],
      ["Bytes sent, received", `${bytes(row.bytes_out)}, ${bytes(row.bytes_in)}`],
      ["First, last", `${ago(row.first_ms, time)}, ${ago(row.last_ms, time)}`],
    ];
    rows.forEach(([name = "", value = ""], index) => {
      const box = facts.children[index]
        ?? facts.appendChild(h("div", {}, h("dt", {}, name), h("dd")));
      if (box.lastChild) setText(box.lastChild, value);
    });
  };
  return { element, update };
}
