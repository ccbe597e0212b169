/** The middle column: what was asked of the Agent, each step it took, and how it ended. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { moment, span, when } from "../lib/time.js";
import { screen } from "../screens.js";
import { argsText, caseName, caseState, caseTitle, keyText, operationState, orderText, plural, runState, short, valueText } from "../words.js";
import { CASE_TYPES, calculation, obstacle } from "./calculation.js";
import { button, caseLink, iconButton, pairs, place, text, toConsole } from "./parts.js";
import { mark, marked, refused } from "./states.js";

const PAST_SHOWN = 20;
const took = (from, to) => span(moment(to) - moment(from));

function step(row, now) {
  const lasted = row.endedAt ? took(row.startedAt, row.endedAt) : span(now - moment(row.startedAt));
  const content = [["Sent", row.input && text(row.input)], ["Answer", row.output && text(row.output)]];
  return h("li", { key: row.n, class: "step" },
    h("details", {},
      h("summary", {}, h("span", { class: "step-name mono" }, row.label), mark(operationState(row), "small"), h("span", { class: "took" }, lasted)),
      pairs(content.some(([, value]) => value) ? content : [["Content", "none"]])));
}

/** Every step while it runs; afterwards one line that opens them, already open for the newest run. */
function stepsOf(run, now, newest) {
  const list = h("ol", { class: "steps" }, run.steps.map((row) => step(row, now)));
  if (!run.endedAt || run.steps.length === 0) return list;
  return h("details", { key: "steps", class: "steps-fold", hook: (element) => { element.open = newest; } },
    h("summary", {}, plural(run.steps.length, "step")), list);
}

/** The value a conclusion is about: its arguments without the job they all share. */
function conclusionText(args) {
  const own = Object.entries(args).filter(([name]) => name !== "job_id");
  return own.map(([name, value]) => valueText(name, value)).join(" · ") || argsText(args);
}

/** The conclusions a Case rests on, each a link that opens its proof. */
export function conclusions(detail, s, instance) {
  // A predicate with a dot is a Capability's own; the others are the Board's words about goals.
  const derived = (detail?.facts ?? []).filter((fact) => fact.by?.kind === "rule" && fact.own !== false && fact.predicate.includes("."));
  if (derived.length === 0) return null;
  return h("ul", { class: "conclusions", "data-list": true }, derived.map((fact) => h("li", { key: fact.id },
    h("a", { class: "conclusion", "data-row": true, "data-predicate": short(fact.predicate), title: fact.text,
      href: place(s, instance, { case: s.route.case, fact: fact.id }) },
    h("span", { class: "conclusion-name" }, short(fact.predicate)),
    h("span", { class: "conclusion-value" }, conclusionText(fact.args)),
    h("span", { class: "conclusion-why" }, icon("proof"), h("span", {}, "Why"))))));
}

/** What a person can do about a run that waits: decide, or, once that is done, let it go on. */
function waitingRun(run, s, instance, act) {
  const board = s.boards[instance.id]?.board;
  if (board?.operations.some((op) => op.state === "waiting_for_decision" && op.caseIds?.includes(run.caseId))) return toConsole("Decide in the Console");
  const open = board?.cases.some((row) => row.caseId === run.caseId && row.status !== "closed");
  return open && goOn(run.caseType, run.jobId, instance, act, obstacle(s, instance) !== "");
}

const goOn = (caseType, jobId, instance, act, disabled) =>
  button("Go on with this Case", () => act.resume(instance.id, caseType, jobId), { mark: "play", kind: "primary", disabled });

/** How a run ended; where it waited for a person, what has become of its Case. */
function endOf(run, s, instance) {
  const row = run.exit === 11 && s.boards[instance.id]?.board?.cases.find((each) => each.caseId === run.caseId && each.status === "closed");
  if (!row) return runState(run);
  const { words, ...looks } = caseState(row);
  return { words: `A person was asked. The Case is over: ${words}.`, ...looks };
}

function runArticle(run, s, instance, act, newest) {
  const state = endOf(run, s, instance);
  const detail = run.caseId && s.cases[`${instance.id}/${run.caseId}`]?.detail;
  const asked = run.caseType === "approved_calculation" ? "Calculate, ask me, then write " : "Calculate ";
  const lasted = run.endedAt ? `after ${took(run.startedAt, run.endedAt)}` : span(s.now - moment(run.startedAt));
  return h("article", { key: run.id, class: run.endedAt ? "run" : "run is-going", hook: (element) => act.runShown(instance.id, element), "aria-label": `Run of ${run.jobId}` },
    h("div", { class: "asked" },
      h("p", { class: "grow" }, asked, h("strong", {}, run.jobId), run.values && `: ${orderText(run.values)}`),
      when(run.startedAt, s.now)),
    h("div", { class: `ended is-${state.meaning}`, role: "status" }, mark(state), h("span", { class: "took" }, lasted)),
    run.said && h("p", { class: "run-said" }, run.said),
    run.service?.length && h("details", { key: "service", class: "steps-fold" },
      h("summary", {}, "About this model service"), h("ul", {}, run.service.map((words) => h("li", { key: words }, `It ${words}.`)))),
    run.problem && run.exit !== 0 && h("p", { class: "run-problem" }, run.problem),
    (run.exit === 0 || run.exit === 10) && detail && conclusions(detail, s, instance),
    stepsOf(run, s.now, newest),
    h("div", { class: "row" },
      run.caseId && caseLink(s, instance, run.caseId),
      run.exit === 11 && waitingRun(run, s, instance, act)));
}

