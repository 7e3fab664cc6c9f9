/** Tables: sorted by their headings, filtered, bounded, and changed only where cells differ. */

import { arrange, freshId, h, setAttribute, setText } from "./dom.js";
import { count } from "./format.js";

/** Rows that a table shows at first, and adds with each press of "show more". */
const STEP = 50;

/**
 * @template R
 * @typedef {Object} Column
 * @property {string} label
 * @property {(row: R) => string} text What the cell says; also what a filter looks at.
 * @property {(row: R) => number | string | null} [value] To sort by; without it there is no sorting.
 * @property {boolean} [figure] Aligned to the right.
 * @property {boolean} [minor] Left out on narrow screens.
 * @property {string} [kind] Class of the cells.
 * @property {string} [title] Explanation of the heading.
 * @property {(cell: HTMLElement, row: R) => void} [draw] Fills the cell in place of `text`.
 * @property {(row: R) => string} [memo] `draw` is called if this differs; by default `text`.
 */

/**
 * @template R
 * @typedef {Object} Options
 * @property {string} title
 * @property {Column<R>[]} columns
 * @property {(row: R) => string} key
 * @property {string} empty What stands there if there are no rows.
 * @property {string} [sort] Label of the column that rows are sorted by at first, largest first.
 * @property {boolean} [filter] Whether there is a field to filter rows.
 * @property {string} [filtered] Text that stands in that field at first.
 * @property {number} [step]
 * @property {(row: R) => Level | ""} [level] Colour of the mark at the left of a row.
 * @property {{ label: (row: R) => string, open: string, build: (row: R) => Detail<R>,
 *   onOpen: (key: string) => void }} [detail]
 */

/** @template R @typedef {{ element: HTMLElement, update: (row: R) => void }} Detail */
/** @typedef {import("./states.js").Level} Level */

/**
 * @template R
 * @typedef {{ line: HTMLTableRowElement, cells: HTMLElement[], memos: string[],
 *   detail: Detail<R> | null, below: HTMLTableRowElement | null }} Shown
 */

/** @template R */
export class Table {
  /** @param {Options<R>} options */
  constructor(options) {
    this.options = options;
    /** @type {R[]} */
    this.rows = [];
    this.leftOut = 0;
    this.step = options.step ?? STEP;
    this.limit = this.step;
    this.sort = options.columns.findIndex((column) => column.label === options.sort);
    this.descending = true;
    this.open = options.detail?.open ?? "";
    /** @type {Map<string, Shown<R>>} */
    this.shown = new Map();
    this.build();
  }

  build() {
    const { title, columns, filter, filtered } = this.options;
    const heading = freshId();
    this.total = h("span", { class: "total" });
    this.search = h("input", {
      type: "search", placeholder: "Filter", "aria-label": `Filter: ${title}`, spellcheck: "false",
      value: filtered ?? "", oninput: () => this.render(),
    });
    this.more = h("button", { type: "button", class: "more", onclick: () => {
      this.limit += this.step;
      this.render();
    } });
    this.heads = columns.map((column, index) => this.heading(column, index));
    this.body = h("tbody");
    this.empty = h("p", { class: "empty" }, this.options.empty);
    this.table = h("table", { "aria-labelledby": heading },
      h("thead", {}, h("tr", {}, ...this.heads)), this.body);
    this.tools = h("span", { class: "tools" }, filter ? this.search : null);
    this.scroll = h("div", { class: "scroll", tabindex: "0", role: "region",
      "aria-labelledby": heading }, this.table);
    this.element = h("section", { class: "panel table" },
      h("header", {}, h("h3", { id: heading }, title), this.total, this.tools),
      this.scroll, this.empty, this.more);
  }

  /**
   * @param {Column<R>} column
   * @param {number} index
   */
  heading(column, index) {
    const kind = classes(column);
    if (!column.value) return h("th", { scope: "col", class: kind, title: column.title }, column.label);
    return h("th", { scope: "col", class: kind, title: column.title },
      h("button", { type: "button", onclick: () => {
        this.descending = this.sort === index ? !this.descending : true;
        this.sort = index;
        this.render();
      } }, column.label));
  }

  /**
   * @param {R[]} rows
   * @param {number} [leftOut] rows that the proxy has and did not send.
   */
  update(rows, leftOut = 0) {
    this.rows = rows;
    this.leftOut = leftOut;
    this.render();
  }

