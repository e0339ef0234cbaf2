// Elements are made without markup, so names and traits are always text.

const SVG = "http://www.w3.org/2000/svg";

/**
 * Make an HTML element.
 *
 * attributes: by name; `on…` are listeners, booleans are there or not, null and undefined are left
 * out. children: nodes, texts, or arrays of them; null and false are left out.
 */
export function h(tag, attributes = {}, ...children) {
  return complete(document.createElement(tag), attributes, children);
}

/** Make an SVG element, as `h` does. */
export function svg(tag, attributes = {}, ...children) {
  return complete(document.createElementNS(SVG, tag), attributes, children);
}

function complete(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  const isThere = (child) => child !== null && child !== undefined && child !== false;
  return children.flat(Infinity).filter(isThere).map(visible);
}

/** Return a text with its control and format characters escaped; another child as it is. */
export function visible(child) {
  if (typeof child !== "string") return child;
  // Of these, only line feeds are written by the page. The others could show another text.
  const escaped = (hidden) => `\\u{${hidden.codePointAt(0).toString(16)}}`;
  return child.replace(/(?!\n)[\p{Cc}\p{Cf}]/gu, escaped);
}

/** Replace the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

/** Announce a text to screen readers. */
export function announce(text) {
  document.getElementById("announcement").textContent = text;
}

/**
 * Draw an element again; the focus stays at its place among the controls, or at the same link.
 */
export function redraw(element, draw) {
  const controls = () => {
    const all = element.querySelectorAll("a, button, input, select, summary, .node");
    return [...all].filter((each) => each.checkVisibility());
  };
  const active = document.activeElement;
  const index = controls().indexOf(active);
  draw();
  if (index < 0) return;
  const now = controls();
  const href = active.getAttribute("href");
  const next = href ? now.find((each) => each.getAttribute("href") === href) : now[index];
  (next ?? now.at(-1))?.focus({ preventScroll: true });
}

/** Make a labelled field: a <label> with its text and its control. */
export function field(label, control, attributes = {}) {
  return h("label", { class: "field", ...attributes }, h("span", {}, label), control);
}

/** Make a button that copies a text, and says that it has. */
export function copyButton(label, text) {
  const button = h("button", { type: "button", class: "quiet" }, label);
  button.addEventListener("click", async () => {
    await copy(typeof text === "function" ? text() : text);
    announce("Copied");
    button.textContent = "Copied";
    setTimeout(() => {
      button.textContent = label;
    }, 1500);
  });
  return button;
}

async function copy(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  // Without TLS, browsers allow access to the clipboard only through this deprecated function.
  const area = h("textarea", { class: "unseen", value: text, "aria-hidden": "true" });
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}
