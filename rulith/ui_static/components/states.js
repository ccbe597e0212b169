/** The states every list and panel can be in: empty, loading, partial, stale, refused. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { ago } from "../lib/time.js";

/** A mark and its word; meaning is the colour token. */
export const mark = ({ words, meaning, mark: name }, extra = "") =>
  h("span", { class: `mark is-${meaning} ${extra}`.trim() }, icon(name), h("span", {}, words));

export const empty = (what, ...next) => h("div", { class: "empty" }, h("p", {}, what), next.length > 0 && h("p", { class: "quiet" }, next));

/** Grey lines that appear only when 200 ms have gone by; told to a screen reader as one word. */
export const loading = (what, rows = 3) =>
  h("div", { class: "skeleton", role: "status" }, h("span", { class: "sr" }, `Loading ${what}`),
    Array.from({ length: rows }, (_, index) => h("span", { class: "bone", key: `bone${index}`, "aria-hidden": "true" })));

export const partial = (shown, total, order) => total > shown && h("p", { class: "quiet partial" }, `Showing ${shown} of ${total.toLocaleString("en")}, ${order}.`);

export const stale = (heardAt, now) => h("p", { class: "stale", role: "status" }, icon("waiting"), ` Last heard ${ago(new Date(heardAt).toISOString(), now)}, retrying.`);

/** Code, sentence, next step, and the whole of it on the clipboard. */
export function refused(error, act, title = "") {
  const details = JSON.stringify({ code: error.code ?? "no_answer", message: error.message, facts: error.facts ?? {}, at: new Date().toISOString() }, null, 2);
  return h("div", { class: "refused box", role: "alert" },
    h("p", {}, mark({ words: title || "Refused", meaning: "bad", mark: "refused" }), " ", h("code", { class: "code" }, error.code ?? "no_answer")),
    h("p", {}, error.happened ?? error.message),
    error.next && h("p", { class: "quiet" }, error.next),
    h("button", { type: "button", class: "plain", onclick: () => act.copy(details, "Details copied") }, icon("copy"), "Copy details"));
}
