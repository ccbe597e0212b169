/** Rooms, projects and agents: what may be changed, keys, keeping awake, and what is lost when one is deleted. */

import { e, h } from "../lib/dom.js";
import { when } from "../lib/time.js";
import { frame } from "../components/dialogs.js";
import { check, field, fieldsOf, form, formOf, losing, put, sure, touched } from "../components/forms.js";
import { button, pairs, quiet } from "../components/parts.js";
import { page, pane } from "../components/screen.js";
import { known, marked } from "../components/states.js";
import { plural } from "../words.js";
import { ask, call, dialog, does, quick } from "./data.js";
import { agents, colorField, go, isPerson, link, press, rooms, usd, who } from "./parts.js";

const NAME = ["name", "Name", { required: true, maxlength: 80 }];
const PURPOSE = ["purpose", "Purpose", { maxlength: 2000 }];
const CAPS = [["max_replies_per_agent", "Replies per agent in a thread"], ["max_thread_messages", "Replies per thread"], ["cost_cap_usd", "Money in USD, 0 for no limit"], ["response_timeout_secs", "Seconds until a claim is quiet"]];
const KIND = [["launch_cmd", "Program", { class: "mono" }], ["mcp_install_mode", "It learns of the council by", { options: [["config_file_flag", "a file named by a flag"], ["env", "its environment"], ["none", "nothing"]] }]];
const FOLDER = ["folder_path", "Folder", { class: "mono", note: "What is pinned to threads stays as it was." }];

const GONE = quiet("This is not there any more.");

const agentFields = () => [NAME, ["profile_id", "Kind", { options: [["", "not said"], ...(ask("list_profiles").value ?? []).map((row) => [row.id, row.label])] }], colorField,
  ["system_note", "Note", { maxlength: 2000, note: "What it is good at; the others read this." }]];

/** A form of what a row holds; what was changed is sent. */
const changing = (key, act, row, list, name, words, more) => formOf(key, act, words, async () => await does(key, name, { ...touched(key, row), ...more() }) && act.tell("Saved"), fieldsOf(key, list, row));

/** A form of what is made; `then` is told the answer and the fields. */
const making = (key, act, words, list, name, args, then, more) => formOf(key, act, words, async () => {
  const { busy: _, refusal: __, ...given } = form(key), made = await does(key, name, { ...given, ...args() });
  if (made) then(made, given);
}, [fieldsOf(key, list), more]);

const agentRow = (row, ...more) => h("li", { key: row.id, class: "look" }, who(row.name, row.color), e("span.quiet.grow", isPerson(row) ? "person, in every room" : row.profile_label ?? "agent"),
  row.revoked_at && marked("revoked", "bad", "refused"), !isPerson(row) && link("Settings", "agent", row.id), more);

function members(room, act) {
  const key = `members/${room.id}`, all = agents().filter((row) => row.project_id === room.project_id);
  const others = all.filter((row) => !isPerson(row) && !row.rooms.includes(room.id));
  return e("section", e("h3", "Members"), e("ul.case-list", all.filter((row) => row.rooms.includes(room.id)).map((row) => agentRow(row, !isPerson(row)
    && button("Remove", () => quick(act, "leave_room", { agent_id: row.id, room_id: room.id }), { "aria-label": `Remove ${row.name} from the room` })))),
  others.length > 0 && formOf(key, act, "Add to the room", () => does(key, "join_room", { agent_id: Number(form(key).agent), room_id: room.id }), field(key, "agent", "An agent of this project", { options: [["", "choose one"], ...others.map((row) => [row.id, row.name])] }), { off: () => !form(key).agent }),
  e("p", link("Make an agent", "project", room.project_id, "agent")));
}

export const room = (s, act, id, back) => pane(s, act, "detail", "Room settings", known(act, "room", ask("list_rooms"), (all) => {
  const row = all.find((each) => each.id === id), key = `room/${id}`;
  return !row ? GONE : [e("section", row.paused ? marked("Paused: agents neither open nor answer here", "waiting", "waiting") : quiet(`Agents open and answer here. ${usd(row.spent_usd)} spent so far.`),
    e("div.row", press(row.paused ? "Let agents go on" : "Pause the room", () => quick(act, "update_room", { id, paused: !row.paused })))),
  changing(key, act, row, [PURPOSE, ...CAPS], "update_room", "Save the room", () => ({ id })), members(row, act),
  losing(`lose/${key}`, act, "Delete the room", `#${row.name}`, "All of its threads and replies go with it. Records in the project's folder stay.", async () => await does(`lose/${key}`, "delete_room", { id }) && go("needs", 0))];
}), { back });

