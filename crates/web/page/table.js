/** Tables: sorted by their headings, filtered, bounded, and changed only where cells differ. Panels
 * that show the same as a picture and as a table. */

import { arrange, freshId, h, setAttribute, setText } from "./dom.js";
import { NONE, count } from "./format.js";
import { badge, meter } from "./glyphs.js";

/** Rows that a table shows at first, and adds with each press of "show more". */
const STEP = 50;
/** Milliseconds that a filter rests before the proxy is asked. */
const REST_MS = 250;

/**
 * Column of words.
 * @template R
 * @param {string} label
 * @param {(row: R) => string | number | null | undefined} read
 * @param {string} [kind]
 * @param {Partial<Column<R>>} [more]
 * @returns {Column<R>}
 */
export const words = (label, read, kind, more) => ({
  label, kind, value: read, text: (row) => String(read(row) ?? "") || NONE, ...more,
});

/**
 * Column of figures.
 * @template R
 * @param {string} label
 * @param {(row: R) => number | null | undefined} read
 * @param {(value: Figure) => string} [format]
 * @param {string} [kind]
 * @param {Partial<Column<R>>} [more]
 * @returns {Column<R>}
 */
export const figures = (label, read, format = count, kind = "", more) => ({
  label, kind: `num ${kind}`, value: read, text: (row) => format(read(row)), ...more,
});

/**
 * Column of states, as shape and word.
 * @template R
 * @param {string} label
 * @param {(row: R) => Level} level
 * @param {(row: R) => string} word
 * @param {(row: R) => string | number} [value]
 * @returns {Column<R>}
 */
export const states = (label, level, word, value = word) => ({
  label, value, text: word, memo: (row) => level(row) + word(row),
  draw: (cell, row) => cell.replaceChildren(badge(level(row), word(row))),
});

/**
 * Column of connections to a server or hostgroup, with a bar.
 * @template {{ used: number, free: number, limit: number | null }} R
 * @returns {Column<R>}
 */
export const connections = () => ({
  label: "Connections", title: "In use + free, of the limit", value: (row) => row.used,
  text: (row) => `${row.used} ${row.free} ${row.limit}`,
  draw: (cell, row) => cell.replaceChildren(meter(row)),
});

/** @template R */
export class Table {
  /** @param {TableOptions<R>} options */
  constructor(options) {
    this.options = options;
    /** @type {R[]} */
    this.rows = [];
    this.leftOut = 0;
    /**
     * Rows that the proxy has chosen among all that it has.
     * @type {{ rows: R[], matching: number } | null}
     */
    this.found = null;
    this.timer = 0;
    this.asking = false;
    /** Number of the last question: answers to earlier ones are dropped. */
    this.round = 0;
    this.step = options.step ?? STEP;
    this.limit = this.step;
    this.sort = options.columns.findIndex((column) => column.label === options.sort);
    this.descending = true;
    this.open = options.detail?.open ?? "";
    /** @type {Map<string, Shown<R>>} */
    this.shown = new Map();
    const { title, columns, filter, empty } = options;
    const id = freshId();
    this.total = h("span", { class: "total" });
    this.search = h("input", { type: "search", placeholder: "Filter", spellcheck: "false",
      "aria-label": `Filter: ${title}`, value: filter, oninput: () => this.choose(REST_MS) });
    this.more = h("button", { type: "button", class: "more", hidden: true, onclick: () => {
      this.limit += this.step;
      this.choose();
    } });
    this.heads = columns.map((column, index) =>
      h("th", { scope: "col", class: column.kind, title: column.title }, column.value
        ? h("button", { type: "button", onclick: () => this.sortBy(index) }, column.label)
        : column.label));
    this.body = h("tbody");
    this.empty = h("p", { class: "empty", hidden: true }, empty);
    this.tools = h("span", { class: "tools" }, filter !== undefined && this.search);
    this.scroll = h("div",
      { class: "scroll", tabindex: "0", role: "region", "aria-labelledby": id },
      h("table", { "aria-labelledby": id }, h("thead", {}, h("tr", {}, ...this.heads)), this.body));
    this.element = h("section", { class: "panel" },
      h("header", {}, h("h3", { id }, title), this.total, this.tools),
      this.scroll, this.empty, this.more);
  }

  /** @param {number} index of the column */
  sortBy(index) {
    this.descending = this.sort !== index || !this.descending;
    this.sort = index;
    this.choose();
  }

  /**
   * Shows the rows anew. Where the proxy has more rows than it sent, it chooses among all.
   * @param {number} [rest] milliseconds to wait before it is asked
   */
  choose(rest = 0) {
    this.render();
    const { remote, columns, sort } = this.options;
    clearTimeout(this.timer);
    this.asking = false;
    this.round += 1;
    const filter = this.search.value.trim();
    const label = columns[this.sort]?.label ?? "";
    const asSent = !filter && label === (sort ?? "") && this.descending
      && this.limit <= this.rows.length;
    if (!remote || this.leftOut === 0 || asSent) {
      this.found = null;
      this.render();
      return;
    }
    const { round } = this;
    const wanted = { filter, sort: label, order: this.descending ? "desc" : "asc",
      limit: String(this.limit) };
    this.asking = true;
    this.timer = window.setTimeout(async () => {
      // The banner of the stream says that the proxy cannot be reached.
      const found = await remote(wanted).catch(() => null);
      if (round !== this.round) return;
      this.asking = false;
      this.found = found;
      this.render();
    }, rest);
  }

