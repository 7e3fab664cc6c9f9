/** The map: from listeners over users and rules to hostgroups and servers. */

import { arrange, freshId, h, s, setText } from "./dom.js";
import { compact, count } from "./format.js";
import { serverState, shape } from "./states.js";
import { Table } from "./table.js";

/** Nodes that a column shows at most: the others are counted. */
const SHOWN = 12;

/**
 * @typedef {Object} MapNode
 * @property {string} id
 * @property {string} name
 * @property {string} more
 * @property {string} reason Why sessions do not get it, or "".
 * @property {import("./states.js").Level | ""} level
 * @property {string} word of the state, or "".
 */

export class RouteMap {
  constructor() {
    this.heading = freshId();
    this.picked = "";
    /** @type {Edge[]} */
    this.edges = [];
    /** @type {Map<string, HTMLElement>} */
    this.boxes = new Map();
    /** @type {Map<string, MapNode>} */
    this.nodes = new Map();
    this.memo = "";
    this.lines = s("svg", { class: "edges", "aria-hidden": "true" });
    this.columns = h("div", { class: "columns" });
    this.hint = h("p", { class: "hint", role: "status" });
    this.table = new Table({
      title: "Ways", empty: "No ways.", filter: true,
      key: (/** @type {Edge} */ edge) => `${edge.from} ${edge.to} ${edge.why}`,
      columns: [
        { label: "From", text: (edge) => this.nameOf(edge.from), value: (edge) => this.nameOf(edge.from) },
        { label: "To", text: (edge) => this.nameOf(edge.to), value: (edge) => this.nameOf(edge.to) },
        { label: "Why", text: (edge) => edge.why, value: (edge) => edge.why },
      ],
    });
    this.table.element.hidden = true;
    this.toggle = h("button", { type: "button", class: "quiet", "aria-pressed": "false",
      "aria-label": "Show as table: map", onclick: () => this.flip() }, "Show as table");
    this.picture = h("div", { class: "picture" }, this.lines, this.columns);
    this.element = h("section", { class: "panel map", "aria-labelledby": this.heading },
      h("header", {}, h("h3", { id: this.heading }, "Map"), this.hint, this.toggle),
      this.picture, this.table.element);
    this.observer = new ResizeObserver(() => this.drawEdges());
    this.observer.observe(this.picture);
  }

  flip() {
    const tabular = this.table.element.hidden;
    this.table.element.hidden = !tabular;
    this.picture.hidden = tabular;
    this.toggle.setAttribute("aria-pressed", String(tabular));
    setText(this.toggle, tabular ? "Show as picture" : "Show as table");
    this.table.update(this.edges);
    this.drawEdges();
  }

  /** @param {string} id */
  nameOf(id) {
    return this.nodes.get(id)?.name ?? id;
  }

  /** @param {ServersView} data */
  update(data) {
    const columns = columnsOf(data);
    this.nodes = new Map(columns.flatMap((column) => column.nodes).map((node) => [node.id, node]));
    this.edges = data.edges;
    if (!this.table.element.hidden) this.table.update(this.edges);
    const memo = JSON.stringify([columns, data.edges]);
    if (memo === this.memo) return;
    this.memo = memo;
    /** @type {Map<string, HTMLElement>} */
    const boxes = new Map();
    const shown = columns.map((column) => {
      const nodes = column.nodes.slice(0, SHOWN);
      for (const node of nodes) boxes.set(node.id, this.box(node));
      const left = column.nodes.length - nodes.length + column.leftOut;
      return h("div", { class: "column" }, h("h4", {}, column.title),
        ...nodes.map((node) => boxes.get(node.id)),
        left > 0 ? h("p", { class: "rest" }, `and ${count(left)} more`) : null);
    });
    this.boxes = boxes;
    arrange(this.columns, shown);
    this.drawEdges();
  }

  /**
   * The button of a node. The one that was there is filled anew, so that the focus stays.
   * @param {MapNode} node
   */
  box(node) {
    const box = this.boxes.get(node.id)
      ?? h("button", { type: "button", class: "node", onclick: () => this.pick(node.id) });
    box.dataset.level = node.level;
    box.setAttribute("aria-pressed", String(this.picked === node.id));
    box.replaceChildren(
      h("span", { class: "name" }, node.level ? shape(node.level) : "", node.name,
        node.word ? h("em", {}, node.word) : ""),
      h("span", { class: "more" }, node.more),
      node.reason ? h("span", { class: "reason" }, node.reason) : "");
    return box;
  }

  /** @param {string} id */
  pick(id) {
    this.picked = this.picked === id ? "" : id;
    this.drawEdges();
  }

  /** Nodes from which and to which the picked node has a way. */
  reached() {
    const reached = new Set([this.picked]);
    for (const [from, to] of /** @type {const} */ ([["from", "to"], ["to", "from"]])) {
      const open = [this.picked];
      for (let at = open.pop(); at !== undefined; at = open.pop()) {
        for (const edge of this.edges) {
          if (edge[from] !== at || reached.has(edge[to])) continue;
          reached.add(edge[to]);
          open.push(edge[to]);
        }
      }
    }
    return reached;
  }

