/** Small curves within a line of text. They stand beside the figure that they show. */

import { s, setAttribute } from "./dom.js";

/**
 * A curve of `values`, oldest first.
 * @param {number} width in units of the picture
 * @param {number} height
 */
export function sparkline(width, height) {
  const area = s("path", { class: "area" });
  const line = s("path", { class: "line" });
  const picture = s("svg", {
    class: "spark", viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true",
  }, area, line);
  return {
    element: picture,
    /**
     * @param {(number | null)[]} values
     * @param {number} [slots] values that fill the width; fewer stand at the right.
     */
    update(values, slots = values.length) {
      const known = values.map((value) => value ?? 0);
      const top = Math.max(...known, Number.MIN_VALUE) * 1.1;
      const step = slots > 1 ? width / (slots - 1) : width;
      const start = width - step * (known.length - 1);
      const dots = known.map((value, index) => {
        const x = start + index * step;
        return `${x.toFixed(1)} ${(height - 1 - (value / top) * (height - 2)).toFixed(1)}`;
      });
      const path = dots.length > 1 ? `M${dots.join("L")}` : "";
      setAttribute(line, "d", path);
      setAttribute(area, "d", path && `${path}L${width} ${height}L${start.toFixed(1)} ${height}Z`);
    },
  };
}
