/** A conversation: what the person said, what the Agent said and called, how the turn ended; and which conversation it is. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { markdown } from "../lib/markdown.js";
import { moment, span, when } from "../lib/time.js";
import { cardState, caseName, caseState, size, talkState, turnState } from "../words.js";
import { button, caseLink, iconButton, pairs, quiet, text } from "./parts.js";
import { loading, mark, refused } from "./states.js";
import { windowOf } from "./turnlist.js";

export const NEW = "new";
/** Calls that wait for a person, and the way to where they are answered. */
const FOR_A_PERSON = { waiting_for_decision: "Decide", needs_person: "Say whether it happened", unknown: "See what is open" };
const INTERRUPTED = ["interrupted", "not-started", "user-stopped"];

/** The conversation in view: the one the address names, else the newest that is not archived; NEW for none yet. */
export function sessionOf(s, instance) {
  return s.route.talk || newestOf(s.talks[instance.id]);
}

export const newestOf = (entry) => entry?.list?.find((row) => !row.archived)?.sessionKey ?? NEW;

/** What is here of it: turns by their number. */
export const talkOf = (s, instance) => s.talks[instance.id]?.by?.[sessionOf(s, instance)];

/** The oldest turn of it that has not ended. */
export function openTurn(s, instance) {
  const held = talkOf(s, instance);
  return held?.open.size > 0 ? held.turns.get(Math.min(...held.open.values())) : undefined;
}

/** Why the Agent takes no message now, and the button that mends it; null when it does. */
export function silence(s, instance, act) {
  const { talk, state, held } = instance.agent;
  const { configured, ready, reason } = instance.model;
  const start = button("Start Agent", () => act.agent(instance.id, "start"), { kind: "inline" });
  const settings = button(configured ? "Open the model settings" : "Configure a model", () => act.openModel(instance.id), { kind: "inline" });
  if (talk.state === "online") return null;
  if (!configured || !ready) return [configured ? `${reason} ` : "No model is configured, so nobody answers here. ", settings];
  if (talk.state === "starting") return ["The Agent is starting. Your message is kept."];
  if (talk.state === "stopping") return ["The Agent is finishing. Your message is kept."];
  if (talk.state === "restarting") return ["The Agent stopped by itself and is being started again. ", talk.detail];
  if (state === "running") return ["The Agent is at the calculation. Start it for conversations when that has ended."];
  if (held) return [held, " One program at a time works as this Agent."];
  if (talk.state === "needs_setup" || talk.state === "failed") return [`${talk.detail || "The Agent keeps stopping."} `, start, " or ", settings, "."];
  if (instance.blocked) return [instance.blocked];
  if (s.bench.gateway.state !== "online") return ["The gateway is not ready yet."];
  return ["The Agent is stopped. ", start, " to talk to it."];
}

/** The Agent's own line in the header: its state, and the button that changes it. */
export function agentLine(s, instance, act) {
  const { talk, state, held } = instance.agent;
  const stopped = ["stopped", "needs_setup", "failed"].includes(talk.state);
  if (!instance.model.configured && stopped) return null;
  const why = instance.blocked || held || (state === "running" ? "The Agent is at the calculation." : "") || (instance.model.ready ? "" : instance.model.reason);
  return [talk.state !== "stopped" && mark(talkState(talk), "small"), stopped
    ? button("Start Agent", () => act.agent(instance.id, "start"), { mark: "play", disabled: Boolean(why), title: why || false })
    : button("Stop Agent", () => act.agent(instance.id, "stop"), { mark: "stop", disabled: talk.state === "stopping" })];
}

const copied = (act, text, what) => iconButton("copy", `Copy ${what}`, () => act.copy(text, "Copied"));