  /** Rows that match the filter, in their order. */
  chosen() {
    const { columns } = this.options;
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let rows = this.rows;
    if (words.length > 0) {
      rows = rows.filter((row) => {
        const text = columns.map((column) => column.text(row)).join(" ").toLowerCase();
        return words.every((word) => text.includes(word));
      });
    }
    const value = columns[this.sort]?.value;
    if (!value) return rows;
    const sign = this.descending ? -1 : 1;
    return [...rows].sort((a, b) => sign * compare(value(a), value(b)));
  }

  render() {
    this.heads.forEach((head, index) => {
      const direction = this.descending ? "descending" : "ascending";
      setAttribute(head, "aria-sort", index === this.sort ? direction : null);
    });
    const rows = this.chosen();
    const visible = rows.slice(0, this.limit);
    /** @type {Map<string, Shown<R>>} */
    const shown = new Map();
    for (const row of visible) {
      const key = this.options.key(row);
      const entry = this.shown.get(key) ?? this.line(key);
      this.draw(entry, key, row);
      shown.set(key, entry);
    }
    this.shown = shown;
    arrange(this.body, [...shown.values()].flatMap((one) => one.below ? [one.line, one.below] : [one.line]));
    this.summarise(rows.length);
  }

  /** @param {number} matching rows that match the filter. */
  summarise(matching) {
    const all = this.rows.length + this.leftOut;
    const few = matching > this.limit || matching < all;
    const shown = Math.min(matching, this.limit);
    setText(this.total, all === 0 ? "" : few ? `${count(shown)} of ${count(all)}` : count(all));
    this.more.hidden = matching <= this.limit;
    setText(this.more, `Show ${count(Math.min(this.step, matching - this.limit))} more`);
    this.empty.hidden = this.rows.length > 0;
    this.scroll.hidden = this.rows.length === 0;
  }

  /**
   * @param {string} key
   * @returns {Shown<R>}
   */
  line(key) {
    const { columns, detail } = this.options;
    const cells = columns.map((column) => h("td", { class: classes(column) }));
    const line = h("tr", {}, ...cells);
    /** @type {Shown<R>} */
    const entry = { line, cells, memos: [], detail: null, below: null };
    if (detail) {
      line.classList.add("opens");
      line.addEventListener("click", (event) => {
        const target = /** @type {Element} */ (event.target);
        const selecting = String(getSelection() ?? "") !== "";
        if (selecting || (target.closest("button, a") && !target.closest(".opener"))) return;
        this.open = this.open === key ? "" : key;
        detail.onOpen(this.open);
        this.render();
      });
    }
    return entry;
  }

  /**
   * @param {Shown<R>} entry
   * @param {string} key
   * @param {R} row
   */
  draw(entry, key, row) {
    const { columns, level } = this.options;
    columns.forEach((column, index) => {
      const text = column.text(row);
      const memo = column.memo ? column.memo(row) : text;
      const cell = entry.cells[index];
      if (!cell || entry.memos[index] === memo) return;
      entry.memos[index] = memo;
      if (column.draw) column.draw(cell, row);
      else setText(cell, text);
    });
    if (level) setAttribute(entry.line, "data-level", level(row));
    if (this.options.detail) this.drawDetail(entry, key === this.open, row);
  }

  /**
   * @param {Shown<R>} entry
   * @param {boolean} open
   * @param {R} row
   */
  drawDetail(entry, open, row) {
    const { detail, columns } = this.options;
    if (!detail) return;
    let opener = entry.line.querySelector(".opener");
    if (!opener) {
      opener = h("button", { type: "button", class: "opener", "aria-label": detail.label(row) });
      entry.cells[0]?.prepend(opener);
    }
    setAttribute(opener, "aria-expanded", String(open));
    if (!open) {
      entry.detail = entry.below = null;
      return;
    }
    if (!entry.detail) {
      entry.detail = detail.build(row);
      entry.below = h("tr", { class: "detail" }, h("td", { colspan: columns.length }, entry.detail.element));
    }
    entry.detail.update(row);
  }
}

/** @param {{ figure?: boolean, minor?: boolean, kind?: string }} column */
function classes(column) {
  return [column.figure && "figure", column.minor && "minor", column.kind].filter(Boolean).join(" ");
}

/**
 * Order of two values; null stands below all others.
 * @param {number | string | null} a
 * @param {number | string | null} b
 */
function compare(a, b) {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}