  drawEdges() {
    const origin = this.picture.getBoundingClientRect();
    if (origin.width === 0) return;
    const reached = this.reached();
    for (const [id, box] of this.boxes) {
      box.setAttribute("aria-pressed", String(this.picked === id));
      box.classList.toggle("dim", this.picked !== "" && !reached.has(id));
    }
    const picked = this.nodes.get(this.picked);
    setText(this.hint, picked ? `Ways through ${picked.name}` : "Press a node to see its ways");
    const paths = this.edges.flatMap((edge) => {
      const from = this.boxes.get(edge.from);
      const to = this.boxes.get(edge.to);
      if (!from || !to) return [];
      const lit = this.picked !== "" && reached.has(edge.from) && reached.has(edge.to);
      const faint = this.picked !== "" && !lit;
      const bad = this.nodes.get(edge.to)?.level === "bad" || this.nodes.get(edge.to)?.level === "off";
      const kind = ["edge", lit && "lit", faint && "dim", bad && "broken"].filter(Boolean).join(" ");
      return [s("path", { class: kind, d: curve(from, to, origin) }, s("title", {}, edge.why))];
    });
    this.lines.setAttribute("viewBox", `0 0 ${origin.width} ${origin.height}`);
    this.lines.replaceChildren(...paths);
  }

  destroy() {
    this.observer.disconnect();
  }
}

/**
 * Path from the right of `from` to the left of `to`; within a column, an arc at the right.
 * @param {HTMLElement} from
 * @param {HTMLElement} to
 * @param {DOMRect} origin
 */
function curve(from, to, origin) {
  const a = from.getBoundingClientRect();
  const b = to.getBoundingClientRect();
  const x = a.right - origin.left;
  const y = a.top + a.height / 2 - origin.top;
  const endY = b.top + b.height / 2 - origin.top;
  if (Math.abs(a.left - b.left) < 2) {
    return `M${x} ${y + 6}C${x + 26} ${y + 6} ${x + 26} ${endY - 6} ${x} ${endY - 6}`;
  }
  const endX = b.left - origin.left;
  const middle = (x + endX) / 2;
  return `M${x} ${y}C${middle} ${y} ${middle} ${endY} ${endX} ${endY}`;
}

/** @param {ServersView} data */
function columnsOf(data) {
  const plain = { reason: "", word: "", level: /** @type {""} */ ("") };
  /** @type {MapNode[]} */
  const listeners = data.listeners.map((one) => ({ ...plain, id: one.id, name: one.address,
    more: [one.protocol, one.role === "auto" ? "" : one.role].filter(Boolean).join(", ") }));
  /** @type {MapNode[]} */
  const users = data.users.map((one) => ({ ...plain, id: one.id, name: one.user,
    more: `${count(one.clients)} of ${count(one.clients_max)} clients` }));
  /** @type {MapNode[]} */
  const rules = data.rules.map((one) => ({ ...plain, id: one.id, name: `rule ${one.rule_id}`,
    more: [one.match || one.comment, `${compact(one.hits)} hits`].filter(Boolean).join(" · ") }));
  /** @type {MapNode[]} */
  const hostgroups = data.hostgroups.map((one) => ({ ...plain, id: one.id,
    name: `hostgroup ${one.hostgroup}`, more: [one.role, one.comment].filter(Boolean).join(", ") }));
  /** @type {MapNode[]} */
  const servers = [...data.servers].sort(byNeed).map((one) => {
    const state = serverState(one.status);
    return { id: one.id, name: one.name || one.server, level: one.usable ? "ok" : levelOut(state.level),
      word: one.usable ? "" : state.word, reason: one.reason ?? "",
      more: `${compact(one.qps)} q/s, ${compact(one.used)} of ${compact(one.limit)}` };
  });
  const left = data.left_out;
  const some = Math.ceil(SHOWN / 2);
  const shownUsers = users.length + rules.length > SHOWN ? users.slice(0, some) : users;
  const cut = users.length - shownUsers.length;
  return [
    { title: "Listeners", nodes: listeners, leftOut: 0 },
    { title: "Users and rules", nodes: [...shownUsers, ...rules], leftOut: left.users + left.rules + cut },
    { title: "Hostgroups", nodes: hostgroups, leftOut: 0 },
    { title: "Servers", nodes: servers, leftOut: 0 },
  ];
}

/** @param {import("./states.js").Level} level */
const levelOut = (level) => (level === "ok" ? "bad" : level);

/**
 * Servers that sessions do not get first, then the busiest.
 * @param {ServerRow} a
 * @param {ServerRow} b
 */
const byNeed = (a, b) => Number(a.usable) - Number(b.usable) || b.qps - a.qps;
