/** The conversations of an Agent, #/talks/<agent>?q=<words>&away=1: found by their words, active ones and those archived. */

import { at, get } from "../api.js";
import { asked, stale } from "../asks.js";
import { button, quiet } from "../components/parts.js";
import { page, screenOf } from "../components/screen.js";
import { empty, known } from "../components/states.js";
import { e, h } from "../lib/dom.js";
import { when } from "../lib/time.js";
import { write } from "../route.js";
import { listeners } from "../sync.js";
import { plural } from "../words.js";

const WORDS_MAX = 200;
const WHO = { you: "You", agent: "The Agent" };

document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("talks.css", import.meta.url).href }));
const moved = listeners.archived;
listeners.archived = (row) => { moved(row); stale(({ talks }) => talks); };

const place = (id, talk, turn = "") => write({ instance: id, tab: "now", case: "", fact: "", talk, turn });
const here = (id, query) => `#/talks/${encodeURIComponent(id)}?${new URLSearchParams(Object.entries(query).filter(([, value]) => value))}`;

function search(s, id) {
  const find = (event) => {
    event.preventDefault();
    location.hash = here(id, { q: event.target.elements.words.value.trim(), away: s.route.query.away });
  };
  return h("form", { class: "filters", role: "search", onsubmit: find },
    h("label", { class: "field" }, "Words in any conversation", h("input", { id: "talk-words", name: "words", type: "search", maxlength: WORDS_MAX, value: s.route.query.q ?? "", "data-first": true })),
    h("button", { type: "submit", class: "primary" }, "Find"));
}

const hit = (id, row, now) => h("li", { key: `${row.sessionKey} ${row.turn}` }, h("a", { class: "found", "data-row": true, href: place(id, row.sessionKey, row.turn + 1) },
  e("span.over", `${WHO[row.who]} in “${row.title}”`, row.archived && " (archived)", ", message ", (row.turn + 1).toLocaleString("en"), " · ", when(row.at, now)),
  e("span", row.before, e("mark", row.match), row.after)));

function found(s, act, id, words) {
  return known(act, "search", asked(`find ${id} ${words}`, () => get(at(id, "conversations/search", { text: words })), { talks: true }), (answer) => [
    h("p", { class: "quiet", role: "status" }, answer.found.length === 0 ? "Nobody said that. " : `${plural(answer.found.length, "message")}, the newest first. `,
      answer.isPartial && `Looked through the newest ${answer.looked.toLocaleString("en")} of ${answer.turns.toLocaleString("en")} messages.`),
    h("ul", { "data-list": true }, answer.found.map((row) => hit(id, row, s.now)))]);
}

function list(s, act, id, isAway) {
  const offsets = Array.from({ length: s.ui.more[`talks ${id}`] ?? 1 }, (_, index) => index);
  let next = null;
  const pages = offsets.map((index) => known(act, "list", asked(`list ${id} ${isAway} ${index}`, () => get(at(id, "conversations", { archived: isAway, offset: index * 50 })), { talks: true }), (answer) => {
    next = answer.hasMore ? answer : null;
    if (answer.total === 0) return empty(isAway ? "No conversation is archived." : "No conversation yet.", isAway ? "An archived one stays here and takes no message." : "Write to the Agent and one begins.");
    return answer.conversations.map((row) => h("li", { key: row.sessionKey, class: "talk-row" },
      h("a", { "data-row": true, href: place(id, row.sessionKey) }, row.title),
      e("span.quiet", `${row.turns.toLocaleString("en")} ${row.turns === 1 ? "message" : "messages"} · `, when(row.at, s.now)),
      button(isAway ? "Restore" : "Archive", () => act.archive(id, row.sessionKey, !isAway))));
  }));
  return [h("ul", { "data-list": true }, pages),
    next && button(`Show more of ${next.total.toLocaleString("en")}`, () => act.more(`talks ${id}`, offsets.length + 1))];
}

export function view(s, act) {
  const id = s.route.at[0] ?? "";
  const { q = "", away = "" } = s.route.query;
  const instance = s.bench?.instances.find((row) => row.id === id);
  if (!instance) return screenOf(s, "talks", true, page(s, act, "Conversations", quiet("There is no such Agent in this home.")));
  const kind = (words, value) => h("a", { href: here(id, { away: value }), "aria-current": away === value && q === "" ? "page" : false }, words);
  return screenOf(s, "talks", true, page(s, act, `Conversations with ${instance.name}`,
    h("p", {}, h("a", { href: place(id, "") }, "Back to the conversation")),
    search(s, id),
    q ? found(s, act, id, q) : [h("nav", { class: "kinds", "aria-label": "Which conversations" }, kind("Active", ""), kind("Archived", "1")), list(s, act, id, away === "1")]));
}

export const up = (s) => { location.hash = place(s.route.at[0], ""); return true; };
