/**
 * Elements from data, and the smallest change that makes the page match it.
 *
 * h() describes an element; patch() makes a real one agree with the description, touching only
 * what differs, so focus, selection, scroll position and half-typed text survive every update.
 * Text stays text: nothing here, and nothing elsewhere, sets innerHTML.
 *
 * Props    key        identity among siblings (rows that move keep their element)
 *          on<event>  a listener, replaced at each patch, never an attribute
 *          value, checked, disabled, open…  live properties; value is left alone while focused
 *          hook       called once with the new element (showModal, observers)
 *          others     attributes; false, null and undefined remove them
 */

const SVG = "http://www.w3.org/2000/svg";
const LIVE = new Set(["checked", "disabled", "readOnly", "hidden", "inert", "open", "indeterminate"]);

/** A description of one element; children may nest, and false, null and undefined vanish. */
export function h(tag, props, ...children) {
  return { tag, props: props ?? {}, children: flatten(children) };
}

/** e("p.line", …): an element of these classes and no other properties. */
export function e(spec, ...children) {
  const [tag, ...classes] = spec.split(".");
  return h(tag, { class: classes.join(" ") }, children);
}

function flatten(children, into = []) {
  for (const child of children) {
    if (Array.isArray(child)) flatten(child, into);
    else if (child === false || child === null || child === undefined || child === "") continue;
    else into.push(typeof child === "object" ? child : String(child));
  }
  return into;
}

/** Make `element` hold exactly `children`, reusing what is there. */
export function patch(element, children) {
  patchChildren(element, flatten([children]));
}

function make(node, namespace) {
  if (typeof node === "string") return document.createTextNode(node);
  const space = node.tag === "svg" ? SVG : namespace;
  const element = space ? document.createElementNS(space, node.tag) : document.createElement(node.tag);
  element.madeFrom = { tag: node.tag, props: {}, key: node.props.key };
  update(element, node);
  node.props.hook?.(element);
  return element;
}

function update(element, node) {
  if (element.madeFrom.node === node) return;      // the very description it was made from: a caller kept it
  element.madeFrom.node = node;
  const before = element.madeFrom.props;
  for (const name in before) if (!(name in node.props)) set(element, name, null);
  for (const name in node.props) {
    const value = node.props[name];
    if (name === "value" || before[name] !== value) set(element, name, value, before[name]);
  }
  element.madeFrom.props = node.props;
  if (!node.props.foreign) patchChildren(element, node.children);
  // A select can take its value only once its options are there.
  if (node.tag === "select" && "value" in node.props) set(element, "value", node.props.value);
}

function set(element, name, value, before) {
  if (name === "key" || name === "hook" || name === "foreign") return;
  if (name.startsWith("on")) {
    element[name] = value ?? null;
  } else if (name === "value" && element.tagName === "OPTION") {
    element.setAttribute("value", value ?? "");      // the property cannot tell an empty value from none
  } else if (name === "value") {
    const text = value ?? "";
    // What a person is typing wins over what arrived, unless the store changed it on purpose.
    if (element.value !== text && (document.activeElement !== element || (before !== undefined && before !== value))) element.value = text;
  } else if (LIVE.has(name) && name in element) {
    if (element[name] !== Boolean(value)) element[name] = Boolean(value);
  } else if (value === false || value === null || value === undefined) {
    element.removeAttribute(name);
  } else {
    element.setAttribute(name, value === true ? "" : String(value));
  }
}

function matches(element, node) {
  if (typeof node === "string") return element.nodeType === Node.TEXT_NODE;
  const from = element.madeFrom;
  return from !== undefined && from.tag === node.tag && from.key === node.props.key;
}

/** The elements from `at` on by their key. */
function keys(at) {
  const found = new Map();
  for (; at; at = at.nextSibling) if (at.madeFrom?.key !== undefined) found.set(at.madeFrom.key, at);
  return found;
}

/** Put what stands from `at` to `found` behind `found`: an element that is moved itself would lose the focus. */
function aside(at, found) {
  for (let next, last = found; at !== found; at = next) {
    next = at.nextSibling;
    last.after(at);
    last = at;
  }
  return found;
}

function patchChildren(parent, nodes) {
  const namespace = parent.namespaceURI === SVG ? SVG : null;
  let keyed = null;            // made once rows have moved
  let at = parent.firstChild;
  for (const node of nodes) {
    const key = typeof node === "string" ? undefined : node.props.key;
    let found = null;
    if (at && matches(at, node)) {
      found = at;
    } else if (key !== undefined) {
      keyed ??= keys(at);
      const candidate = keyed.get(key);
      if (candidate && matches(candidate, node)) found = candidate;
    }
    if (found === null) {
      parent.insertBefore(make(node, namespace), at);
      continue;
    }
    if (found !== at && found.contains(document.activeElement)) at = aside(at, found);
    if (found === at) at = at.nextSibling;
    else parent.insertBefore(found, at);
    if (typeof node === "string") {
      if (found.data !== node) found.data = node;
    } else {
      update(found, node);
    }
  }
  while (at) {
    const next = at.nextSibling;
    parent.removeChild(at);
    at = next;
  }
}
