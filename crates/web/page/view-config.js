/** View "config": what changed before it broke? */

import { h, setAttribute, setText } from "./dom.js";
import { ask } from "./confirm.js";
import { ago, clock, count, day } from "./format.js";
import { mayAct } from "./login.js";
import { badge, shape } from "./states.js";
import { Table } from "./table.js";

/** @returns {import("./app.js").View} */
export function configView() {
  let time = 0;
  const now = () => time;
  const note = h("p", { class: "hint" });
  const check = h("ul", { class: "checks" });
  const modules = moduleTable(now);
  const diff = diffTable();
  const versions = versionTable(now);
  const pause = h("button", { type: "button", hidden: !mayAct(), onclick: askPause });
  /** @param {ConfigView} data */
  const drawCheck = (data) => {
    const text = JSON.stringify(data.check);
    if (check.dataset.text === text) return;
    check.dataset.text = text;
    const lines = data.check.map((one) =>
      h("li", {}, badge(one.level === "error" ? "bad" : "warn", one.level), " ", one.message));
    const fine = h("li", {}, badge("ok", "no problems"));
    check.replaceChildren(...(lines.length > 0 ? lines : [fine]));
  };
  return {
    element: h("div", { class: "view config" }, h("h2", { class: "unseen" }, "Configuration"),
      h("section", { class: "panel check" },
        h("header", {}, h("h3", {}, "Check"), note, pause), check),
      h("div", { class: "pair" }, modules.element, versions.element), diff.element),
    update(state) {
      const data = state.views.config;
      if (!data || "error" in data) return;
      time = state.time_ms;
      setText(note, `${data.read_only ? "read only, " : ""}read at ${clock(data.read_at_ms)}`);
      setText(pause, state.head.accepts ? "Pause the proxy" : "Resume the proxy");
      setAttribute(pause, "data-accepts", String(state.head.accepts));
      drawCheck(data);
      modules.update(data.modules);
      versions.update(data.versions);
      diff.update(data.diff, data.diff_left_out);
    },
  };
}

/** @param {Event} event */
function askPause(event) {
  const button = /** @type {HTMLElement} */ (event.currentTarget);
  if (button.dataset.accepts === "true") {
    ask({ title: "Pause the proxy", statement: "PROXYSQL PAUSE", body: { action: "pause" },
      text: "The listeners close. Clients that are connected stay." });
  } else {
    ask({ title: "Resume the proxy", statement: "PROXYSQL RESUME", body: { action: "resume" },
      text: "The listeners open again." });
  }
}

/**
 * @param {() => number} now
 * @returns {Table<Module>}
 */
function moduleTable(now) {
  return new Table({
    title: "Modules", empty: "No modules.", key: (row) => row.module,
    level: (row) => (row.not_loaded + row.not_saved > 0 ? "warn" : ""),
    columns: [
      { label: "Module", text: (row) => row.module, value: (row) => row.module },
      { label: "Version", figure: true, text: (row) => (row.version === null ? "–" : String(row.version)),
        value: (row) => row.version },
      { label: "Loaded", figure: true, value: (row) => row.applied_ms,
        text: (row) => ago(row.applied_ms, now()) },
      { label: "By", text: (row) => row.by || "–", value: (row) => row.by },
      { label: "Not loaded", figure: true, value: (row) => row.not_loaded, kind: "acts",
        text: (row) => count(row.not_loaded), title: "Rows that differ between memory and runtime",
        draw: (cell, row) => drawLoad(cell, row) },
      { label: "Not saved", figure: true, text: (row) => count(row.not_saved),
        value: (row) => row.not_saved, title: "Rows that differ between memory and disk" },
    ],
  });
}

/**
 * @param {HTMLElement} cell
 * @param {Module} row
 */
function drawLoad(cell, row) {
  cell.replaceChildren(count(row.not_loaded));
  if (!mayAct() || row.not_loaded === 0) return;
  const statement = `LOAD ${row.module} TO RUNTIME`;
  cell.append(h("button", { type: "button", class: "quiet", "aria-label": `Load ${row.module}`,
    onclick: () => ask({ title: "Load a module", statement,
      body: { action: "load", module: row.module },
      text: "The rows in memory become what runs. See the differences first." }) }, "Load"));
}

/**
 * @param {() => number} now
 * @returns {Table<Version>}
 */
function versionTable(now) {
  return new Table({
    title: "Versions", empty: "No versions yet.", step: 20,
    key: (row) => `${row.module} ${row.version}`,
    columns: [
      { label: "Module", text: (row) => row.module, value: (row) => row.module },
      { label: "Version", figure: true, text: (row) => String(row.version),
        value: (row) => row.version },
      { label: "Loaded", figure: true, text: (row) => day(row.applied_ms),
        value: (row) => row.applied_ms },
      { label: "", minor: true, figure: true, text: (row) => ago(row.applied_ms, now()) },
      { label: "By", text: (row) => row.by || "–", value: (row) => row.by },
      { label: "State", text: (row) => (row.runs ? "runs" : "before"), kind: "acts",
        memo: (row) => `${row.runs}`, draw: (cell, row) => drawVersion(cell, row) },
    ],
  });
}

/**
 * @param {HTMLElement} cell
 * @param {Version} row
 */
function drawVersion(cell, row) {
  if (row.runs) return cell.replaceChildren(h("span", { class: "badge ok" }, shape("ok"), "runs"));
  cell.replaceChildren(mayAct() ? "" : "before");
  if (!mayAct()) return;
  const statement = `POINTSMAN ROLLBACK ${row.module} TO ${row.version}`;
  cell.append(h("button", { type: "button", class: "quiet",
    "aria-label": `Roll ${row.module} back to version ${row.version}`,
    onclick: () => ask({ title: "Roll a module back", statement,
      body: { action: "rollback", module: row.module, version: row.version },
      text: `Version ${row.version} of ${row.module} becomes what runs, as a new version.` }),
  }, "Roll back"));
}

/** @returns {Table<Difference>} */
function diffTable() {
  return new Table({
    title: "Differences between layers", empty: "Memory, runtime and disk are the same.",
    filter: true, key: (row) => JSON.stringify(row),
    columns: [
      { label: "Table", text: (row) => row.table, value: (row) => row.table, kind: "code" },
      { label: "Row", text: (row) => row.row, value: (row) => row.row, kind: "code prose" },
      { label: "Column", text: (row) => row.column ?? "–", value: (row) => row.column, kind: "code" },
      { label: "Change", text: (row) => row.change, value: (row) => row.change },
      { label: "In memory", text: (row) => row.memory ?? "–", kind: "code prose added" },
      { label: "Elsewhere", text: (row) => row.there ?? "–", kind: "code prose removed" },
      { label: "Where", text: (row) => row.against, value: (row) => row.against },
    ],
  });
}