const deletingAgent = (row, act) => losing(`lose/agent/${row.id}`, act, "Delete the agent", row.name, "One that has written is revoked instead, so that its words keep their author.", () => does(`lose/agent/${row.id}`, "delete_agent", { id: row.id }));

export const project = (s, act, id) => known(act, "project", ask("list_projects"), (all) => {
  const row = all.find((each) => each.id === id), key = `project/${id}`, stats = ask("project_stats", { id }).value;
  const own = agents().filter((each) => each.project_id === id && !isPerson(each));
  if (s.route.at[2] === "agent") return create(s, act, id);
  return !row ? page(s, act, "Project", GONE) : page(s, act, row.name, changing(key, act, row, [NAME, colorField, FOLDER], "update_project", "Save the project", () => ({ id })), pairs([["Remote", row.git_remote]]),
    e("section", e("h3", "New room"), making(`room/${key}`, act, "Make the room", [NAME, PURPOSE], "create_room", () => ({ project_id: id }), (made) => go("room", made.id))),
    e("section", e("h3", "Agents"), e("ul.case-list", own.map((each) => agentRow(each, deletingAgent(each, act)))), e("p", link("Make an agent", "project", id, "agent"))),
    losing(`lose/${key}`, act, "Delete the project", row.name, stats ? `Lost with it: ${plural(stats.rooms, "room")}, ${plural(stats.threads, "thread")}, ${plural(stats.messages, "reply", "replies")}, ${plural(stats.agents, "agent")}. Kept in its folder: ${plural(stats.exported_records, "record")}.` : "", async () => await does(`lose/${key}`, "delete_project", { id }) && go("needs", 0)));
});

export const add = (s, act) => page(s, act, "Add a project folder",
  e("p", "In a council, programs and you argue a question to a recorded decision. It begins with a folder on this computer: agents may read it, within limits, and records are written to its ", e("code", ".rivendell/threads"), "."),
  making("add", act, "Add the folder", [["folder", "Folder", { required: true, class: "mono", note: "The full path of a folder that is there. It gets a room #general." }], ["name", "Name", { maxlength: 80, note: "Empty takes the folder's name." }]], "create_project", () => ({}), async ({ id }) => go("room", (await call("list_rooms", {})).find((row) => row.project_id === id).id)));

const joining = (key, list, joined, change) => e("fieldset", e("legend", "Rooms"), list.map((row) => check(row.id, `#${row.name}`, joined.includes(row.id), (on) => change(row.id, on))));
const kindOf = (given) => ("profile_id" in given ? { profile_id: given.profile_id === "" ? null : Number(given.profile_id) } : {});

function create(s, act, id) {
  const key = `agent/of/${id}`, list = rooms().filter((row) => row.project_id === id), joined = form(key).rooms ?? list.slice(0, 1).map((row) => row.id);
  return page(s, act, "Make an agent", making(key, act, "Make the agent and show its key", agentFields(), "create_agent", () => ({ project_id: id, rooms: joined, ...kindOf(form(key)) }), (made, { name }) => { go("agent", made.agent_id); dialog({ made, name }); },
    joining(key, list, joined, (room_, on) => put(key, { rooms: on ? [...joined, room_] : joined.filter((each) => each !== room_) }))));
}

const AWAKE = { starting: ["starting", "running", "running"], awake: ["awake, waiting", "done", "online"], running: ["running", "running", "running"] };

/** What the supervisor tells of an agent that is kept awake, and what it may cost. */
function awake(row, act, now) {
  const key = `awake/${row.id}`;
  const { state, trouble, threads = [], last_run_at, why_not, program, starts_last_hour: starts, starts_per_hour_max: most, run_limit_s } = ask("awake_status", { id: row.id }).value?.[0] ?? {};
  if (!state) return null;
  return h("section", { "aria-label": "Keep awake" }, e("h3", "Keep awake"),
    e("p.line", trouble ? marked(`stopped: ${trouble}`, "bad", "failed") : marked(...AWAKE[state] ?? ["asleep", "quiet", "offline"]), state === "running" && threads.map((id) => `#${id}`).join(", "),
      last_run_at && ["last ran", when(last_run_at, now)], starts > 0 && `${starts} of ${most} starts in the last hour`),
    row.awake ? press("Let it sleep", () => quick(act, "set_agent_awake", { id: row.id, awake: false })) : why_not ? quiet(why_not)
      : sure(key, act, "Keep awake", `The council will start ${program} by itself for each thread that needs ${row.name}: up to ${most} times an hour, each up to ${Math.round(run_limit_s / 60)} minutes. Its provider charges for every start; the room's limit counts only what the agent reports.`, "Keep it awake", () => does(key, "set_agent_awake", { id: row.id, awake: true })));
}

