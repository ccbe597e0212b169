/** The middle column: what was asked of the Agent, each step it took, and how it ended. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { span, moment, when } from "../lib/time.js";
import { link } from "../route.js";
import { argsText, caseState, caseTypeText, keyText, operationState, orderText, plural, runState, short, valueText } from "../words.js";
import { CASE_TYPES, calculation, obstacle } from "./calculation.js";
import { composer } from "./composer.js";
import { mark, refused } from "./states.js";

const stepState = (step) => operationState({ state: step.state, stage: step.stage });

function step(row, now) {
  const state = stepState(row);
  const took = row.endedAt ? span(moment(row.endedAt) - moment(row.startedAt)) : span(now - moment(row.startedAt));
  return h("li", { key: row.n, class: "step" },
    h("details", {},
      h("summary", {}, h("span", { class: "step-name mono" }, row.label), mark(state, "small"), h("span", { class: "took" }, took)),
      h("dl", { class: "pairs" },
        row.input && [h("dt", {}, "Sent"), h("dd", {}, h("pre", {}, row.input))],
        row.output && [h("dt", {}, "Answer"), h("dd", {}, h("pre", {}, row.output))],
        !row.input && !row.output && [h("dt", {}, "Content"), h("dd", { class: "quiet" }, "none")])));
}

/** The conclusions a Case rests on, each a button that opens its proof. */
export function conclusions(detail, s, instance, heading) {
  // A predicate with a dot is a Capability's own; the others are the Board's words about goals.
  const derived = (detail?.facts ?? []).filter((fact) => fact.by?.kind === "rule" && fact.predicate.includes("."));
  if (derived.length === 0) return null;
  return h("div", { class: "conclusions" },
    heading && h("p", { class: "over" }, heading),
    h("ul", { "data-list": true }, derived.map((fact) => h("li", { key: fact.id },
      h("a", { class: "conclusion", "data-row": true, "data-predicate": short(fact.predicate), href: link(s.route, { instance: instance.id, fact: fact.id }), title: fact.text },
        h("span", { class: "conclusion-name" }, short(fact.predicate)),
        h("span", { class: "conclusion-value" }, Object.entries(fact.args).filter(([name]) => name !== "job_id").map(([name, value]) => valueText(name, value)).join(" · ") || argsText(fact.args)),
        h("span", { class: "conclusion-why" }, icon("proof"), h("span", {}, "Why")))))));
}

/** Every step while it runs; afterwards one line that opens them, already open for the newest run. */
function stepsOf(run, now, newest) {
  const list = h("ol", { class: "steps" }, run.steps.map((row) => step(row, now)));
  if (!run.endedAt || run.steps.length === 0) return list;
  return h("details", { key: "steps", class: "steps-fold", hook: (element) => { element.open = newest; } },
    h("summary", {}, plural(run.steps.length, "step")), list);
}

function runArticle(run, s, instance, act, newest) {
  const state = runState(run);
  const waiting = run.exit === 11;
  const detail = run.caseId && s.cases[`${instance.id}/${run.caseId}`]?.detail;
  const board = s.boards[instance.id]?.board;
  const pending = waiting && board?.operations.some((op) => op.state === "waiting_for_decision" && op.caseIds?.includes(run.caseId));
  const open = waiting && board?.cases.some((row) => row.caseId === run.caseId && row.status !== "closed");
  return h("article", { key: run.id, class: "run", "aria-label": `Run of ${run.jobId}` },
    h("div", { class: "asked" },
      h("p", { class: "grow" }, run.caseType === "approved_calculation" ? "Calculate, ask me, then write " : "Calculate ", h("strong", {}, run.jobId), run.values && `: ${orderText(run.values)}`),
      when(run.startedAt, s.now)),
    h("div", { class: `ended is-${state.meaning}`, role: "status" },
      mark(state), !run.endedAt && h("span", { class: "took" }, span(s.now - moment(run.startedAt))),
      run.endedAt && h("span", { class: "took" }, `after ${span(moment(run.endedAt) - moment(run.startedAt))}`)),
    run.problem && run.exit !== 0 && h("p", { class: "run-problem" }, run.problem),
    run.endedAt && (run.exit === 0 || run.exit === 10) && detail && conclusions(detail, s, instance),
    stepsOf(run, s.now, newest),
    h("div", { class: "row" },
      run.caseId && h("a", { href: link(s.route, { instance: instance.id, tab: "cases", case: run.caseId, fact: "" }) }, "Open the Case"),
      waiting && pending && h("a", { class: "button", href: "/console/", target: "_blank", rel: "noopener" }, icon("away"), "Decide in the Console"),
      waiting && open && !pending && h("button", { type: "button", class: "primary", disabled: obstacle(s, instance) !== "", onclick: () => act.resume(instance.id, run.caseType, run.jobId) }, icon("play"), "Go on with this Case")));
}

