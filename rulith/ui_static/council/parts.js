/** Small parts of the council's pages: addresses, names, states, frames, a text that may ask members. */

import { e, h } from "../lib/dom.js";
import { markdown } from "../lib/markdown.js";
import { form, idOf, put } from "../components/forms.js";
import { button } from "../components/parts.js";
import { ask } from "./data.js";

const COLORS = ["slate", "sky", "cyan", "emerald", "amber", "orange", "rose", "violet"];
const TEXTS_MAX = 400;
const texts = new Map();     // a thread is drawn far more often than its texts change

export const to = (...parts) => `#/council/${parts.map(encodeURIComponent).join("/")}`;
export const go = (...parts) => { location.hash = to(...parts); };
export const link = (words, ...parts) => h("a", { href: to(...parts) }, words);
export const who = (name, color) => e(`strong.who.c-${COLORS.includes(color) ? color : "slate"}`, name);
export const usd = (amount) => `$${amount.toFixed(amount > 0 && amount < 0.01 ? 4 : 2)}`;
export const isPerson = (row) => row.role === "HUMAN";
export const isOver = (thread) => ["RESOLVED", "WONTFIX"].includes(thread.status);
export const colorField = ["color", "Colour", { options: COLORS.map((each) => [each, each]) }];
export const press = (words, onclick, props) => button(words, onclick, { kind: "button", ...props });
export const rooms = () => ask("list_rooms").value ?? [];
export const agents = () => ask("list_agents").value ?? [];
export const tags = () => ask("list_tags").value ?? [];
export const spent = (room) => `${usd(room.spent_usd)} of ${room.cost_cap_usd > 0 ? usd(room.cost_cap_usd) : "no limit"}`;
/** Lines of a file, as a place is written. */
export const placeOf = (row) => `${row.path}${row.start_line ? `:${row.start_line}-${row.end_line ?? ""}` : ""}`;
export const tagOf = (key) => tags().find((each) => each.tag === key);

const STATUS = { OPEN: ["open", "quiet", "open"], BLOCKED: ["blocked", "waiting", "waiting"], RESOLVED: ["resolved", "done", "done"], WONTFIX: ["closed", "quiet", "close"] };
/** A thread's state; that it waits for the person goes before all. */
export function threadState(row) {
  const [words, meaning, mark] = row.waits_for_person ? ["waits for you", "waiting", "person"] : STATUS[row.status] ?? [row.status, "unknown", "unknown"];
  return { words, meaning, mark };
}

/** What finds calls of these names: those that are no words up to their end, the longest first. */
function calls(names) {
  const odd = names.filter((name) => !/^[\p{L}\p{N}_-]+$/u.test(name)).sort((one, other) => other.length - one.length).map((name) => name.replace(/[^\p{L}\p{N}\s]/gu, (letter) => `\\u{${letter.codePointAt(0).toString(16)}}`));
  return odd.length > 0 ? new RegExp(`(?<![\\p{L}\\p{N}])(@(?:${odd.join("|")})(?![\\p{L}\\p{N}_-])|@[\\p{L}\\p{N}_-]+)`, "iu") : undefined;
}

/** A text marked up; of `@words` only those that name a member stand out. */
export function prose(text, names) {
  const key = `${names}\0${text}`;
  if (!texts.has(key)) {
    if (texts.size >= TEXTS_MAX) texts.clear();
    texts.set(key, e("div.said", markdown(text, { links: true, called: calls(names), names: new Set(["everyone", ...names.map((name) => name.toLowerCase())]) })));
  }
  return texts.get(key);
}

/** What stands before the caret as the beginning of a name. */
function begun({ value, selectionStart }) {
  const found = /(?:^|[^\p{L}\p{N}])@([\p{L}\p{N}_-]*)$/u.exec(value.slice(Math.max(0, selectionStart - 100), selectionStart));
  return found && { start: selectionStart - found[1].length - 1, word: found[1].toLowerCase() };
}

/** Put `@name ` where a name was begun, or at the caret. */
export function insert(key, name, element) {
  const start = form(key).at?.start ?? element.selectionStart;
  element.setRangeText(`${/[^\s]$/.test(element.value.slice(0, start)) ? " " : ""}@${name} `, start, element.selectionEnd, "end");
  put(key, { body: element.value, at: null });
  element.focus();
}

/** A text field that completes `@names`: arrows choose, Enter or Tab takes, Esc closes the list alone. */
export function asking(key, words, names, { send = null, rows = 4, value = "" } = {}) {
  const id = idOf(key, "body"), { at, pick = 0 } = form(key);
  const offered = () => (form(key).at ? names.filter((name) => name.toLowerCase().startsWith(form(key).at.word)).slice(0, 8) : []), list = offered();
  const keyed = (event) => {
    const list = offered(), { pick = 0 } = form(key);
    const step = { ArrowDown: 1, ArrowUp: list.length - 1 }[event.key], strong = event.ctrlKey || event.metaKey;
    if (event.isComposing) return;
    if (list.length > 0 && step) put(key, { pick: (pick + step) % list.length });
    else if (list.length > 0 && ["Enter", "Tab"].includes(event.key) && !strong) insert(key, list[pick], event.target);
    else if (list.length > 0 && event.key === "Escape") put(key, { at: null });
    else if (send && event.key === "Enter" && strong) send();
    else return;
    event.preventDefault();
  };
  return h("div", { class: "field asking", key: "body" }, h("label", { for: id }, words),
    h("textarea", { id, rows, value: form(key).body ?? value, maxlength: 64000, onkeydown: keyed, onblur: () => at && put(key, { at: null }),
      oninput: ({ target }) => put(key, { body: target.value, at: begun(target), pick: 0 }),
      "aria-autocomplete": "list", "aria-controls": list.length > 0 && `${id}-names`, "aria-activedescendant": list.length > 0 && `${id}-${pick}` }),
    list.length > 0 && h("ul", { class: "names", id: `${id}-names`, role: "listbox", "aria-label": "Members" }, list.map((name, index) =>
      h("li", { key: name, id: `${id}-${index}`, role: "option", "aria-selected": String(index === pick),
        onpointerdown: (event) => { event.preventDefault(); insert(key, name, document.getElementById(id)); } }, `@${name}`))));
}
