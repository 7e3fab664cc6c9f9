/** Events of servers and of the configuration, as words. */

import { clock } from "./format.js";

/** @type {Object<string, [string, Level]>} word and level by the name that the contract has. */
const KINDS = {
  SHUNNED: ["shunned", "bad"],
  SHUNNED_REPLICATION_LAG: ["lags", "warn"],
  CAUGHT_UP: ["caught up", "ok"],
  ONLINE: ["online", "ok"],
  JOINED: ["joined", "ok"],
  LEFT: ["left", "off"],
  LOADED: ["loaded", "news"],
};

/** @param {ProxyEvent} event */
export const eventWord = (event) =>
  KINDS[event.event]?.[0] ?? event.event.toLowerCase().replaceAll("_", " ");

/**
 * @param {ProxyEvent} event
 * @returns {Level}
 */
export const eventLevel = (event) => KINDS[event.event]?.[1] ?? "off";

/**
 * "14:02:11 10.0.0.7:3306 shunned: 3 failed pings"
 * @param {ProxyEvent} event
 */
export const eventText = (event) =>
  [clock(event.time_ms), event.server, eventWord(event)].filter(Boolean).join(" ")
  + (event.cause ? `: ${event.cause}` : "");
