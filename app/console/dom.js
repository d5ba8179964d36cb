/** Building what is seen. Text is always text: nothing here, or anywhere in the console, reads markup. */

const SVG = "http://www.w3.org/2000/svg";
/**
 * Characters that are not seen and can make a text read differently from what a model is given: marks and overrides of
 * direction, spaces without width, and tags, except where they make a flag. Joiners belong to scripts and emoji.
 */
const UNSEEN = new RegExp("\\u{1f3f4}[\\u{e0030}-\\u{e007a}]{1,6}\\u{e007f}|" +
  "[\\u061c\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e007f}]", "gu");
const FLAG = "\u{1f3f4}";
const SHOWN_ATTRIBUTES = new Set(["title", "aria-label"]);

/**
 * An HTML element. `props`: `class`, `on` ({click: fn}), `data` ({name: value}), `style` ({"--x": "1px"}), any
 * attribute (true sets it empty, false and null leave it out), and as properties what forms have: `value`, `checked`.
 * Children: nodes, strings, numbers, arrays of them; null and false are left out.
 */
export function h(tag, props = {}, ...children) {
  return filled(document.createElement(tag), props, children);
}

/** The same for a part of a drawing. */
export function s(tag, props = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(element, props, children) {
  set(element, props);
  // One by one: more arguments than a call takes may come out of a long text.
  for (const node of nodes(children)) element.append(node);
  return element;
}

/** Change what an element has. */
export function set(element, props) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name === "on") for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "style") for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
    else if (name === "value" || name === "checked") element[name] = value;
    else setAttribute(element, name, value === true ? "" : value);
  }
  return element;
}

function setAttribute(element, name, value) {
  if (value === false || value === null || value === undefined) element.removeAttribute(name);
  else {
    const text = SHOWN_ATTRIBUTES.has(name) ? visible(value) : String(value);
    if (element.getAttribute(name) !== text) element.setAttribute(name, text);
  }
}

/** Put these children in place of those that there are. */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
  return element;
}

/** Change the text of an element, only when it is another one. */
export function say(element, text) {
  const seen = visible(text);
  if (element.textContent !== seen) element.textContent = seen;
  return element;
}

/** A text in which what would not be seen is: `‹U+202E›`. All that `h`, `fill` and `say` show goes through it. */
export function visible(text) {
  return String(text).replace(UNSEEN, (found) => (found.startsWith(FLAG) ? found : `‹${codeOf(found)}›`));
}

/** The characters of a text that are not seen, each once: `["U+202E"]`. */
export function unseenIn(text) {
  const found = (text.match(UNSEEN) ?? []).filter((each) => !each.startsWith(FLAG));
  return [...new Set(found.map(codeOf))];
}

function codeOf(character) {
  return `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

/**
 * Keep one child for each item, in their order. `key(item)` names an item, `make(item)` makes its element,
 * `change(element, item)` brings one up to date. Elements stay, so focus and what is selected in them stay too.
 */
export function keep(parent, items, { key, make, change = () => {} }) {
  const had = parent.kept ?? (parent.kept = new Map());
  const names = new Set(items.map(key));
  // What goes, goes first: then what stays need not be moved, which would cost it its focus.
  for (const [name, element] of had) {
    if (names.has(name)) continue;
    had.delete(name);
    element.remove();
  }
  let place = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let element = had.get(name);
    if (!element) had.set(name, (element = make(item)));
    change(element, item);
    if (element === place) place = place.nextElementSibling;
    else parent.insertBefore(element, place);
  }
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(visible(child))));
}

/** Tell people something in passing; screen readers say it too. */
export function announce(text) {
  const said = document.getElementById("said");
  fill(said, h("p", {}, text));
  clearTimeout(announce.timer);
  announce.timer = setTimeout(() => fill(said), 6000);
}
