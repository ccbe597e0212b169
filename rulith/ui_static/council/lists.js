/** Lists: the threads of a room, what needs the person, what a search found; calibration and the looks into files. */

import { e, h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { when } from "../lib/time.js";
import { check, field, form, formOf } from "../components/forms.js";
import { quiet } from "../components/parts.js";
import { page, pane } from "../components/screen.js";
import { empty, known, mark, marked, windowed } from "../components/states.js";
import { plural } from "../words.js";
import { ask, notifies, notify } from "./data.js";
import { agents, isPerson, link, rooms, spent, tagOf, tags, threadState, to, usd, who } from "./parts.js";

const ALL = 200;
const STATUSES = [["open", "open"], ["all", "all"], ["resolved", "ended"], ["blocked", "blocked"]];
const SORTS = [["last_reply", "newest reply"], ["created", "newest thread"], ["activity", "most replies"]];

/** How far the answers are: at work, given, or awaited. */
const answers = (row) => (row.in_progress > 0 ? `${row.in_progress} working` : row.responder_count > 0 ? `${row.responder_count} replied` : "waiting");

const threads = (s, act, place, rows, order) => windowed(s, act, `threads ${place}`, rows, (row) => h("li", { key: row.id },
  h("a", { class: "case-row", "data-row": true, "data-thread": row.id, href: to(...place, "thread", row.id), "aria-current": s.route.at[3] === String(row.id) ? "page" : false },
    e("span.case-key", row.title), e("span.quiet", `#${row.id}`),
    e("span.line", mark(threadState(row), "small"), e("span.tier", tagOf(row.tag)?.label ?? row.tag)), when(row.last_reply_at ?? row.created_at, s.now),
    e("span.quiet.wide", `${row.author_name} · ${plural(row.reply_count, "reply", "replies")} · ${answers(row)}`, row.cost_usd > 0 && ` · ${usd(row.cost_usd)}`))), order);

function room(s, act, id) {
  const row = rooms().find((each) => each.id === id), { status = "open", tag = "", sort = "last_reply" } = form("filter");
  return pane(s, act, "list", row ? `#${row.name}` : "Room", [
    row?.purpose && quiet(row.purpose),
    row?.paused && marked("Paused: agents neither open nor answer here.", "waiting", "waiting"),
    row && quiet(`${spent(row)} spent, as the agents say`),
    e("div.filters", field("filter", "status", "Show", { options: STATUSES }), field("filter", "sort", "First", { options: SORTS }), field("filter", "tag", "Tag", { options: [["", "every tag"], ...tags().map((each) => [each.tag, each.label])] })),
    known(act, "threads", ask("list_threads", { room: id, status, sort, limit: ALL, ...(tag && { tag }) }), (rows) => (rows.length === 0
      ? empty(status === "open" ? "No open thread." : "No thread of this kind.", "A thread asks those it names, and ends with a recorded decision.", row && status === "open" && !agents().some((each) => !isPerson(each) && each.rooms.includes(id)) && [" No agent is here to answer yet: ", link("Make an agent", "project", row.project_id, "agent"), "."])
      : [threads(s, act, ["room", id], rows, "the first by this order"), rows.length === ALL && quiet(`The first ${ALL}. A tag or a state narrows them; the search finds the rest.`)])),
  ], { tools: [h("a", { class: "button", href: to("room", id, "new") }, "New thread"), h("a", { class: "plain", href: to("room", id, "settings"), "aria-label": "Room settings" }, icon("gear"))] });
}

const needs = (s, act) => pane(s, act, "list", "Needs you", [
  check("notify", "Notify me while I look elsewhere", notifies(), (on) => notify(on, act)),
  known(act, "list", ask("needs_you"), (rows) => (rows.length === 0
    ? empty("No thread waits for you.", "One that asks you, or answers yours, appears here, the longest waiting first.")
    : threads(s, act, ["needs", 0], rows.map((row) => ({ ...row, waits_for_person: true })), "the longest waiting first"))),
]);

/** An excerpt with what was looked for between « and ». */
const excerpt = (text) => text.split(/[«»]/).map((part, index) => (index % 2 === 1 ? e("mark", part) : part));

function search(s, act) {
  const { query = "" } = s.route.query, named = new Map(rooms().map((row) => [row.id, row.name]));
  const look = () => { location.hash = `${to("search", 0)}?${new URLSearchParams({ query: form("search").query ?? query })}`; };
  const found = (row) => h("li", { key: row.kind + row.ref_id }, h("a", { class: "case-row", "data-row": true, href: `${to("search", 0, "thread", row.thread_id)}?${new URLSearchParams({ query })}` },
    e("span.case-key", row.title), e("span.quiet", `#${row.thread_id}`), e("span.wide", excerpt(row.excerpt)), e("span.quiet", `#${named.get(row.room_id) ?? ""}`)));
  return pane(s, act, "list", "Search", [formOf("search", act, "Search", look, field("search", "query", "Words of threads and replies", { value: query, type: "search" })),
    query && known(act, "results", ask("search", { query }), (rows) => (rows.length === 0 ? empty("Nothing holds all of these words.") : windowed(s, act, `search ${query}`, rows, found, "the best first")))]);
}

export const LISTS = { room, needs, search };

export const calibration = (s, act) => page(s, act, "Calibration", quiet("Verdicts that agents gave in threads which came to one, and how many of them the end overturned."),
  known(act, "calibration", ask("calibration"), (rows) => (rows.length === 0
    ? empty("Nothing to compare yet.", "It needs threads that were resolved with what they came to.")
    : e("table.table", e("thead", e("tr", ["Agent", "Tag", "Verdicts", "Overturned"].map((each) => h("th", { key: each, scope: "col" }, each)))),
      e("tbody", rows.map((row) => h("tr", { key: `${row.agent_id} ${row.tag}` }, h("th", { scope: "row" }, row.name), e("td", tagOf(row.tag)?.label ?? row.tag), e("td", row.verdicts),
        e("td", `${row.overturned} (${Math.round(100 * row.overturned / row.verdicts)} %)`))))))));

export function looks(s, act) {
  const { agent = "" } = form("looks");
  const gone = (ask("file_access_dropped", agent && { agent_id: Number(agent) } || {}).value ?? []).reduce((sum, row) => sum + row.count, 0);
  return page(s, act, "Looks into files", quiet(`Each look into a project's folder, those refused too.${gone ? ` ${gone} older ones are no longer kept.` : ""}`),
    field("looks", "agent", "Of", { options: [["", "everybody"], ...agents().map((row) => [row.id, row.name])] }),
    known(act, "log", ask("file_access", { limit: 1000, ...(agent && { agent_id: Number(agent) }) }), (rows) => (rows.length === 0 ? empty("Nothing was looked at.")
      : windowed(s, act, `looks ${agent}`, rows, (row) => h("li", { key: row.id, class: "look" }, row.allowed ? marked(row.act, "quiet", "file") : marked(`${row.act} refused`, "bad", "refused"),
        e("code.grow", row.path || "the project's folder"), who(row.name, agents().find((each) => each.id === row.agent_id)?.color), when(row.created_at, s.now), row.reason && quiet(row.reason)), "newest first", 100))));
}