/** A Case from before this workbench started: its steps are in the ledger, its run is not. */
function pastCase(row, s, instance, act) {
  const job = s.work[instance.id]?.input?.values?.job_id;
  const goesOn = row.status === "running" && CASE_TYPES.includes(row.caseType) && row.businessKey?.job_id === job && obstacle(s, instance) === "";
  return h("article", { key: row.caseId, class: "run past", "aria-label": `Case ${keyText(row.businessKey)}` },
    h("p", { class: "asked-past" }, `${caseTypeText(row.caseType)} of `, h("strong", {}, keyText(row.businessKey)), " ", mark(caseState(row, s.boards[instance.id]?.board?.operations), "small")),
    h("div", { class: "row" }, when(row.closedAt ?? row.openedAt, s.now), h("a", { href: link(s.route, { instance: instance.id, tab: "cases", case: row.caseId, fact: "" }) }, "Open the Case"),
      goesOn && h("button", { type: "button", onclick: () => act.resume(instance.id, row.caseType, job) }, icon("play"), "Go on with this Case")));
}

const modelLine = (model) => (model.configured ? model.name : "no model");

function head(s, instance, act) {
  const running = instance.agent.state === "running";
  return h("header", { class: "talk-head" },
    h("button", { type: "button", class: "bare only-narrow", onclick: () => act.sheet("rail"), "aria-label": "Agents", "aria-expanded": String(s.ui.sheet === "rail"), "aria-controls": "rail" }, icon("menu")),
    h("h2", {}, instance.name),
    h("button", { type: "button", class: "bare model-name", onclick: () => act.openModel(instance.id), title: "Model settings" }, modelLine(instance.model)),
    running ? mark({ words: "working", meaning: "running", mark: "running" }, "small") : mark({ words: "idle", meaning: "quiet", mark: "offline" }, "small"),
    h("span", { class: "grow" }),
    running && h("button", { type: "button", class: "plain", onclick: () => act.stopRun(instance.id) }, icon("stop"), "Stop the run"),
    h("button", { type: "button", class: "bare", onclick: () => act.toggleSide(), "aria-expanded": String(s.ui.side || s.ui.sheet === "side"), "aria-controls": "side", "aria-label": "Now, Cases, Board, Worker", title: "Side panel" }, icon("panel")));
}

function firstRun(instance, act) {
  if (instance.model.configured) {
    return instance.model.ready ? null : h("p", { class: "note" }, icon("note"), instance.model.reason, " ", h("button", { type: "button", class: "inline", onclick: () => act.openModel(instance.id) }, "Open the model settings"));
  }
  return h("p", { class: "note", id: "no-model" }, icon("note"), h("span", {}, "No model is configured. The calculation below needs none. ",
    h("button", { type: "button", class: "inline", onclick: () => act.openModel(instance.id) }, "Configure a model")));
}

export function conversation(s, instance, act) {
  if (!instance) {
    return h("main", { class: "talk", id: "main", tabindex: -1 }, h("div", { class: "talk-scroll" },
      s.benchError ? refused(s.benchError, act, "The workbench could not be read")
        : h("p", { class: "quiet first-wait", role: "status" }, s.bench ? "No Agent in this home yet: the gateway writes one into a new ledger. This takes a moment on the first start." : "Reading the workbench.")));
  }
  const runs = s.work[instance.id]?.runs ?? [];
  const known = new Set(runs.map((run) => run.caseId));
  const past = (s.boards[instance.id]?.board?.cases ?? []).filter((row) => !known.has(row.caseId)).sort((a, b) => moment(a.openedAt) - moment(b.openedAt)).slice(-20);
  return h("main", { class: "talk", id: "main", tabindex: -1, inert: s.ui.sheet !== "" },
    head(s, instance, act),
    h("div", { class: "talk-scroll", "data-scroll": "talk" },
      h("div", { class: "measure" },
        firstRun(instance, act),
        calculation(s, instance, act),
        past.length + runs.length > 0 && h("section", { class: "history", "aria-label": "Work so far" },
          [...runs].reverse().map((run, index) => runArticle(run, s, instance, act, index === 0)),
          [...past].reverse().map((row) => pastCase(row, s, instance, act))))),
    composer());
}
