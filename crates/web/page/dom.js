/** Elements of the page: build them, and change them only where they differ. */

const SVG = "http://www.w3.org/2000/svg";

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * Builds an HTML element.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Object<string, any>} [attributes] `on...` are listeners; true is an empty attribute;
 *   null, undefined and false are left out.
 * @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/**
 * Builds an SVG element.
 * @param {string} tag
 * @param {Object<string, any>} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function s(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/**
 * @template {Element} E
 * @param {E} element
 * @param {Object<string, any>} attributes
 * @param {Child[]} children
 */
function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child || child === "") element.append(child);
  }
  return element;
}

/**
 * Sets the text of a node if it differs, so that selections survive.
 * @param {Node} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/**
 * Sets or removes an attribute if it differs.
 * @param {Element} element
 * @param {string} name
 * @param {string | number | null} value null removes it.
 */
export function setAttribute(element, name, value) {
  if (value === null) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, String(value));
}

/**
 * The element with an id that index.html has.
 * @param {string} id
 * @returns {any} of the type that index.html gives it.
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no #${id}`);
  return element;
}

let serial = 0;

/** An id that no other element has, for `aria-labelledby` and `for`. */
export function freshId() {
  serial += 1;
  return `id${serial}`;
}

/**
 * Puts `nodes` into `parent` in their order, and moves only nodes that stand elsewhere. The focus
 * stays where it was.
 * @param {Element} parent
 * @param {Node[]} nodes
 */
export function arrange(parent, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...parent.childNodes]) {
    if (!wanted.has(child)) child.remove();
  }
  const focused = /** @type {HTMLElement | null} */ (document.activeElement);
  let next = parent.firstChild;
  for (const node of nodes) {
    if (node === next) next = next.nextSibling;
    else parent.insertBefore(node, next);
  }
  if (focused !== document.activeElement && focused?.isConnected && parent.contains(focused)) {
    focused.focus({ preventScroll: true });
  }
}
