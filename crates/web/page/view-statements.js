/** View "statements": what loads the servers, and why there? */

import { h, setText } from "./dom.js";
import { explainFor } from "./explain.js";
import { ago, bytes, compact, count, micros, percent } from "./format.js";
import { shareBar } from "./meter.js";
import { sparkline } from "./spark.js";
import { Table } from "./table.js";

/** Values of a curve at most, as the contract says. */
const SPARK_VALUES = 24;

/** @param {Digest} row */
const keyOf = (row) => `${row.digest}:${row.hostgroup}:${row.user}:${row.schema}:${row.client}`;

/**
 * @param {URLSearchParams} address
 * @returns {import("./app.js").View}
 */
export function statementsView(address) {
  let recent = true;
  let time = 0;
  /** @type {StatementsView | null} */
  let data = null;
  const isRecent = () => recent;
  const table = digestTable(isRecent, () => time, address);
  const summary = h("span", { class: "summary" });
  const span = h("span", { class: "switch", role: "group", "aria-label": "Time" });
  const draw = () => {
    for (const button of span.children) {
      button.setAttribute("aria-pressed", String((button.id === "recent") === recent));
    }
    if (!data) return;
    const { total } = data;
    setText(summary, recent
      ? `${count(total.recent_count)} statements, ${micros(total.recent_time_us)} of server time`
      : `${count(total.count)} statements, ${micros(total.time_us)} of server time`);
    table.update(data.rows, data.left_out);
  };
  for (const [id, word] of [["recent", "Last minute"], ["all", "Since the reset"]]) {
    span.append(h("button", { type: "button", id, onclick: () => {
      recent = id === "recent";
      draw();
    } }, word));
  }
  table.tools.prepend(summary, span);
  return {
    element: h("div", { class: "view statements" }, h("h2", { class: "unseen" }, "Statements"),
      table.element),
    update(state) {
      const statements = state.views.statements;
      if (!statements || "error" in statements) return;
      time = state.time_ms;
      data = statements;
      draw();
    },
  };
}

/**
 * @param {() => boolean} recent whether figures are those of the last window.
 * @param {() => number} now Unix ms
 * @param {URLSearchParams} address
 * @returns {Table<Digest>}
 */
function digestTable(recent, now, address) {
  /** @param {Digest} row */
  const of = (row) => (recent() ? row.recent : row);
  return new Table({
    title: "Statements by share of server time", empty: "No statements yet.", sort: "Share",
    filter: true, filtered: address.get("filter") ?? "", key: keyOf,
    level: (row) => (row.recent.errors > 0 ? "bad" : ""),
    detail: {
      label: (row) => `Details of ${row.digest}`, open: address.get("open") ?? "",
      build: (row) => detail(row, now),
      onOpen: (key) => history.replaceState(null, "",
        key ? `#statements?open=${encodeURIComponent(key)}` : "#statements"),
    },
    columns: [
      { label: "Statement", text: (row) => row.text, value: (row) => row.text, kind: "sql",
        draw: (cell, row) => cell.append(h("code", { title: row.text }, row.text)) },
      { label: "Share", value: (row) => of(row).share, text: (row) => percent(of(row).share),
        memo: (row) => of(row).share.toFixed(4), kind: "shared",
        draw: (cell, row) => cell.replaceChildren(shareBar(of(row).share)) },
      { label: "Last 2 min", text: () => "", memo: (row) => row.spark.join(), kind: "sparked",
        title: "Server time, each 5 s",
        draw: (cell, row) => {
          const curve = sparkline(96, 20);
          curve.update(row.spark, SPARK_VALUES);
          cell.replaceChildren(curve.element);
        } },
      { label: "Hostgroup", figure: true, value: (row) => row.hostgroup,
        text: (row) => (row.hostgroup < 0 ? "proxy" : String(row.hostgroup)) },
      { label: "User", minor: true, text: (row) => row.user, value: (row) => row.user },
      { label: "Count", figure: true, text: (row) => compact(of(row).count),
        value: (row) => of(row).count },
      { label: "Average", figure: true, value: (row) => of(row).time_us / Math.max(of(row).count, 1),
        text: (row) => micros(of(row).count ? of(row).time_us / of(row).count : null) },
      { label: "p50", figure: true, minor: true, text: (row) => micros(row.p50_us),
        value: (row) => row.p50_us },
      { label: "p95", figure: true, text: (row) => micros(row.p95_us), value: (row) => row.p95_us },
      { label: "p99", figure: true, minor: true, text: (row) => micros(row.p99_us),
        value: (row) => row.p99_us },
      { label: "Errors", figure: true, text: (row) => compact(of(row).errors),
        value: (row) => of(row).errors },
    ],
  });
}

/**
 * What a press on a row shows.
 * @param {Digest} first
 * @param {() => number} now
 */
function detail(first, now) {
  const facts = h("dl", { class: "facts" });
  const element = h("div", { class: "opened" },
    h("pre", { class: "sql", tabindex: "0" }, first.text), facts,
    h("p", { class: "buttons" },
      h("button", { type: "button", class: "primary", onclick: () =>
        explainFor({ statement: first.text, user: first.user, schema: first.schema }) },
      "Explain route")));
  /** @param {Digest} row */
  const update = (row) => {
    const rows = [
      ["Digest", row.digest], ["User", row.user || "–"], ["Schema", row.schema || "–"],
      ["Client", row.client || "any"],
      ["Fastest, slowest", `${micros(row.min_us)}, ${micros(row.max_us)}`],
      ["p50, p95", `${micros(row.p50_us)}, ${micros(row.p95_us)}`],
      ["p99, p99.9", `${micros(row.p99_us)}, ${micros(row.p999_us)}`],
      ["Rows sent, affected", `${compact(row.rows_sent)}, ${compact(row.rows_affected)}`],
      ["Bytes sent, received", `${bytes(row.bytes_out)}, ${bytes(row.bytes_in)}`],
      ["First, last", `${ago(row.first_ms, now())}, ${ago(row.last_ms, now())}`],
    ];
    const text = rows.map((fact) => fact.join()).join();
    if (facts.dataset.text === text) return;
    facts.dataset.text = text;
    facts.replaceChildren(...rows.map(([name = "", value = ""]) =>
      h("div", {}, h("dt", {}, name), h("dd", {}, value))));
  };
  return { element, update };
}
