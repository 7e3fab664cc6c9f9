/** Events as marks on curves: changes of servers and of the configuration. */

import { clock } from "./format.js";
import { ink } from "./theme.js";

/** @type {Object<string, { word: string, colour: string }>} */
const KINDS = {
  SHUNNED: { word: "shunned", colour: "bad" },
  SHUNNED_REPLICATION_LAG: { word: "lags", colour: "warn" },
  CAUGHT_UP: { word: "caught up", colour: "ok" },
  ONLINE: { word: "online", colour: "ok" },
  JOINED: { word: "joined", colour: "ok" },
  LEFT: { word: "left", colour: "faint" },
  LOADED: { word: "loaded", colour: "accent" },
};

/** @param {ProxyEvent} event */
export const eventWord = (event) =>
  KINDS[event.event]?.word ?? event.event.toLowerCase().replaceAll("_", " ");

/** @param {ProxyEvent} event */
export const eventLevel = (event) => {
  const colour = KINDS[event.event]?.colour;
  return colour === "ok" || colour === "warn" || colour === "bad" ? colour : "off";
};

/**
 * "14:02:11 10.0.0.7:3306 shunned: 3 failed pings"
 * @param {ProxyEvent} event
 */
export const eventText = (event) =>
  [clock(event.time_ms), event.server, eventWord(event)].filter(Boolean).join(" ")
  + (event.cause ? `: ${event.cause}` : "");

/**
 * Plug-in of uPlot that draws the marks over the curves.
 * @param {() => ProxyEvent[]} events
 */
export function marksPlugin(events) {
  return { hooks: { draw: (/** @type {any} */ plot) => {
    const { ctx, bbox } = plot;
    const ratio = devicePixelRatio;
    ctx.save();
    for (const event of events()) {
      const x = Math.round(plot.valToPos(event.time_ms / 1000, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.strokeStyle = ctx.fillStyle = ink(KINDS[event.event]?.colour ?? "faint");
      ctx.lineWidth = ratio;
      ctx.setLineDash([2 * ratio, 3 * ratio]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      drawHead(ctx, event.kind === "config", x, bbox.top, 4 * ratio);
    }
    ctx.restore();
  } } };
}

/**
 * Head of a mark: a diamond for the configuration, a triangle for servers.
 * @param {CanvasRenderingContext2D} ctx
 * @param {boolean} diamond
 * @param {number} x
 * @param {number} y
 * @param {number} size
 */
function drawHead(ctx, diamond, x, y, size) {
  ctx.setLineDash([]);
  ctx.beginPath();
  ctx.moveTo(x - size, y);
  if (diamond) ctx.lineTo(x, y - size);
  ctx.lineTo(x + size, y);
  ctx.lineTo(x, y + size);
  ctx.closePath();
  ctx.fill();
}
