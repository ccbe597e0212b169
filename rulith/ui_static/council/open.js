/** A new thread: what is asked, by which tag, of whom, and what is pinned to it. */

import { e, h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { check, field, form, formOf, put } from "../components/forms.js";
import { button, iconButton, quiet } from "../components/parts.js";
import { pane } from "../components/screen.js";
import { known, marked } from "../components/states.js";
import { ask, does } from "./data.js";
import { agents, asking, go, isPerson, link, placeOf, rooms, tagOf, tags, to, who } from "./parts.js";

const KEY = "draft/new";

/** Whether anybody will answer, and where agents are if not here. */
function audience({ mentions = [], body = "" }, room, members, tag) {
  if (mentions.length > 0 || /(^|[^\p{L}\p{N}])@[\p{L}\p{N}]/u.test(body) || tag?.expects_replies === false) return null;
  if (members.length > 0) return marked("Nobody is asked, so no agent will answer.", "waiting", "waiting");
  const elsewhere = rooms().filter((row) => agents().some((each) => !isPerson(each) && each.rooms.includes(row.id))).slice(0, 5);
  return h("p", { class: "line", role: "status" }, marked(`No agent is in #${room.name}.`, "waiting", "waiting"), elsewhere.length > 0 && `There are some in ${elsewhere.map((row) => `#${row.name}`).join(", ")}.`, link("Make an agent", "project", room.project_id, "agent"));
}

function excerpts(rows, room) {
  const { open, path = "" } = form("excerpt");
  const paths = open ? ask("list_project_files", { project_id: room.project_id, depth: 6 }).value?.paths ?? [] : [];
  const add = () => {
    const { from, until } = form("excerpt");
    put(KEY, { context: [...rows, { kind: "file", path, ...(from && { start_line: Number(from) }), ...(until && { end_line: Number(until) }) }] });
    put("excerpt", { path: "", from: "", until: "" });
  };
  return h("details", { ontoggle: ({ target }) => target.open !== Boolean(open) && put("excerpt", { open: target.open }) }, e("summary", "Pin lines of a file"),
    e("ul.chips", rows.map((row) => h("li", { key: placeOf(row) }, icon("file"), placeOf(row), iconButton("close", `Leave out ${placeOf(row)}`, () => put(KEY, { context: rows.filter((each) => each !== row) }))))),
    e("div.filters", field("excerpt", "path", "Path in the project", { list: "c-paths" }), h("datalist", { id: "c-paths" }, paths.filter((each) => !each.endsWith("/")).map((each) => h("option", { key: each, value: each }))),
      field("excerpt", "from", "From line", { inputmode: "numeric" }), field("excerpt", "until", "To line", { inputmode: "numeric" }), button("Pin", add, { disabled: path === "" })));
}

function fill(s, act, room) {
  const { body = "", tag: key = "HELP_REQUEST", context = [], blind = false, ...fields } = form(KEY);
  const tag = tagOf(key), members = agents().filter((row) => row.rooms.includes(room.id) && !row.revoked_at && !isPerson(row));
  const mentions = (fields.mentions ?? []).filter((id) => members.some((row) => row.id === id));
  const git = ask("git_status", { project_id: room.project_id }).value, diff = Boolean(git?.is_repo && (fields.diff ?? git.dirty));
  const { case_id, type, status } = s.route.query;
  const send = async () => {
    const { title = "", body: asked = "", client_ref = crypto.randomUUID() } = form(KEY);      // as it is now, which may not be drawn yet
    put(KEY, { client_ref });                       // sent again, it finds the thread instead of opening another
    const made = await does(KEY, "create_thread", { room: room.id, title, body: asked, tag: key, mentions, include_diff: diff, context, blind, client_ref, ...(case_id && { case_id, case: { type, status } }) });
    if (made) go("room", room.id, "thread", made.thread_id);
  };
  const drop = () => { put(KEY, null); go("room", room.id); };
  return formOf(KEY, act, "Open the thread", send, [
    e("div.filters", field("place", "room", "Room", { options: rooms().map((row) => [row.id, `${row.project_name} · #${row.name}`]), value: room.id,
      onchange: ({ target }) => { location.hash = location.hash.replace(/council\/[^?]*/, `council/room/${target.value}/new`); } }), field(KEY, "tag", "What kind of question", { options: tags().map((each) => [each.tag, each.label]), value: key })),
    tag && quiet(tag.expects, tag.verdicts.length > 0 && ` Verdicts: ${tag.verdicts.join(", ")}.`),
    case_id && quiet("About the Case ", e("code", case_id), ", pinned with its type and state alone."),
    field(KEY, "title", "Title", { maxlength: 300, required: true }), asking(KEY, "The question", [...members.map((row) => row.name), "everyone"], { rows: 8, send }),
    members.length > 0 && e("fieldset", e("legend", "Whom it asks"), members.map((row) => check(row.id, [who(row.name, row.color), e("span.quiet", row.system_note)], mentions.includes(row.id), (on) => put(KEY, { mentions: on ? [...mentions, row.id] : mentions.filter((id) => id !== row.id) })))),
    audience({ mentions, body }, room, members, tag),
    check("blind", "Blind first round: those asked answer before they see each other", blind, (on) => put(KEY, { blind: on })),
    git?.is_repo && check("diff", `Pin the uncommitted changes${git.dirty ? "" : " (there are none)"}`, diff, (on) => put(KEY, { diff: on })),
    excerpts(context, room)], { more: button("Throw this draft away", drop) });
}

export const open = (s, act, id, back = to("needs", 0)) => pane(s, act, "detail", "New thread", known(act, "rooms", ask("list_rooms"), (all) => {
  const room = all.find((row) => row.id === id) ?? all[0];
  return room && fill(s, act, room);
}), { back });