function step(part, now, turn, act) {
  const end = part.endedAt ?? turn.endedAt;
  return h("li", { key: part.n, class: "step" },
    h("details", {},
      h("summary", {}, h("span", { class: "step-name mono" }, part.label), mark(cardState(part), "small"), h("span", { class: "took" }, span((end ? moment(end) : now) - moment(part.startedAt)))),
      pairs([["Sent", part.input && text(part.input)], ["Answer", part.output ? text(part.output) : "none yet"]]),
      copied(act, [part.label, part.input, part.output].filter(Boolean).join("\n\n"), "this call")),
    FOR_A_PERSON[part.state] && button(FOR_A_PERSON[part.state], () => act.openNow(), { mark: "person" }));
}

const drawn = new WeakMap();         // what was said → its elements, while it stays the same
const words = (part, act) => drawn.get(part) ?? drawn.set(part, markdown(part.text, { names: new Set(), beside: (code) => copied(act, code, "this code") })).get(part);

/** Words and calls in their order; calls that follow each other are one list. */
function parts(turn, now, act) {
  const rows = [];
  for (const part of turn.parts ?? []) {
    if (part.kind === "said") rows.push(h("div", { key: `said${part.n}`, class: "said" }, words(part, act)));
    else if (rows.at(-1)?.props.class === "steps") rows.at(-1).children.push(step(part, now, turn, act));
    else rows.push(h("ol", { key: `steps${part.n}`, class: "steps" }, step(part, now, turn, act)));
  }
  return rows;
}

/** Each Case that the turn closed, and how: where they differ nothing is called done. */
const closedCases = (turn, s, instance) => turn.closedCases?.length > 0 && h("ul", { class: "closed" }, turn.closedCases.map(({ caseId, disposition }) => {
  const row = s.boards[instance.id]?.board?.cases.find((each) => each.caseId === caseId);
  return h("li", { key: caseId, class: "row" }, mark(caseState({ disposition }), "small"), row && h("span", {}, caseName(row)),
    caseLink(s, instance, caseId));
}));

const fileList = (files) => files?.length > 0 && h("ul", { class: "chips", "aria-label": "Files" },
  files.map((file, index) => h("li", { key: index }, icon("file"), `${file.name} · ${size(file.totalBytes)}`)));

/** What waits for a Worker that does not run, and the button that starts it; null while it runs. */
export const workerOff = (instance, act, words) => ["stopped", "failed", "needs_setup"].includes(instance.worker.state)
  && h("p", { class: "note wide", role: "status" }, icon("waiting"), h("span", {}, `The Worker is stopped. ${words} `, button("Start the Worker", () => act.worker(instance.id, "start"), { kind: "inline" })));

function turnArticle(number, turn, total, s, instance, act) {
  const place = { key: number, class: "turn", "data-number": number, "aria-posinset": number + 1, "aria-setsize": total };
  if (!turn) return h("article", { ...place, "data-blank": true, "aria-label": `Message ${number + 1}`, "aria-busy": "true" }, h("p", { class: "quiet" }, `Reading message ${number + 1} of ${total.toLocaleString("en")}.`));
  const state = turnState(turn);
  const over = turn.state === "ended";
  const said = (turn.parts ?? []).filter((part) => part.kind === "said").map((part) => part.text).join("\n\n");
  const closed = turn.closedCases?.map((row) => row.caseId) ?? [];
  return h("article", { ...place, "aria-label": `Message: ${turn.text.slice(0, 60)}`, "aria-current": String(s.route.turn) === String(number + 1) ? "true" : false,
    "data-state": over ? turn.outcome : turn.state },
  h("div", { class: "mine" }, h("div", {}, h("p", {}, turn.text), fileList(turn.attachments)), when(turn.at, s.now), copied(act, turn.text, "the message")),
  parts(turn, s.now, act),
  (!over || turn.outcome !== "conversation") && h("p", { class: "turn-state", role: "status" }, mark(state, "small"),
    h("span", { class: "took" }, over ? "" : span(s.now - moment(turn.startedAt ?? turn.at)))),
  !over && turn.parts?.at(-1)?.label?.startsWith("ApplyAction") && workerOff(instance, act, "The call waits for it."),
  turn.problem && h("p", { class: "note" }, icon(over && turn.outcome !== "conversation" ? "failed" : "note"), h("span", {}, turn.problem, " ",
    turn.outcome === "model-error" && button("Open the model settings", () => act.openModel(instance.id), { kind: "inline" }))),
  closedCases(turn, s, instance),
  h("div", { class: "row" },
    turn.caseId && !closed.includes(turn.caseId) && caseLink(s, instance, turn.caseId),
    over && said && button("Copy the answer", () => act.copy(said, "Answer copied"), { mark: "copy" }),
    over && INTERRUPTED.includes(turn.outcome) && button("Send as a new message", () => act.sendAgain(instance.id, turn), {
      mark: "play", disabled: instance.agent.talk.state !== "online", title: instance.agent.talk.state === "online" ? false : "While the Agent runs" })));
}

