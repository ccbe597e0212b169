/**
 * Forms whose fields live in the store under a key, so that what is half filled survives every draw; what stands
 * under "draft/…" survives the page too. A refusal stands in its form, and the fields stay.
 */

import { h } from "../lib/dom.js";
import { change, keep, state } from "../store.js";
import { button } from "./parts.js";
import { refused } from "./states.js";

const KEPT = "draft/";
const PASSING = ["busy", "refusal", "at", "pick"];      // of this moment, not of the draft

export const form = (key) => state.forms[key] ?? {};

/** Change fields of a form; null forgets it. */
export function put(key, changes) {
  change((s) => {
    if (changes === null) delete s.forms[key];
    else s.forms[key] = { ...s.forms[key], ...changes };
  });
  if (!key.startsWith(KEPT)) return;
  const drafts = Object.entries(state.forms).filter(([each]) => each.startsWith(KEPT));
  keep("forms", Object.fromEntries(drafts.map(([each, fields]) => [each, Object.fromEntries(Object.entries(fields).filter(([name]) => !PASSING.includes(name)))])));
}

const seen = new Map();

/** What a form's page showed when the first of its fields was changed: what came since is not saved over unseen. After a refusal of that it is `now`. */
export function shownAt(key, now) {
  const isTyped = Object.keys(form(key)).some((name) => !PASSING.includes(name));
  if (!isTyped || !seen.has(key) || form(key).refusal?.code?.endsWith("_moved")) seen.set(key, now);
  return seen.get(key);
}

/** Act for a form, once at a time. The result; undefined where it was refused. */
export async function submit(key, job) {
  if (form(key).busy) return undefined;
  put(key, { busy: true, refusal: null });
  try {
    const result = await job();
    put(key, { busy: false });
    return result;
  } catch (refusal) {
    put(key, { busy: false, refusal });
    return undefined;
  }
}

export const idOf = (key, name) => `${key}-${name}`.replace(/[^\w-]+/g, "-");
const write = (key, name) => (event) => put(key, { [name]: event.target.value });

/** One labelled field: `options` ([[value, words]]) make it a choice, `rows` a text of many lines. */
export function field(key, name, words, { value = "", note = "", options = null, rows = false, ...props } = {}) {
  const id = idOf(key, name), about = note ? `${id}-note` : false, first = options?.[0]?.[0] ?? "";
  const given = form(key)[name] ?? value ?? "", now = String(options && !options.some(([each]) => String(each) === String(given)) ? first : given);
  return h("div", { class: "field", key: name }, h("label", { for: id }, words),
    options ? h("select", { id, value: now, "aria-describedby": about, onchange: write(key, name), ...props }, options.map(([each, label]) => h("option", { key: String(each), value: String(each) }, label)))
      : h(rows ? "textarea" : "input", { id, rows, value: now, autocomplete: "off", "aria-describedby": about, oninput: write(key, name), ...props }),
    note && h("p", { class: "quiet", id: about }, note));
}

/** `wish` may promise a result: where there is none, it was refused, and the tick goes back. */
export const check = (key, words, checked, wish, props = {}) => h("label", { class: "check", key },
  h("input", { type: "checkbox", checked, onchange: async ({ target }) => {
    const on = target.checked, done = wish(on);
    if (done instanceof Promise && !await done) target.checked = !on;
  }, ...props }), words);

export const problem = (key, act) => form(key).refusal && refused(form(key).refusal, act, "Not done");

/** For what opens where a button was pressed: the focus goes into it. */
export const takesFocus = (element) => queueMicrotask(() => element.querySelector("textarea, input, select, button")?.focus());

/** A form that Enter or its button sends; `off()` while nothing can be sent yet: asked at the press, which may come before a draw. Its button is never disabled: a disabled one drops the focus. */
export const formOf = (key, act, words, send, body, { off = () => false, more = null, hook = null } = {}) => h("form", { key, class: "form", hook, onsubmit: (event) => { event.preventDefault(); if (!off()) send(); } },
  body, problem(key, act), h("div", { class: "row" }, h("button", { type: "submit", class: "primary", "aria-disabled": off() || form(key).busy ? "true" : false }, words), more));

/** What of a row its form changed; a number stays one. */
export const touched = (key, row) => Object.fromEntries(Object.entries(form(key)).filter(([name, value]) => name in row && String(value) !== String(row[name] ?? ""))
  .map(([name, value]) => [name, typeof row[name] === "number" && value !== "" ? Number(value) : value]));

/** Ask for the name of what will be lost, before it is. */
export function losing(key, act, words, name, what, job) {
  const named = () => form(key).name === name;
  return h("details", { key }, h("summary", {}, words), h("p", {}, what), formOf(key, act, words, job, field(key, "name", `Type ${name} to go on`), { off: () => !named() }));
}

/** Fields [name, words, props] of a row, side by side. */
export const fieldsOf = (key, list, row = {}) => h("div", { class: "fields" }, list.map(([name, words, props]) => field(key, name, words, { value: row[name], ...props })));

/** A step that asks once more, in words, before it is taken. */
export const sure = (key, act, words, warning, verb, job) => (form(key).sure
  ? h("div", { class: "box needs", hook: takesFocus }, h("p", {}, warning), problem(key, act), h("div", { class: "row" }, button(verb, job, { kind: "button" }), button("Leave it as it is", () => put(key, null))))
  : button(words, () => put(key, { sure: true }), { kind: "button" }));
