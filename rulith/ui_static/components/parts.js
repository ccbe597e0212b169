/** Small parts that every panel is made of. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { link } from "../route.js";

/** A button that says what it does; `kind` is primary, plain or inline. One that is off keeps the focus: whoever pressed it stays there. */
export const button = (words, onclick, { mark = "", kind = "plain", disabled = false, ...props } = {}) =>
  h("button", { type: "button", class: kind, onclick: disabled ? null : onclick, "aria-disabled": disabled ? "true" : false, ...props }, mark && icon(mark), words);

/** A button of one drawing, named for those who do not see it. */
export const iconButton = (drawing, name, onclick, { kind = "bare", ...props } = {}) =>
  h("button", { type: "button", class: kind, "aria-label": name, onclick, ...props }, icon(drawing));

/** Text as it was sent, in a box that scrolls by keyboard too. */
export const text = (words) => h("pre", { tabindex: 0 }, words);

/** Names and values side by side; what has no value is left out. */
export const pairs = (entries) => h("dl", { class: "pairs" }, entries.filter(([, value]) => value)
  .map(([name, value]) => [h("dt", { key: name }, name), h("dd", { key: `${name}=` }, value)]));

/** The address of a place of this Agent. */
export const place = (s, instance, changes) => link(s.route, {
  instance: instance.id, case: "", fact: "", ...(["", instance.id].includes(s.route.instance) ? {} : { talk: "", turn: "" }), ...changes,
});

export const caseLink = (s, instance, caseId) => h("a", { href: place(s, instance, { tab: "cases", case: caseId }) }, "Open the Case");

/** Into the Console, in a tab of its own: this page stays and shows what changes. */
export const toConsole = (words, fragment = "") =>
  h("a", { class: "button", "data-row": true, href: `/console/${fragment}`, target: "_blank", rel: "noopener" }, icon("away"), words);

export const quiet = (...words) => h("p", { class: "quiet" }, words);

export const section = (title, ...body) => h("section", {}, h("h4", { class: "over" }, title), body);
