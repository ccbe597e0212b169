/** What floats: the keys, and where a model is configured. */

import { h } from "../lib/dom.js";
import { screen } from "../screens.js";
import { iconButton } from "./parts.js";

const KEYS = [
  ["/", "to the message field; while it is off, to the calculation's numbers"],
  ["g a", "to the Agents"], ["g n", "what needs you"], ["g c", "Cases"], ["g b", "Board"], ["g w", "Worker"], ["g t", "the Council"], ["g s", "Settings"],
  ["j  k", "down and up in a list"], ["Enter", "opens what has the focus"],
  ["← → ↑ ↓", "walk a proof tree"], ["Esc", "closes the topmost layer, never a draft"], ["n  x", "in the Council: a new thread; leave the one that is open"], ["?", "this list"],
];

export const frame = (id, title, act, close, ...body) =>
  h("dialog", { key: id, "aria-labelledby": `${id}-title`, class: id, hook: (element) => act.show(element, close) },
    h("header", { class: "dialog-head" }, h("h2", { id: `${id}-title` }, title), iconButton("close", "Close", close)),
    body);

const keyRow = ([keys, words]) => [
  h("dt", { key: keys }, keys.split(" ").filter(Boolean).map((part) => h("kbd", { key: part }, part))),
  h("dd", { key: `${keys}=` }, words),
];

const keys = (act) => frame("keys", "Keys", act, () => act.dialog(""),
  h("div", { class: "dialog-body" }, h("dl", { class: "keys-list" }, KEYS.map(keyRow))));

export function dialogs(s, instance, act) {
  if (s.ui.dialog === "keys") return keys(act);
  if (s.ui.dialog === "model" && instance) return screen("model")?.dialog(s, instance);
  return null;
}