/** A Case from before this workbench started: its steps are in the ledger, its run is not. */
function pastCase(row, s, instance, act) {
  const job = s.work[instance.id]?.input?.values?.job_id;
  const goesOn = row.status === "running" && CASE_TYPES.includes(row.caseType) && row.businessKey?.job_id === job && obstacle(s, instance) === "";
  const operations = s.boards[instance.id]?.board?.operations;
  return h("article", { key: row.caseId, class: "run past", "aria-label": `Case ${keyText(row.businessKey, caseTitle(row))}` },
    h("p", { class: "asked-past" }, caseName(row), " ",
      mark(caseState(row, operations), "small")),
    h("div", { class: "row" },
      when(row.closedAt ?? row.openedAt, s.now),
      caseLink(s, instance, row.caseId),
      goesOn && goOn(row.caseType, job, instance, act, false)));
}

function head(s, instance, act) {
  const running = instance.agent.state === "running";
  return h("header", { class: "talk-head" },
    iconButton("menu", "Agents", () => act.sheet("rail"),
      { kind: "bare only-narrow", "aria-expanded": String(s.ui.sheet === "rail"), "aria-controls": "rail" }),
    h("h2", {}, instance.name),
    button(instance.model.configured ? instance.model.name : "no model", () => act.openModel(instance.id),
      { kind: "bare model-name", title: "Model settings" }),
    running ? marked("working", "running", "running") : instance.agent.talk.state === "stopped" && marked("idle", "quiet", "offline"),
    h("span", { class: "grow" }),
    !running && worksHere(instance) && screen("talk")?.agentLine(s, instance, act),
    running && button("Stop the run", () => act.stopRun(instance.id), { mark: "stop" }),
    iconButton("panel", "Now, Cases, Board, Worker", () => act.toggleSide(),
      { "aria-expanded": String(s.ui.side || s.ui.sheet === "side"), "aria-controls": "side", title: "Side panel" }));
}

/** Whether an Agent of this profile can be started here at all. */
const worksHere = ({ attached, mode }) => attached && mode === "local_agent";

/** The calculation is shown where its Tools are, and as long as nobody knows. */
function hasCalculation(s, instance) {
  const tools = s.boards[instance.id]?.board?.connection?.tools;
  return worksHere(instance) && (!tools || tools.some((tool) => tool.id.startsWith("rulith.verified_calculation.")));
}

/** What is missing for a model to take part, and where to mend it. */
function aboutTheModel(s, instance, act) {
  if (!worksHere(instance)) {
    return h("p", { class: "note", id: "no-agent" }, icon("note"), h("span", {}, instance.attached ? "A program elsewhere works as this Agent; this computer runs its Worker. " : "It is not attached to an Agent of the gateway yet. ",
      h("a", { href: `#/agents/${instance.id}` }, instance.attached ? "Its page" : "Attach it")));
  }
  const { configured, ready, reason } = instance.model;
  if (configured && ready) return null;
  return h("p", { class: "note", id: "no-model" }, icon("note"), h("span", {},
    configured ? `${reason} ` : `No model is configured. ${hasCalculation(s, instance) ? "The calculation below needs none. " : ""}`,
    button(configured ? "Open the model settings" : "Configure a model", () => act.openModel(instance.id), { kind: "inline" })));
}

function waitingForAnAgent(s, act) {
  if (s.benchError) return refused(s.benchError, act, "The workbench could not be read");
  if (s.bench?.gateway.elsewhere) return h("p", { class: "quiet first-wait" }, "No Agent is set up on this computer yet. ", h("a", { href: "#/account" }, "Account"));
  return h("p", { class: "quiet first-wait", role: "status" }, s.bench
    ? "No Agent in this home yet: the gateway writes one into a new ledger. This takes a moment on the first start."
    : "Reading the workbench.");
}

export function conversation(s, instance, act) {
  if (!instance) return h("main", { class: "talk", id: "main", tabindex: -1 }, h("div", { class: "talk-scroll" }, waitingForAnAgent(s, act)));
  const part = screen("talk");
  const runs = s.work[instance.id]?.runs ?? [];
  const known = new Set(runs.map((run) => run.caseId));
  const past = (s.boards[instance.id]?.board?.cases ?? []).filter((row) => !known.has(row.caseId))
    .sort((a, b) => moment(b.openedAt) - moment(a.openedAt)).slice(0, PAST_SHOWN);
  const jobs = [
    hasCalculation(s, instance) && calculation(s, instance, act),
    past.length + runs.length > 0 && h("section", { class: "history", "aria-label": "Work so far" },
      [...runs].reverse().map((run, index) => runArticle(run, s, instance, act, index === 0)),
      past.map((row) => pastCase(row, s, instance, act))),
  ];
  return h("main", { class: "talk", id: "main", tabindex: -1, inert: s.ui.sheet !== "" },
    head(s, instance, act),
    h("div", { class: "talk-scroll", onscroll: part?.scrolled },
      h("div", { class: "measure" },
        worksHere(instance) && s.bench.stepsAway === false && screen("first")?.steps(s, instance, act),
        aboutTheModel(s, instance, act),
        part?.talkOf(s, instance)?.total > 0 ? h("details", { key: "jobs", class: "steps-fold" }, h("summary", {}, "The calculation and work so far"), jobs) : jobs,
        part?.talk(s, instance, act))),
    part?.newBelow(s, instance, act),
    worksHere(instance) && part?.composer(s, instance, act));
}
