/** The EXPLAIN ROUTE box: where a statement would go, and why. */

import { explain } from "./api.js";
import { byId, h } from "./dom.js";
import { shape } from "./glyphs.js";
import { announce } from "./live.js";

/** @type {Object<string, Level>} */
const LEVELS = {
  candidate: "ok", match: "ok", taken: "ok", passes: "ok", refused: "bad", detected: "warn",
};

let asked = 0;

/** Wires the form. */
export function startExplain() {
  const form = byId("explain");
  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    const given = new FormData(form);
    const read = (/** @type {string} */ name) => String(given.get(name) ?? "").trim();
    run({ statement: read("statement"), user: read("user"), schema: read("schema") });
  });
}

/**
 * Fills the box and asks.
 * @param {{ statement: string, user: string, schema: string }} question
 */
export function explainFor(question) {
  const form = byId("explain");
  for (const [name, value] of Object.entries(question)) form.elements.namedItem(name).value = value;
  run(question);
}

/** @param {{ statement: string, user: string, schema: string }} question */
async function run(question) {
  asked += 1;
  const round = asked;
  const statement = question.statement.replace(/^\s*(pointsman\s+)?explain\s+route\s+/i, "");
  try {
    const answer = await explain({ ...question, statement });
    if (round === asked) show(statement, steps(answer), `goes to ${answer.route.destination}`);
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    if (round === asked) show(statement, h("p", { class: "failure" }, shape("bad"), message), "");
  }
}

/** @param {Explanation} answer */
function steps(answer) {
  const rows = answer.steps.map((step) => {
    const level = LEVELS[step.result] ?? (step.step.startsWith("server ") ? "off" : undefined);
    const main = step.step === "destination";
    return h("tr", { class: main ? "main" : null },
      h("th", { scope: "row" }, step.step),
      h("td", {}, level ? shape(level) : null, step.result),
      h("td", {}, step.detail));
  });
  return h("table", { class: "steps", "aria-label": "Steps of the route" },
    h("thead", { class: "unseen" }, h("tr", {}, h("th", { scope: "col" }, "Step"),
      h("th", { scope: "col" }, "Result"), h("th", { scope: "col" }, "Detail"))),
    h("tbody", {}, ...rows));
}

/**
 * @param {string} statement
 * @param {HTMLElement} body
 * @param {string} verdict
 */
function show(statement, body, verdict) {
  const panel = byId("answer");
  panel.replaceChildren(
    h("header", {}, h("h2", {}, "Route"), h("code", { class: "sql", title: statement }, statement),
      h("button", { type: "button", class: "quiet", onclick: close }, "Close")),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Route, steps" },
      body));
  panel.hidden = false;
  panel.scrollIntoView({ block: "nearest" });
  announce(verdict || body.textContent || "");
}

function close() {
  byId("answer").hidden = true;
  byId("explain").elements.namedItem("statement").focus();
}
