/** Actions: each runs only after its statement was typed. */

import { act } from "./api.js";
import { byId, setText } from "./dom.js";
import { announce } from "./live.js";

/** @type {Action | null} */
let asked = null;
/** @type {() => string | null} */
let token = () => null;

const matches = () => asked !== null && byId("confirm-typed").value.trim() === asked.statement;

/**
 * Wires the dialog.
 * @param {() => string | null} csrf the token of the login.
 */
export function startConfirm(csrf) {
  token = csrf;
  const dialog = byId("confirm");
  byId("confirm-typed").addEventListener("input", () => {
    byId("confirm-run").disabled = !matches();
  });
  byId("confirm-cancel").addEventListener("click", () => dialog.close());
  byId("confirm-form").addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    if (matches()) run();
  });
}

/**
 * Opens the dialog for an action.
 * @param {Action} action
 */
export function ask(action) {
  asked = action;
  setText(byId("confirm-title"), action.title);
  setText(byId("confirm-text"), action.text);
  setText(byId("confirm-statement"), action.statement);
  setText(byId("confirm-error"), "");
  byId("confirm-typed").value = "";
  byId("confirm-run").disabled = true;
  byId("confirm").showModal();
  byId("confirm-typed").focus();
}

async function run() {
  if (!asked) return;
  const { statement, body } = asked;
  const button = byId("confirm-run");
  button.disabled = true;
  setText(byId("confirm-error"), "");
  try {
    const reply = await act({ ...body, confirm: statement }, token());
    byId("confirm").close();
    announce(`Done: ${statement}. ${reply.message}`);
  } catch (error) {
    setText(byId("confirm-error"), /** @type {Error} */ (error).message);
    button.disabled = false;
  }
}