/** Which conversation this is, and the way to another one. */
function chooser(s, instance, act) {
  const { list = [], total = 0, by = {} } = s.talks[instance.id] ?? {};
  const session = sessionOf(s, instance);
  const archived = by[session]?.archived ?? false;
  const active = list.filter((row) => !row.archived);
  const named = session === NEW || active.some((row) => row.sessionKey === session) ? active
    : [{ sessionKey: session, title: list.find((row) => row.sessionKey === session)?.title ?? session, archived }, ...active];
  return h("div", { class: "row chooser" },
    h("label", { class: "sr", for: "talk-of" }, "Conversation"),
    h("select", { id: "talk-of", value: session, onchange: (event) => act.go({ instance: instance.id, talk: event.target.value, turn: "" }) },
      session === NEW && h("option", { key: NEW, value: NEW }, "New conversation"),
      named.map((each) => h("option", { key: each.sessionKey, value: each.sessionKey }, each.archived ? `(archived) ${each.title}` : each.title))),
    session !== NEW && button("New conversation", () => act.newTalk(instance.id)),
    h("a", { class: "plain", href: `#/talks/${encodeURIComponent(instance.id)}` }, icon("note"), `All conversations${total > list.length ? `, ${total.toLocaleString("en")}` : ""}`),
    by[session]?.isRead && button(archived ? "Restore" : "Archive", () => act.archive(instance.id, session, !archived)),
    by[session]?.isRead && button("Save as file", () => act.saveTalk(instance, session), { title: "What this page has loaded of it, as JSON" }));
}

/** How much came while the reader was further up; it moves nothing by itself. */
export function newBelow(s, instance, act) {
  const below = instance && s.talks[instance.id]?.below;
  return h("p", { class: "below", role: "status" }, below > 0 && button(`${below} new below`, () => act.toEnd(), { kind: "primary" }));
}

/** The conversation in view, and nothing while there is none and none can be begun. */
export function talk(s, instance, act) {
  const entry = s.talks[instance.id];
  const session = sessionOf(s, instance);
  const held = talkOf(s, instance);
  const total = held?.total ?? 0;
  const { from, to, below } = windowOf(`${instance.id}/${session}`, total, held?.arrived ?? 0, Number(s.route.turn || 0) - 1);
  if (entry) entry.below = below;
  if (!entry?.list?.length && total === 0 && !instance.model.configured) return null;
  const error = held?.error ?? entry?.error;
  const numbers = Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
  return h("section", { class: "talk-turns", "aria-label": "Conversation" },
    entry?.list?.length > 0 && chooser(s, instance, act),
    error && refused(error, act, "The conversation could not be read"),
    session !== NEW && !held?.isRead && !error && loading("the conversation", 3),
    total > 0 && h("div", { class: "turns", role: "feed", "aria-label": "Messages" },
      h("div", { key: "above" }), numbers.map((number) => turnArticle(number, held.turns.get(number), total, s, instance, act)), h("div", { key: "below" })),
    held?.archived && quiet("This conversation is archived and takes no message."),
    session === NEW && total === 0 && (!s.route.talk && !entry?.list && !entry?.error ? loading("the conversation", 3) : quiet("What you write below begins a conversation. It is kept on this computer.")));
}
