/** The frame of a screen: panes with a head and what scrolls; on a narrow page a list gives way to what was opened in it. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { iconButton } from "./parts.js";
import { known } from "./states.js";

/** A pane of `kind` list or detail. `back` leads to the list on a narrow page, `after` stands below what scrolls. */
export const pane = (s, act, kind, title, body, { tools = null, back = "", after = null, scroll = {} } = {}) => h("section", {
  class: `pane pane-${kind}`, key: `${kind} ${s.route.at.slice(kind === "list" ? 0 : 2, 4)}`, "aria-labelledby": `pane-${kind}` },
h("header", { class: "talk-head" },
  iconButton("menu", "Agents and rooms", () => act.sheet("rail"), { kind: "bare only-narrow", "aria-expanded": String(s.ui.sheet === "rail"), "aria-controls": "rail" }),
  back && h("a", { class: "back", href: back, "aria-label": "Back to the list" }, icon("back")), h("h2", { id: `pane-${kind}`, class: "grow" }, title), tools),
h("div", { class: "pane-scroll", tabindex: -1, ...scroll }, kind === "list" ? body : h("div", { class: "measure" }, body)), after);

export const page = (s, act, title, ...body) => pane(s, act, "detail", title, body);

/** Panes of what was asked for; while it is not here, one that says why. */
export const knownPanes = (s, act, what, found, draw, back = "") => (found.value === undefined
  ? pane(s, act, "detail", what[0].toUpperCase() + what.slice(1), known(act, what, found), { back }) : known(act, what, found, draw));

/** The screen itself; `opened` says that on a narrow page the detail is in view. */
export const screenOf = (s, name, opened, ...panes) => h("main", { key: name, class: `screen ${name}`, id: "main", tabindex: -1, inert: s.ui.sheet !== "", "data-opened": opened }, panes);
