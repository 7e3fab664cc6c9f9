/** The map: from listeners over users and rules to hostgroups and servers. */

import { arrange, h, s, setAttribute, setText } from "./dom.js";
import { compact, count } from "./format.js";
import { serverState, shape } from "./glyphs.js";
import { Table, twofold, words } from "./table.js";

/** Nodes that a column shows at most; the others are counted. */
const SHOWN = 12;
/**
 * Ends of an edge, in both directions.
 * @type {["from" | "to", "from" | "to"][]}
 */
const BOTH_WAYS = [["from", "to"], ["to", "from"]];

export class RouteMap {
  constructor() {
    this.picked = "";
    this.memo = "";
    this.leftOut = 0;
    /** @type {Edge[]} */
    this.edges = [];
    /** @type {Map<string, HTMLElement>} */
    this.boxes = new Map();
    /** @type {Map<string, MapNode>} */
    this.nodes = new Map();
    this.lines = s("svg", { class: "edges", "aria-hidden": "true" });
    this.columns = h("div", { class: "columns" });
    this.picture = h("div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Ways" },
      h("div", { class: "picture" }, this.lines, this.columns));
    this.hint = h("span", { class: "note" });
    /** @type {Table<Edge>} */
    this.table = new Table({
      title: "Ways", empty: "No ways.", filter: "",
      key: (edge) => `${edge.from} ${edge.to} ${edge.why}`,
      columns: [
        words("From", (edge) => this.nodes.get(edge.from)?.name),
        words("To", (edge) => this.nodes.get(edge.to)?.name),
        words("Why", (edge) => edge.why),
      ],
    });
    this.element = twofold("Map", "map", this.picture, this.table.element, () => this.draw(),
      this.hint);
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.columns);
  }

  /** @param {ServersView} data */
  update(data) {
    const columns = columnsOf(data);
    const memo = JSON.stringify([columns, data.edges]);
    if (memo === this.memo) return;
    this.memo = memo;
    this.edges = data.edges;
    this.nodes = new Map(columns.flatMap((column) => column.nodes.map((node) => [node.id, node])));
    const boxes = new Map();
    this.leftOut = data.left_out.edges;
    arrange(this.columns, columns.map(({ title, nodes, shown: all, leftOut }) => {
      const shown = all.slice(0, SHOWN);
      for (const node of shown) boxes.set(node.id, this.box(node));
      const left = nodes.length - shown.length + leftOut;
      return h("div", { class: "column" }, h("h4", {}, title),
        ...shown.map((node) => boxes.get(node.id)),
        left > 0 && h("p", { class: "rest" }, `and ${count(left)} more`));
    }));
    this.boxes = boxes;
    this.draw();
  }

  /**
   * The button of a node: the one that was there, filled anew.
   * @param {MapNode} node
   */
  box(node) {
    const box = this.boxes.get(node.id)
      ?? h("button", { type: "button", class: "node", onclick: () => {
        this.picked = this.picked === node.id ? "" : node.id;
        this.draw();
      } });
    setAttribute(box, "data-level", node.level ?? "");
    box.replaceChildren(
      h("span", { class: "name" }, node.level && shape(node.level), node.name,
        node.word && h("em", {}, node.word)),
      h("span", { class: "more" }, node.more), h("span", { class: "reason" }, node.reason ?? ""));
    return box;
  }

  /** Nodes that lie on a way through the picked node. */
  reached() {
    const reached = new Set([this.picked]);
    for (const [from, to] of BOTH_WAYS) {
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

  draw() {
    if (this.picture.hidden) return this.table.update(this.edges, this.leftOut);
    const reached = this.reached();
    for (const [id, box] of this.boxes) {
      setAttribute(box, "aria-pressed", String(this.picked === id));
      box.classList.toggle("dim", this.picked !== "" && !reached.has(id));
    }
    const picked = this.nodes.get(this.picked);
    setText(this.hint, picked ? `Ways through ${picked.name}` : "Press a node to see its ways");
    const origin = this.columns.getBoundingClientRect();
    this.lines.replaceChildren(...this.edges.flatMap((edge) => {
      const from = this.boxes.get(edge.from);
      const to = this.boxes.get(edge.to);
      if (!from || !to) return [];
      const lit = picked && reached.has(edge.from) && reached.has(edge.to);
      const light = lit ? "lit" : picked ? "dim" : "";
      const broken = ["", "ok"].includes(this.nodes.get(edge.to)?.level ?? "") ? "" : "broken";
      return [s("path", { d: curve(from, to, origin), class: `edge ${light} ${broken}` })];
    }));
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
  const x = Math.round(a.right - origin.left);
  const y = Math.round(a.top + a.height / 2 - origin.top);
  const endX = Math.round(b.left - origin.left);
  const endY = Math.round(b.top + b.height / 2 - origin.top);
  if (endX < x) return `M${x} ${y + 6}C${x + 24} ${y + 6} ${x + 24} ${endY - 6} ${x} ${endY - 6}`;
  if (endX - x > a.width) return below(x, y, endX, endY, Math.round(origin.height) + 4);
  const middle = (x + endX) / 2;
  return `M${x} ${y}C${middle} ${y} ${middle} ${endY} ${endX} ${endY}`;
}

/**
 * Path below the columns that lie between two nodes.
 * @param {number} x
 * @param {number} y
 * @param {number} endX
 * @param {number} endY
 * @param {number} floor
 */
const below = (x, y, endX, endY, floor) =>
  `M${x} ${y}C${x + 32} ${y} ${x + 16} ${floor} ${x + 64} ${floor}`
  + `H${endX - 64}C${endX - 16} ${floor} ${endX - 32} ${endY} ${endX} ${endY}`;

/** @param {(string | number | null)[]} parts */
const joined = (...parts) => parts.filter((part) => part !== null && part !== "").join(", ");

/**
 * Columns with all nodes, whose names the table has, and those that the picture shows.
 * @param {ServersView} data
 * @returns {MapColumn[]}
 */
function columnsOf({ listeners, users, rules, hostgroups, servers, left_out: left }) {
  const few = users.length + rules.length > SHOWN ? SHOWN / 2 : users.length;
  const names = users.map((one) => ({ id: one.id, name: one.user,
    more: `${count(one.clients)} of ${count(one.clients_max)} clients` }));
  const ways = rules.map((one) => ({ id: one.id, name: `rule ${one.rule_id}`,
    more: joined(one.match || one.comment, `${compact(one.hits)} hits`) }));
  const doors = listeners.map((one) => ({
    id: one.id, name: one.address, more: joined(one.protocol, roleOf(one)) }));
  const groups = hostgroups.map((one) => ({
    id: one.id, name: `hostgroup ${one.hostgroup}`, more: joined(one.role, one.comment) }));
  return [
    { title: "Listeners", nodes: doors, shown: doors, leftOut: 0 },
    { title: "Users and rules", nodes: [...names, ...ways],
      shown: [...names.slice(0, few), ...ways], leftOut: left.users + left.rules },
    { title: "Hostgroups", nodes: groups, shown: groups, leftOut: 0 },
    { title: "Servers", nodes: servers.map(serverNode), shown: chosen(servers).map(serverNode),
      leftOut: 0 },
  ];
}

/** @param {Listener} listener */
const roleOf = ({ role, protocol }) =>
  (role === "auto" || role === protocol ? "" : role.replace("_", " "));

/**
 * @param {ServerRow} row
 * @returns {MapNode}
 */
function serverNode(row) {
  const { word, level } = serverState(row.status);
  return {
    id: row.id, name: row.name || row.server, reason: row.reason, word: row.usable ? "" : word,
    level: row.usable ? "ok" : level === "ok" ? "bad" : level,
    more: `${compact(row.qps)} q/s, ${compact(row.used)} of ${compact(row.limit)} connections`,
  };
}

/**
 * Servers that the map shows: those that are out, then the busiest; by hostgroup.
 * @param {ServerRow[]} servers
 */
const chosen = (servers) => [...servers]
  .sort((a, b) => Number(a.usable) - Number(b.usable) || b.qps - a.qps)
  .slice(0, SHOWN)
  .sort((a, b) => a.hostgroup - b.hostgroup);
