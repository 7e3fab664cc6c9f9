/** Requests to the proxy. Each has a deadline; each failure is a `Refusal` with a sentence. */

/** Milliseconds that a request may take. */
const DEADLINE_MS = 10_000;

/** A request that was refused (`status` of HTTP), or that got no answer (`status` 0). */
export class Refusal extends Error {
  /**
   * @param {number} status
   * @param {string} code of the contract, or "unreachable".
   * @param {string} message
   */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<any>} the JSON of the reply, null if it has no body.
 */
async function request(path, options = {}) {
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, {
      credentials: "same-origin", cache: "no-store",
      signal: AbortSignal.timeout(DEADLINE_MS), ...options,
    });
    if (response.status === 204) return null;
    const body = await response.json();
    if (response.ok) return body;
    throw new Refusal(response.status, String(body.error), String(body.message));
  } catch (error) {
    if (error instanceof Refusal) throw error;
    const late = error instanceof DOMException && error.name === "TimeoutError";
    throw new Refusal(0, "unreachable",
      late ? `no answer within ${DEADLINE_MS / 1000} s` : "the proxy cannot be reached");
  }
}

/** @returns {Promise<Account>} */
export const readSession = () => request("/api/session");

/**
 * @param {string[]} views
 * @returns {Promise<Envelope>}
 */
export const readState = (views) => request(`/api/state?views=${views.join(",")}`);

/**
 * @param {"statements" | "sessions"} list
 * @param {Record<string, string>} wanted `filter`, `sort`, `order`, `recent`, `limit`
 * @returns {Promise<{ rows: any[], matching: number }>} rows chosen among all that the proxy has
 */
export const readRows = (list, wanted) =>
  request(`/api/${list}?${new URLSearchParams(wanted)}`);

/** @returns {Promise<{ from_ms: number | null, to_ms: number | null }>} how far the record reaches */
export const readRecord = () => request("/api/record");

/**
 * @param {number} at Unix ms
 * @returns {Promise<Envelope>} the view `now` of that moment
 */
export const readRecorded = (at) => request(`/api/record?at=${at}`);

/**
 * @param {string} user
 * @param {string} password
 * @returns {Promise<Account>}
 */
export const login = (user, password) =>
  request("/login", { method: "POST", body: new URLSearchParams({ user, password }) });

/** @param {string | null} csrf */
export const logout = (csrf) =>
  request("/logout", { method: "POST", headers: { "X-CSRF-Token": csrf ?? "" } });

/**
 * @param {Object<string, string>} question `statement`, and `user` and `schema` unless empty.
 * @returns {Promise<Explanation>}
 */
export function explain(question) {
  const given = Object.entries(question).filter(([, value]) => value !== "");
  return request(`/api/explain?${new URLSearchParams(given)}`);
}

/**
 * @param {Object<string, any>} action with `confirm`, the text that was typed.
 * @param {string | null} csrf
 * @returns {Promise<{ ok: boolean, statement: string, message: string }>}
 */
export const act = (action, csrf) =>
  request("/api/action", {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRF-Token": csrf ?? "" },
    body: JSON.stringify(action),
  });
