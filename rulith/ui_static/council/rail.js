/** The council's part of the rail: what needs the person, the rooms by project, who is connected, and where. */

import { e, h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { ago, moment, when } from "../lib/time.js";
import { iconButton, pairs, quiet } from "../components/parts.js";
import { marked } from "../components/states.js";
import { ask } from "./data.js";
import { go, link, rooms, to, who } from "./parts.js";

const NEAR_MS = 90_000, LISTED_MS = 300_000;
const MORE = [["calibration", "Calibration"], ["looks", "Looks into files"], ["kinds", "Kinds of agents"]];

export const waiting = () => ask("needs_you").value?.length ?? 0;

const entry = (s, act, words, place, ...marks) => h("li", { key: place.join() }, h("a", { href: to(...place), class: "agent room", "data-row": true, onclick: () => act.sheet(""),
  "aria-current": s.route.screen === "council" && place.every((part, index) => s.route.at[index] === String(part)) ? "page" : false }, e("span.grow", words), marks));

const room = (s, act, row) => entry(s, act, `#${row.name}`, ["room", row.id], row.paused && marked("paused", "waiting", "waiting"),
  row.open_threads > 0 && e("span.quiet", row.open_threads, e("span.sr", " open")));

const list = (...rows) => h("ul", { class: "agents", "data-list": true }, rows);

const project = (s, act, row) => h("li", { key: row.id },
  e("div.project", e("span.grow", who(row.name, row.color)), h("a", { class: "plain", href: to("project", row.id), "aria-label": `Settings of ${row.name}`, onclick: () => act.sheet("") }, icon("gear"))),
  list(rooms().filter((each) => each.project_id === row.id).map((each) => room(s, act, each))));

/** How an agent is reached: connected now, just between two polls, or silent. */
function presence(row, now) {
  if (row.connections.length > 0) return marked("connected", "done", "online");
  return now - moment(row.last_seen) < NEAR_MS ? marked("between polls", "done", "offline") : marked(`seen ${ago(row.last_seen, now)}`, "quiet", "offline");
}

const connected = (row, now) => h("li", { key: row.agent_id }, e("details", e("summary", who(row.name, row.color), " ", presence(row, now)),
  pairs([["Project", row.project_name], ["Folder", e("code", row.folder_path)], ["Kind", row.profile_label], ["Rooms", row.rooms.map((each) => `#${each}`).join(", ")],
    ["Holds", row.connections.map((each, index) => h("div", { key: index }, `${each.kind} `, when(each.since, now)))], ["Heard", when(row.last_seen, now)], ["", link("Settings", "agent", row.agent_id)]])));

export function rail(s, act) {
  const needs = waiting(), { url, state } = s.bench.council;
  const here = (ask("list_connections").value ?? []).filter((row) => row.connections.length > 0 || s.now - moment(row.last_seen) < LISTED_MS);
  return h("section", { class: "c-rail", "aria-labelledby": "c-rail", key: "council" },
    e("div.project", h("h2", { class: "over grow", id: "c-rail" }, "Council"), iconButton("plus", "Add a project folder", () => { act.sheet(""); go("add"); }, { title: "Add a project folder" })),
    list(entry(s, act, "Needs you", ["needs", 0], needs > 0 && e("span.count", needs, e("span.sr", " waiting"))), entry(s, act, "Search", ["search", 0])),
    e("ul", (ask("list_projects").value ?? []).map((row) => project(s, act, row))),
    e("details", e("summary", "Records and kinds"), list(MORE.map(([place, words]) => entry(s, act, words, [place])))),
    here.length > 0 && h("details", { key: "here", hook: (element) => { element.open = true; } },
      e("summary", `Connected: ${here.filter((row) => row.connections.length > 0).length} of ${here.length}`), e("ul", here.map((row) => connected(row, s.now)))),
    quiet(state === "online" ? ["For agents: ", e("code.small-id", `${url}/mcp`)] : `The council is ${state.replaceAll("_", " ")}.`));
}
