/** Forms: the login, and the dialog in which the statement of an action is typed. */

import { Refusal, act, login, logout, readSession } from "./api.js";
import { announce, byId, setText } from "./dom.js";

/** @type {Account | null} */
let account = null;

/** The CSRF token of the login. */
export const csrf = () => account?.csrf ?? null;

/** Whether the account may change things. */
export const mayAct = () => account?.rights === "admin";

/**
 * Wires the form and the button.
 * @param {() => void} onLogin
 * @param {() => void} onLogout
 */
export function startLogin(onLogin, onLogout) {
  const form = byId("login");
  form.addEventListener("submit", async (/** @type {Event} */ event) => {
    event.preventDefault();
    const given = new FormData(form);
    setText(byId("login-error"), "");
    try {
      account = await login(String(given.get("user")), String(given.get("password")));
      form.reset();
      enter(onLogin);
    } catch (error) {
      setText(byId("login-error"), /** @type {Error} */ (error).message);
      form.elements.namedItem("password").select();
    }
  });
  byId("logout").addEventListener("click", async () => {
    // The login may have ended at the proxy: the page shows the form in any case.
    await logout(csrf()).catch(() => null);
    onLogout();
    showLogin("");
  });
}

/**
 * Goes in with the cookie that the browser has, or shows the form.
 * @param {() => void} onLogin
 */
export async function resume(onLogin) {
  try {
    account = await readSession();
    enter(onLogin);
  } catch (error) {
    const refusal = /** @type {Refusal} */ (error);
    showLogin(refusal.status === 401 ? "" : refusal.message);
  }
}

/** @param {() => void} onLogin */
function enter(onLogin) {
  byId("gate").hidden = true;
  byId("page").hidden = false;
  setText(byId("account"), account ? `${account.user} (${account.rights})` : "");
  byId("logout").hidden = account?.csrf === null;
  onLogin();
}

/**
 * Shows the form.
 * @param {string} reason
 */
export function showLogin(reason) {
  account = null;
  byId("page").hidden = true;
  byId("gate").hidden = false;
  document.title = "Log in – Pointsman";
  setText(byId("login-error"), reason);
  byId("login").elements.namedItem("user").focus();
}

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