export const agent = (s, act, id) => known(act, "agent", ask("list_agents"), (all) => {
  const row = all.find((each) => each.id === id), key = `agent/${id}`;
  if (!row || isPerson(row)) return page(s, act, row?.name ?? "Agent", row ? quiet("This is you: in every room of the project, and without a key.") : GONE);
  const rotate = async () => { const made = await does(`key/${id}`, "rotate_agent_key", { id }); if (made) dialog({ made, name: row.name }); };
  return page(s, act, row.name, changing(key, act, { ...row, profile_id: row.profile_id ?? "" }, agentFields(), "update_agent", "Save the agent", () => ({ id, ...kindOf(form(key)) })),
    joining(key, rooms().filter((each) => each.project_id === row.project_id), row.rooms, (room_id, on) => quick(act, on ? "join_room" : "leave_room", { agent_id: id, room_id })),
    awake(row, act, s.now),
    e("section", e("h3", "Key"), e("p.line", e("code", row.key_preview), row.revoked_at && marked("revoked", "bad", "refused")), e("div.row", sure(`key/${id}`, act, "New key", "The key it uses now fails at once, and what it holds open ends.", "Make a new key", rotate),
      press(row.revoked_at ? "Let it in again" : "Revoke", () => quick(act, "set_agent_revoked", { id, revoked: !row.revoked_at })))),
    quiet("It is deleted in the ", link("settings of its project", "project", row.project_id), "."));
});

export const kinds = (s, act) => page(s, act, "Kinds of agents", quiet("How the council starts an agent that is kept awake."), known(act, "kinds", ask("list_profiles"), (all) => [...all, { key: "", launch_args: "[]", mcp_install_mode: "env" }].map((row) => {
  const key = `kind/${row.key}`, lines = JSON.parse(row.launch_args).join("\n");
  const save = () => {
    const { key: name, label, icon, notes, launch_cmd, mcp_install_mode, args = lines } = { ...row, ...form(key) };
    return does(key, "upsert_profile", { key: name, label, icon, notes, launch_cmd, mcp_install_mode, launch_args: args === "" ? [] : args.split("\n") });
  };
  return h("details", { key }, e("summary", row.label ?? "Another kind", " ", row.launch_cmd ? e("code.quiet", row.launch_cmd) : row.key && e("span.quiet", "you start it")),
    formOf(key, act, "Save the kind", save, [fieldsOf(key, row.key ? KIND : [["key", "Short name", { required: true, maxlength: 80 }], ...KIND], row), field(key, "args", "Arguments, one a line", { rows: 6, class: "mono", value: lines })]));
})));

// --- what floats ------------------------------------------------------------------------

const ready = (act, title, text) => h("section", { key: title }, e("h3", title), h("pre", { tabindex: 0, "aria-label": title }, text), button("Copy", () => act.copy(text, `${title} copied`), { mark: "copy", "aria-label": `Copy ${title}` }));
const close = () => { document.querySelector("dialog[open]")?.close(); dialog(null); };

/** The one view of a key closes by its own button alone, since nothing shows it again; a record closes as all does. */
export function layer(s, act) {
  const { made, name, project_id, path } = s.ui.council ?? {};
  if (made) {
    return frame("agent-key", `Key of ${name}`, act, () => { act.tell("The key is shown this once: its last button closes it"); document.querySelector(".agent-key .primary").focus(); }, e("div.dialog-body", e("p", "This is shown once. Whoever holds it is this agent: give it to that program alone, never to a whole shell."),
      ready(act, "The key", made.api_key), ready(act, "For an MCP host", JSON.stringify(made.mcp_json, null, 2)), ready(act, "For Claude Code", made.claude_cli), ready(act, "Through the bridge", JSON.stringify(made.shim_json, null, 2))),
    e("footer.dialog-foot", button("I have kept it: close", close, { kind: "primary" })));
  }
  return path && frame("record", "Record", act, close, e("div.dialog-body", known(act, "record", ask("file_preview", { project_id, path }), ({ text }) => ready(act, path, text))));
}
