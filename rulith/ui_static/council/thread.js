/** One thread: what is asked and of whom, what was pinned, who answered what, and how it ends. */

import { e, h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { ago, moment, when } from "../lib/time.js";
import { field, form, formOf, idOf, problem, put, takesFocus } from "../components/forms.js";
import { button, quiet } from "../components/parts.js";
import { pane } from "../components/screen.js";
import { known, mark, marked } from "../components/states.js";
import { change } from "../store.js";
import { plural } from "../words.js";
import { ask, dialog, does, quick } from "./data.js";
import { agents, asking, insert, isOver, isPerson, placeOf, press, prose, rooms, spent, tagOf, threadState, usd, who } from "./parts.js";

const FOLDED_LINES = 40, SHOWN = 100, NEAR_END_PX = 60, TITLE_CHARS = 100;
const SEVERITIES = ["", "CRITICAL", "HIGH", "MEDIUM", "LOW", "INFO"].map((each) => [each, each || "none"]);
const SEVERE = { CRITICAL: "bad", HIGH: "bad", MEDIUM: "waiting" };
const LINE = { "+": "done", "-": "bad", "@": "running" };
let reading = { id: 0, seen: 0, count: 0, atEnd: false };     // how far the open thread was read

/** Who speaks: what they are stands beside each name, whatever the name says. */
const spoke = (isPerson_, supervised) => e("span.quiet", isPerson_ ? "person" : supervised ? "program, started by the council" : "program");
const verdicts = (words) => [["", "none"], ...words.map((each) => [each, each])];
const diffLines = (text) => text.split("\n").map((line, index) => h("span", { key: index, class: `is-${LINE[line[0]] ?? "same"}` }, `${line}\n`));

/** What was pinned when the thread was opened; the long ones are folded. */
function pinned(item, index) {
  const name = item.path ? placeOf(item) : item.kind === "diff" ? "Changes of the working tree" : "Note";
  const lines = item.content.split("\n").length;
  return h("details", { key: index, hook: (element) => { element.open = lines <= FOLDED_LINES; } }, e("summary", icon("file"), " ", e("code", name), ` ${plural(lines, "line")}`),
    h("pre", { tabindex: 0, "aria-label": name }, item.kind === "diff" ? diffLines(item.content) : item.content));
}

/** Say what came of an act, and of the record that it may have written. */
const told = (act, made) => made && act.tell(made.record_problem || (made.export_path ? `Written to ${made.export_path}` : "Done"));

/** A text of one's own, or the form that changes it. */
function changeable(key, words, act, ctx, row, name, more) {
  if (!form(key).open) return [prose(row.body, ctx.names), (row.is_person ?? true) && button(words, () => put(key, { open: true, body: row.body }), { kind: "inline" })];
  const save = async () => {
    const { body, verdict, severity } = { ...row, ...form(key) };
    told(act, await does(key, name, row.refs ? { message_id: row.id, body, verdict: verdict || null, severity: severity || null, refs: row.refs } : { thread_id: row.id, body }));
  };
  return formOf(key, act, "Save the change", save, [asking(key, words, ctx.names, { value: row.body, send: save }), more], { more: button("Leave it as it was", () => put(key, null)), hook: takesFocus });
}

const chosen = (key, { tag }, row = {}) => e("div.filters", tag?.verdicts.length > 0 && field(key, "verdict", "Verdict", { options: verdicts(tag.verdicts), value: row.verdict }),
  field(key, "severity", "Severity", { options: SEVERITIES, value: row.severity }));

const message = (row, s, act, ctx) => h("article", { key: row.id, class: "message", "aria-label": `Reply ${row.id} of ${row.author_name}` },
  e("header.line", who(row.author_name, row.author_color), spoke(row.is_person, row.supervised), row.verdict && e("strong.mono", row.verdict),
    row.severity && e(`span.is-${SEVERE[row.severity] ?? "quiet"}`, row.severity), row.edited_at && e("span.quiet", "edited"), when(row.created_at, s.now)),
  changeable(`edit/${row.id}`, "Edit your reply", act, ctx, row, "edit_message", chosen(`edit/${row.id}`, ctx, row)),
  row.refs.length > 0 && h("ul", { class: "plain-list", "aria-label": "References" }, row.refs.map((ref) => e("li", e("code", ref.line ? `${ref.path}:${ref.line}` : ref.path), ref.note && ` ${ref.note}`))),
  (row.tokens_in || row.tokens_out || row.cost_usd > 0) && quiet(`${row.tokens_in ?? 0} tokens in, ${row.tokens_out ?? 0} out, ${usd(row.cost_usd ?? 0)}, as it says`));

/** In a blind round the person, if asked too, may answer before looking. */
function messages(thread, s, act, ctx) {
  const rows = thread.messages, from = s.ui.more[`thread ${thread.id}`] ? 0 : Math.max(0, rows.length - SHOWN);
  const list = [from > 0 && button(`Show ${from} earlier replies`, () => act.more(`thread ${thread.id}`, 1)), rows.slice(from).map((row) => message(row, s, act, ctx))];
  if (rows.length === 0) return quiet("No reply yet.");
  const veiled = thread.blind_now && thread.mentions.includes(ctx.me?.id) && !rows.some((row) => row.is_person);
  return veiled ? e("details", e("summary", `${plural(rows.length, "answer")} in. You are asked too: answer first, or look now`), list) : list;
}

const claims = (thread, now) => thread.claims.map((claim) => h("p", { key: claim.agent_id, class: "line" }, who(claim.agent_name, claim.color),
  now - moment(claim.claimed_at) > thread.response_timeout_secs * 1000 ? marked(`went quiet, ${ago(claim.claimed_at, now)}`, "unknown", "unknown") : marked("at work", "running", "running"), claim.note));

const about = (thread, { tag, room }, now) => e("div.about",
  e("p.line", mark(threadState(thread), "small"), e("span.tier", tag?.label ?? thread.tag), e("span", "opened by ", who(thread.author_name, thread.author_color)), spoke(thread.author_is_person, thread.author_supervised), when(thread.created_at, now)),
  e("p.line", "Asks ", thread.asked.length > 0 ? thread.asked.map((name) => h("strong", { key: name }, name)) : isOver(thread) ? "nobody" : marked("nobody, so no agent answers", "waiting", "waiting")),
  quiet(plural(thread.reply_count, "reply", "replies"), room && ` of at most ${room.max_thread_messages}`, `, ${usd(thread.cost_usd)} here`, room && `, ${spent(room)} in #${room.name}, as the agents say`,
    thread.git_ref && [". At the commit ", h("code", { title: thread.git_ref }, thread.git_ref.slice(0, 12)), thread.git_dirty && e("span.is-waiting", " with uncommitted changes")]),
  thread.case_id && e("p", "About the Case ", h("a", { href: `#//cases/${encodeURIComponent(thread.case_id)}` }, e("code", thread.case_id)), thread.operation && [", operation ", e("code", thread.operation)]),
  thread.blind_now && e("p.line", marked("blind round", "running", "waiting"), "Those who are asked see each other's answers once they have answered."));

const resolution = (thread, now) => thread.resolution_summary && h("section", { class: `box quiet-box ${isOver(thread) ? "" : "past"}`, "aria-label": "Resolution" },
  e("h3", isOver(thread) ? "Resolution" : "Earlier resolution, reopened since"), prose(thread.resolution_summary, []),
  quiet(thread.resolved_by_name && `By ${thread.resolved_by_name} (${thread.resolved_by_kind === "person" ? "person" : "program"}) `, when(thread.resolved_at, now), thread.settled_verdict && [". It came to ", e("strong", thread.settled_verdict)]),
  thread.export_path && quiet("Recorded in ", e("code", thread.export_path), e("span.small-id", ` ${thread.record_digest ?? ""}`)));

function ending(thread, act, { tag }) {
  const key = `end/${thread.id}`, { mode } = form(key), back = (words) => button(words, () => put(key, null));
  const done = async (name, args) => told(act, await does(key, name, { thread_id: thread.id, ...args }));
  const box = (...body) => h("div", { key: mode, class: "box quiet-box", hook: takesFocus }, body);
  if (mode === "close") return box(e("p", "Close it without a summary and without a record?"), problem(key, act), e("div.row", press("Close the thread", () => done("set_thread_status", { status: "WONTFIX" })), back("Keep it open")));
  const resolve = () => {
    const { summary = "", status = "RESOLVED", verdict } = form(key);
    return done("resolve_thread", { summary, status, ...(verdict && { verdict }) });
  };
  return mode && box(formOf(key, act, "Resolve", resolve, [
    thread.operation && quiet("This answers no operation: the decision itself is made in the Console."),
    field(key, "summary", "What was decided, and why", { rows: 3, required: true }),
    e("div.filters", field(key, "status", "It is", { options: [["RESOLVED", "resolved, with a record"], ["WONTFIX", "not pursued"], ["BLOCKED", "blocked, still open"]] }),
      tag?.verdicts.length > 0 && field(key, "verdict", "It came to", { options: verdicts(tag.verdicts) }))], { more: back("Not yet") }));
}

function composer(thread, act, ctx) {
  const key = `draft/reply/${thread.id}`, { body: written = "" } = form(key);
  const others = ctx.members.filter((row) => row.id !== ctx.me?.id).map((row) => row.name);
  const fresh = others.filter((name) => name !== thread.author_name && !thread.asked.includes(name)).slice(0, 8);
  const send = () => {                             // as it is now, which may not be drawn yet
    const { body = "", verdict, severity } = form(key);
    return body.trim() && does(key, "reply", { thread_id: thread.id, body, ...(verdict && { verdict }), ...(severity && { severity }) });
  };
  return h("div", { class: "answer-below", key: "composer" }, formOf(key, act, "Reply", send, [
    asking(key, "Your reply", [...others, "everyone"], { send, rows: Math.min(8, 2 + written.split("\n").length) }),
    fresh.length > 0 && h("div", { class: "line", role: "group", "aria-label": "Bring in" }, [...fresh, "everyone"].map((name) => button(`@${name}`, () => insert(key, name, document.getElementById(idOf(key, "body"))), { key: name }))),
    chosen(key, ctx)], { off: () => !form(key).body?.trim(), more: [button("I am on it", () => quick(act, "claim_thread", { thread_id: thread.id }), { title: "Others see that you work on an answer" }), e("span.quiet.hint", "Ctrl and Enter sends")] }));
}

function whole(thread, s, act, back) {
  const members = agents().filter((row) => row.rooms.includes(thread.room_id) && !row.revoked_at);
  const ctx = { members, names: members.map((row) => row.name), me: members.find(isPerson), tag: tagOf(thread.tag), room: rooms().find((row) => row.id === thread.room_id) };
  const end = `end/${thread.id}`, over = isOver(thread), count = thread.messages.length;
  if (reading.id !== thread.id) reading = { id: thread.id, seen: count, atEnd: false };
  Object.assign(reading, { count, mine: thread.messages.at(-1)?.is_person });
  return pane(s, act, "detail", [e("span.quiet", `#${thread.id} `), thread.title], [
    thread.title.length > TITLE_CHARS && e("h3", thread.title), about(thread, ctx, s.now), ending(thread, act, ctx),
    h("section", { "aria-label": "Topic" }, changeable(`topic/${thread.id}`, "Edit the topic", act, ctx, { id: thread.id, body: thread.body }, "update_thread")),
    thread.context.length > 0 && h("section", { "aria-label": "Pinned context" }, e("h3.over", "Pinned, as it was then"), thread.context.map(pinned)),
    ctx.tag && e("details", e("summary", "What this tag expects"), quiet(ctx.tag.expects)),
    h("section", { class: "messages", role: "log", "aria-label": "Replies" }, messages(thread, s, act, ctx), claims(thread, s.now)), resolution(thread, s.now),
  ], { back, tools: [thread.export_path && button("Record", () => dialog({ project_id: thread.project_id, path: thread.export_path }), { mark: "file" }),
    over || thread.status === "BLOCKED" ? button("Reopen", () => quick(act, "set_thread_status", { thread_id: thread.id, status: "OPEN" })) : button("Close", () => put(end, { mode: "close" })),
    !over && press("Resolve", () => put(end, { mode: "resolve" }))],
  scroll: { id: "c-thread", onscroll: ({ target: t }) => { reading.atEnd = t.scrollHeight - t.scrollTop - t.clientHeight < NEAR_END_PX; } },
  after: [count > reading.seen && button(`${plural(count - reading.seen, "new reply", "new replies")} below`, () => { reading.atEnd = true; follow(); }, { kind: "primary", class: "primary fresh" }), !over && composer(thread, act, ctx)] });
}

/** After a draw: whoever reads the end, or just wrote, sees the end; what comes elsewhere only counts as new. */
export function follow() {
  const scroll = document.getElementById("c-thread");
  if (!scroll || reading.count === reading.seen || !(reading.atEnd || reading.mine || scroll.scrollHeight <= scroll.clientHeight)) return;
  reading.seen = reading.count;
  scroll.scrollTo(0, 1e9);
  change(() => {});
}

export const thread = (s, act, id, back) => known(act, "thread", ask("get_thread", { thread_id: id }), (value) => whole(value, s, act, back));
