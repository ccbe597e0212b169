/** A conversation: what the person said, what the Agent said and called, how the turn ended; and which conversation it is. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { markdown } from "../lib/markdown.js";
import { moment, span, when } from "../lib/time.js";
import { operationState, talkState, turnState } from "../words.js";
import { button, caseLink, pairs, quiet, toConsole } from "./parts.js";
import { loading, mark, partial, refused } from "./states.js";

export const NEW = "new";
const INTERRUPTED = ["interrupted", "not-started", "user-stopped"];

/** The conversation in view: the one the address names, else the newest that is not put away; NEW for none yet. */
export function sessionOf(s, instance) {
  if (s.route.talk) return s.route.talk;
  return s.talks[instance.id]?.list?.find((row) => !row.archived)?.sessionKey ?? NEW;
}

export const turnsOf = (s, instance) => s.talks[instance.id]?.turns?.[sessionOf(s, instance)] ?? [];
export const openTurn = (s, instance) => turnsOf(s, instance).find((turn) => turn.state !== "ended");

/** Why the Agent takes no message now, and the button that mends it; null when it does. */
export function silence(s, instance, act) {
  const { talk, state, held } = instance.agent;
  const { configured, ready, reason } = instance.model;
  const start = button("Start Agent", () => act.agent(instance.id, "start"), { kind: "inline" });
  const settings = button(configured ? "Open the model settings" : "Configure a model", () => act.openModel(instance.id), { kind: "inline" });
  if (talk.state === "online") return null;
  if (!configured || !ready) return [configured ? `${reason} ` : "No model is configured, so nobody answers here. ", settings, "."];
  if (talk.state === "starting") return ["The Agent is starting. Your message is kept."];
  if (talk.state === "stopping") return ["The Agent is finishing. Your message is kept."];
  if (talk.state === "restarting") return ["The Agent stopped by itself and is being started again. ", talk.detail];
  if (state === "running") return ["The Agent is at the calculation. Start it for conversations when that has ended."];
  if (held) return [held, " One program at a time works as this Agent."];
  if (talk.state === "needs_setup" || talk.state === "failed") return [`${talk.detail || "The Agent keeps stopping."} `, start, " or ", settings, "."];
  if (s.bench.gateway.state !== "online") return ["The gateway is not ready yet."];
  return ["The Agent is stopped. ", start, " to talk to it."];
}

/** The Agent's own line in the header: its state, and the button that changes it. */
export function agentLine(s, instance, act) {
  const { talk, state, held } = instance.agent;
  const stopped = ["stopped", "needs_setup", "failed"].includes(talk.state);
  if (!instance.model.configured && stopped) return null;
  const why = held || (state === "running" ? "The Agent is at the calculation." : "") || (instance.model.ready ? "" : instance.model.reason);
  return [talk.state !== "stopped" && mark(talkState(talk), "small"), stopped
    ? button("Start Agent", () => act.agent(instance.id, "start"), { mark: "play", disabled: Boolean(why), title: why || false })
    : button("Stop Agent", () => act.agent(instance.id, "stop"), { mark: "stop", disabled: talk.state === "stopping" })];
}

function step(part, now, turn) {
  const lasted = span((part.endedAt ? moment(part.endedAt) : turn.endedAt ? moment(turn.endedAt) : now) - moment(part.startedAt));
  return h("li", { key: part.n, class: "step" },
    h("details", {},
      h("summary", {}, h("span", { class: "step-name mono" }, part.label), mark(operationState(part), "small"), h("span", { class: "took" }, lasted)),
      pairs([["Sent", part.input && h("pre", {}, part.input)], ["Answer", part.output ? h("pre", {}, part.output) : "none yet"]])),
    part.state === "waiting_for_decision" && toConsole("Decide in the Console"));
}

/** Words and calls in their order; calls that follow each other are one list. */
function parts(turn, now) {
  const rows = [];
  for (const part of turn.parts ?? []) {
    if (part.kind === "said") rows.push(h("div", { key: `said${part.n}`, class: "said" }, markdown(part.text)));
    else if (rows.at(-1)?.props.class === "steps") rows.at(-1).children.push(step(part, now, turn));
    else rows.push(h("ol", { key: `steps${part.n}`, class: "steps" }, step(part, now, turn)));
  }
  return rows;
}

function turnArticle(turn, s, instance, act) {
  const state = turnState(turn);
  const over = turn.state === "ended";
  const from = turn.startedAt ?? turn.at;
  return h("article", { key: turn.id, class: "turn", "aria-label": `Message: ${turn.text.slice(0, 60)}`, "data-state": over ? turn.outcome : turn.state },
    h("div", { class: "mine" }, h("p", {}, turn.text), when(turn.at, s.now)),
    parts(turn, s.now),
    (!over || turn.outcome !== "conversation") && h("p", { class: "turn-state", role: "status" }, mark(state, "small"),
      h("span", { class: "took" }, over ? "" : span(s.now - moment(from)))),
    turn.problem && h("p", { class: "note" }, icon(over && turn.outcome !== "conversation" ? "failed" : "note"), h("span", {}, turn.problem, " ",
      turn.outcome === "model-error" && button("Open the model settings", () => act.openModel(instance.id), { kind: "inline" }))),
    h("div", { class: "row" },
      turn.caseId && caseLink(s, instance, turn.caseId),
      over && INTERRUPTED.includes(turn.outcome) && button("Write it again", () => act.say(instance.id, turn.text), { mark: "copy" })));
}

/** Which conversation this is, and the way to another one. */
function chooser(s, instance, act) {
  const { list = [], total = 0 } = s.talks[instance.id] ?? {};
  const session = sessionOf(s, instance);
  const row = list.find((each) => each.sessionKey === session);
  const named = row || session === NEW ? list : [{ sessionKey: session, title: session }, ...list];
  return h("div", { class: "row chooser" },
    h("label", { class: "sr", for: "conversation" }, "Conversation"),
    h("select", { id: "conversation", value: session, onchange: (event) => act.go({ talk: event.target.value }) },
      session === NEW && h("option", { key: NEW, value: NEW }, "New conversation"),
      named.map((each) => h("option", { key: each.sessionKey, value: each.sessionKey }, each.archived ? `(put away) ${each.title}` : each.title))),
    session !== NEW && button("New conversation", () => act.newTalk(instance.id)),
    row && button(row.archived ? "Take it back" : "Put it away", () => act.archive(instance.id, session, !row.archived), {
      disabled: instance.agent.talk.state !== "online", title: instance.agent.talk.state === "online" ? false : "While the Agent runs" }),
    partial(list.length, total, "newest first"));
}

/** The conversation in view, and nothing while there is none and none can be begun. */
export function talk(s, instance, act) {
  const entry = s.talks[instance.id];
  const session = sessionOf(s, instance);
  const turns = turnsOf(s, instance);
  if (!entry?.list?.length && turns.length === 0 && !instance.model.configured) return null;
  const isLoading = session !== NEW && !entry?.turns?.[session];
  return h("section", { class: "talk-turns", "aria-label": "Conversation" },
    entry?.list?.length > 0 && chooser(s, instance, act),
    entry?.error && refused(entry.error, act, "The conversation could not be read"),
    isLoading && !entry?.error ? loading("the conversation", 3) : turns.map((turn) => turnArticle(turn, s, instance, act)),
    session === NEW && turns.length === 0 && quiet("What you write below begins a conversation. It is kept on this computer."));
}