  /**
   * @param {R[]} rows
   * @param {number} [leftOut] rows that the proxy has and did not send.
   */
  update(rows, leftOut = 0) {
    this.rows = rows;
    this.leftOut = leftOut;
    // A question that is open is answered from rows as new as these.
    if (this.asking) this.render();
    else this.choose();
  }

  /** Rows that match the filter, in their order. */
  chosen() {
    if (this.found) return this.found.rows;
    const { columns } = this.options;
    const sought = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = sought.length === 0 ? this.rows : this.rows.filter((row) => {
      const text = columns.map((column) => column.text(row)).join(" ").toLowerCase();
      return sought.every((word) => text.includes(word));
    });
    const value = columns[this.sort]?.value;
    if (!value) return rows;
    const sign = this.descending ? -1 : 1;
    return [...rows].sort((a, b) => sign * compare(value(a) ?? null, value(b) ?? null));
  }

  render() {
    const direction = this.descending ? "descending" : "ascending";
    this.heads.forEach((head, index) =>
      setAttribute(head, "aria-sort", index === this.sort ? direction : null));
    const rows = this.chosen();
    /** @type {Map<string, Shown<R>>} */
    const shown = new Map();
    for (const row of rows.slice(0, this.limit)) {
      const key = this.options.key(row);
      const entry = this.shown.get(key) ?? this.line(key);
      this.draw(entry, key, row);
      shown.set(key, entry);
    }
    this.shown = shown;
    arrange(this.body, [...shown.values()].flatMap(({ line, below }) =>
      (below ? [line, below] : [line])));
    this.summarise(rows.length);
  }

  /** @param {number} matching rows that match the filter. */
  summarise(matching) {
    const all = this.rows.length + this.leftOut;
    const visible = Math.min(matching, this.limit);
    const total = all > 0 ? count(all) : "";
    setText(this.total, visible < all ? `${count(visible)} of ${total}` : total);
    // Without a filter, what was not sent can be shown as well.
    const open = this.options.remote && !this.search.value.trim() ? all : matching;
    const most = Math.max(this.found?.matching ?? open, matching);
    this.more.hidden = most <= this.limit;
    setText(this.more, `Show ${count(Math.min(this.step, most - this.limit))} more`);
    this.empty.hidden = this.rows.length > 0;
    this.scroll.hidden = this.rows.length === 0;
  }

  /**
   * @param {string} key
   * @returns {Shown<R>}
   */
  line(key) {
    const { columns, detail } = this.options;
    const cells = columns.map((column) => h("td", { class: column.kind }));
    const line = h("tr", { class: detail && "opens" }, ...cells);
    if (detail) {
      line.addEventListener("click", ({ target }) => {
        const pressed = /** @type {Element} */ (target).closest("button, a");
        if (String(getSelection() ?? "") || (pressed && !pressed.matches(".opener"))) return;
        this.open = this.open === key ? "" : key;
        detail.onOpen(this.open);
        this.render();
      });
    }
    return { line, cells, memos: [], detail: null, below: null };
  }

  /**
   * @param {Shown<R>} entry
   * @param {string} key
   * @param {R} row
   */
  draw(entry, key, row) {
    const { columns, level } = this.options;
    columns.forEach((column, index) => {
      const memo = (column.memo ?? column.text)(row);
      const cell = entry.cells[index];
      if (!cell || entry.memos[index] === memo) return;
      entry.memos[index] = memo;
      if (column.draw) column.draw(cell, row);
      else setText(cell, memo);
    });
    if (level) setAttribute(entry.line, "data-level", level(row));
    this.drawDetail(entry, key === this.open, row);
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
      entry.below = h("tr", { class: "detail" },
        h("td", { colspan: columns.length }, entry.detail.element));
    }
    entry.detail.update(row);
  }
}

/**
 * Order of two values; null stands below all others.
 * @param {number | string | null} a
 * @param {number | string | null} b
 */
function compare(a, b) {
  if (a === b) return 0;
  if (a === null || b === null) return a === null ? -1 : 1;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return String(a).localeCompare(String(b), "en", { numeric: true });
}

/**
 * @param {string} title
 * @param {string} kind class of the panel
 * @param {HTMLElement} picture
 * @param {HTMLElement} table
 * @param {() => void} onFlip draws the one that is shown now.
 * @param {...HTMLElement} notes of the header
 */
export function twofold(title, kind, picture, table, onFlip, ...notes) {
  const id = freshId();
  table.hidden = true;
  const button = h("button", { type: "button", class: "quiet", "aria-pressed": "false",
    "aria-label": `Show as table: ${title}`, onclick: () => {
      table.hidden = !table.hidden;
      picture.hidden = !picture.hidden;
      button.setAttribute("aria-pressed", String(picture.hidden));
      onFlip();
    } }, "Show as table");
  return h("section", { class: `panel ${kind}`, "aria-labelledby": id },
    h("header", {}, h("h3", { id }, title), ...notes, button), picture, table);
}
