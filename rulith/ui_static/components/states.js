/** The states every list and panel can be in: empty, loading, partial, stale, refused. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { ago } from "../lib/time.js";
import { button } from "./parts.js";

/** A mark and its word; meaning is the colour token. */
export const mark = ({ words, meaning, mark: name }, extra = "") =>
  h("span", { class: `mark is-${meaning} ${extra}`.trim() }, icon(name), h("span", {}, words));

/** The same from its three parts, small. */
export const marked = (words, meaning, name) => mark({ words, meaning, mark: name }, "small");

export const empty = (what, ...next) =>
  h("div", { class: "empty" }, h("p", {}, what), next.length > 0 && h("p", { class: "quiet" }, next));

/** Grey lines that appear only when 200 ms have gone by; told to a screen reader as one word. */
export const loading = (what, rows = 3) =>
  h("div", { class: "skeleton", role: "status" }, h("span", { class: "sr" }, `Loading ${what}`),
    Array.from({ length: rows }, (_, index) => h("span", { class: "bone", key: `bone${index}`, "aria-hidden": "true" })));

export const partial = (shown, total, order) =>
  total > shown && h("p", { class: "quiet partial" }, `Showing ${shown} of ${total.toLocaleString("en")}, ${order}.`);

export const stale = (heardAt, now) =>
  h("p", { class: "stale", role: "status" }, icon("waiting"), ` Last heard ${ago(new Date(heardAt).toISOString(), now)}, retrying.`);

/** Code, sentence, next step, and the whole of it on the clipboard. */
export function refused(error, act, title = "Refused") {
  const code = error.code ?? "no_answer";
  const details = { code, message: error.message, facts: error.facts ?? {}, at: new Date().toISOString() };
  return h("div", { class: "refused box", role: "alert" },
    h("p", {}, mark({ words: title, meaning: "bad", mark: "refused" }), " ", h("code", { class: "code" }, code)),
    h("p", {}, error.happened ?? error.message),
    error.next && h("p", { class: "quiet" }, error.next),
    button("Copy details", () => act.copy(JSON.stringify(details, null, 2), "Details copied"), { mark: "copy" }));
}

/** What was asked for, or why it is not here; `draw` is given it. */
export function known(act, what, { value, error }, draw) {
  if (value === undefined) return error ? refused(error, act, `The ${what} could not be read`) : loading(what);
  return [error && h("p", { class: "stale", role: "status" }, icon("waiting"), ` ${error.message} This is what was last heard; it is tried again.`), draw(value)];
}

/** A part of a long list, and the button for more of it. */
export function windowed(s, act, key, rows, draw, order, size = 60) {
  const limit = s.ui.more[key] ?? size;
  return [h("ul", { class: "case-list", "data-list": true }, rows.slice(0, limit).map(draw)), partial(Math.min(limit, rows.length), rows.length, order),
    rows.length > limit && button(`Show ${Math.min(size, rows.length - limit)} more`, () => act.more(key, limit + size))];
}
