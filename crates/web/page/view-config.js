/** View "config": what changed before it broke? */

import { ask } from "./confirm.js";
import { h, setText } from "./dom.js";
import { ago, clock, count, day } from "./format.js";
import { badge } from "./glyphs.js";
import { mayAct } from "./login.js";
import { Table, figures, words } from "./table.js";

/** Time of the state, Unix ms. */
let time = 0;

/** @returns {View} */
export function configView() {
  let accepts = true;
  const note = h("span", { class: "note" });
  const check = h("ul", { class: "checks" });
  const modules = moduleTable();
  const diff = diffTable();
  const versions = versionTable();
  const pause = h("button",
    { type: "button", hidden: !mayAct(), onclick: () => askPause(accepts) });
  return {
    element: h("div", { class: "view config" }, h("h2", { class: "unseen" }, "Configuration"),
      h("section", { class: "panel" }, h("header", {}, h("h3", {}, "Check"), note, pause), check),
      h("div", { class: "pair" }, modules.element, versions.element), diff.element),
    update(state) {
      const data = state.views.config;
      if (!data) return;
      time = state.time_ms;
      accepts = state.head.accepts;
      setText(note, `${data.read_only ? "read only, " : ""}read at ${clock(data.read_at_ms)}`);
      setText(pause, accepts ? "Pause the proxy" : "Resume the proxy");
      drawCheck(check, data.check);
      modules.update(data.modules);
      versions.update(data.versions);
      diff.update(data.diff, data.diff_left_out);
    },
  };
}

/**
 * @param {HTMLElement} list
 * @param {ConfigView["check"]} problems
 */
function drawCheck(list, problems) {
  const memo = JSON.stringify(problems);
  if (list.dataset.memo === memo) return;
  list.dataset.memo = memo;
  const lines = problems.map(({ level, message }) =>
    h("li", {}, badge(level === "error" ? "bad" : "warn", level), message));
  list.replaceChildren(...(lines.length > 0 ? lines : [h("li", {}, badge("ok", "no problems"))]));
}

/** @param {boolean} accepts */
function askPause(accepts) {
  ask(accepts
    ? { title: "Pause the proxy", statement: "PROXYSQL PAUSE", body: { action: "pause" },
      text: "The listeners close. Clients that are connected stay." }
    : { title: "Resume the proxy", statement: "PROXYSQL RESUME", body: { action: "resume" },
      text: "The listeners open again." });
}

/** @returns {Table<Module>} */
function moduleTable() {
  return new Table({
    title: "Modules", empty: "No modules.", key: (row) => row.module,
    level: (row) => (row.not_loaded + row.not_saved > 0 ? "warn" : ""),
    columns: [
      words("Module", (row) => row.module),
      figures("Version", (row) => row.version),
      figures("Loaded", (row) => row.applied_ms, (value) => ago(value, time)),
      words("By", (row) => row.by),
      figures("Not loaded", (row) => row.not_loaded, count, "acts",
        { title: "Rows that differ between memory and runtime", draw: drawLoad }),
      figures("Not saved", (row) => row.not_saved, count, "",
        { title: "Rows that differ between memory and disk" }),
    ],
  });
}

/**
 * @param {HTMLElement} cell
 * @param {Module} row
 */
function drawLoad(cell, { module, not_loaded: rows }) {
  cell.replaceChildren(count(rows));
  if (!mayAct() || rows === 0) return;
  cell.prepend(h("button", { type: "button", class: "quiet", "aria-label": `Load ${module}`,
    onclick: () => ask({ title: "Load a module", statement: `LOAD ${module} TO RUNTIME`,
      body: { action: "load", module },
      text: "The rows in memory become what runs. The table of differences shows them." }),
  }, "Load"));
}

/** @returns {Table<Version>} */
function versionTable() {
  return new Table({
    title: "Versions", empty: "No versions yet.", step: 20,
    key: (row) => `${row.module} ${row.version}`,
    columns: [
      words("Module", (row) => row.module),
      figures("Version", (row) => row.version),
      figures("Loaded", (row) => row.applied_ms, day),
      figures("Age", (row) => row.applied_ms, (value) => ago(value, time), "minor"),
      words("By", (row) => row.by),
      words("State", (row) => (row.runs ? "runs" : "before"), "", { draw: drawVersion }),
    ],
  });
}

/**
 * @param {HTMLElement} cell
 * @param {Version} row
 */
function drawVersion(cell, { module, version, runs }) {
  if (runs || !mayAct()) {
    cell.replaceChildren(runs ? badge("ok", "runs") : "before");
    return;
  }
  cell.replaceChildren(h("button", { type: "button", class: "quiet",
    "aria-label": `Roll back ${module} to version ${version}`,
    onclick: () => ask({ title: "Roll a module back", body: { action: "rollback", module, version },
      statement: `POINTSMAN ROLLBACK ${module} TO ${version}`,
      text: `Version ${version} of ${module} becomes what runs, as a new version.` }),
  }, "Roll back"));
}

/** @returns {Table<Difference>} */
function diffTable() {
  return new Table({
    title: "Differences between layers", empty: "Memory, runtime and disk are the same.",
    filter: "", key: (row) => JSON.stringify(row),
    columns: [
      words("Table", (row) => row.table, "code"),
      words("Row", (row) => row.row, "code prose"),
      words("Column", (row) => row.column, "code"),
      words("Change", (row) => row.change),
      words("In memory", (row) => row.memory, "code prose added"),
      words("Elsewhere", (row) => row.there, "code prose removed"),
      words("Where", (row) => row.against),
    ],
  });
}
