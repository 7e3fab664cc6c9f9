/** The login form, and which account the page has. */

import { login, logout, readSession } from "./api.js";
import { byId, setText } from "./dom.js";

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
    const refusal = /** @type {import("./api.js").Refusal} */ (error);
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
