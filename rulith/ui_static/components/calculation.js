/** The first job anyone can run: the numbers of one order, and the button that has them calculated, written and read back. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { operationLabel, orderText } from "../words.js";
import { button, place, quiet } from "./parts.js";
import { loading, refused } from "./states.js";

export const FIELDS = [
  { name: "job_id", words: "Job id", hint: "Names the order. A job is done once.", kind: "text" },
  { name: "unit_price_cents", words: "Unit price", unit: "cents", kind: "whole" },
  { name: "quantity", words: "Quantity", kind: "whole" },
  { name: "shipping_cents", words: "Shipping", unit: "cents", kind: "whole" },
];

export const CASE_TYPES = ["verified_calculation", "approved_calculation"];
export const caseTypeOf = (approve) => CASE_TYPES[approve ? 1 : 0];

/** What the fields hold now: the person's draft over what the file holds. */
export function fieldsOf(work, draft) {
  const values = work?.input?.values ?? {};
  return Object.fromEntries(FIELDS.map(({ name }) => [name, draft?.[name] ?? (values[name] === undefined ? "" : String(values[name]))]));
}

/** Whether running would change the file. */
export const differs = (work, fields) => FIELDS.some(({ name }) => fields[name] !== String(work?.input?.values?.[name] ?? ""));

function nextJob(job) {
  if (!/\d+$/.test(job)) return `${job}-2`;
  return job.replace(/\d+$/, (digits) => String(Number(digits) + 1).padStart(digits.length, "0"));
}

/** The Case this job has already, if it was closed as completed. */
const finished = (board, caseType, job) => board?.cases?.find((row) =>
  row.caseType === caseType && row.businessKey?.job_id === job && row.disposition === "completed");

/** Why a run cannot start now; empty when it can. An Agent has one write under way, whoever it waits for. */
export function obstacle(s, instance) {
  const operations = s.boards[instance.id]?.board?.operations ?? [];
  const waiting = operations.find((op) => op.state === "waiting_for_decision" || op.state === "needs_person");
  if (instance.agent.held) return `${instance.agent.held} One run of an Agent at a time.`;
  if (instance.agent.state === "running") return "The Agent is at work; one run at a time.";
  if (!["stopped", "needs_setup", "failed"].includes(instance.agent.talk.state)) return "The Agent is started for conversations; stop it first: one program at a time works as it.";
  if (s.bench.gateway.state !== "online") return "The gateway is not ready yet.";
  if (instance.worker.lineHeld) return "The Worker is waiting for its line.";
  if (["starting", "restarting"].includes(instance.worker.state)) return "The Worker is starting.";
  if (instance.worker.state !== "online") return "The Worker is not online: start it in the Worker tab.";
  if (waiting) return `${operationLabel(waiting.label)} waits for a person; until then this Agent starts nothing new. See Now.`;
  return "";
}

function field(definition, value, problem, act, instance) {
  const { name, words, unit, hint } = definition;
  const whole = definition.kind === "whole";
  const id = `field-${name}`;
  const note = problem ?? hint;
  return h("div", { class: "field", key: name },
    h("label", { for: id }, words),
    h("span", { class: "input" },
      h("input", {
        id, name, value, required: true, autocomplete: "off", spellcheck: "false",
        class: whole ? "number" : false, inputmode: whole ? "numeric" : false,
        "aria-invalid": problem ? "true" : false, "aria-describedby": note ? `${id}-note` : false,
        oninput: (event) => act.draft(instance.id, name, event.target.value),
      }),
      unit && h("span", { class: "unit" }, unit)),
    note && h("p", { id: `${id}-note`, class: problem ? "problem" : "quiet" }, note));
}

/** What running will do to the file, before it does it. */
function aboutTheFile(input, instance, act) {
  if (!input.exists) return h("p", { class: "note" }, icon("file"), h("span", {}, "There is no input file yet. Running writes one with your numbers."));
  const held = input.values ? `${input.values.job_id}: ${orderText(input.values)}` : "something that is not an order";
  return h("p", { class: "note" }, icon("file"), h("span", {},
    `The file now holds ${held}. Running replaces that with your numbers. `,
    input.values && button("Keep what the file holds", () => act.dropDraft(instance.id), { kind: "inline" })));
}

function alreadyDone(found, job, s, instance, act) {
  const next = nextJob(job);
  return h("p", { class: "note" }, icon("done"), h("span", {},
    `${job} is calculated and its Case is closed. `,
    h("a", { href: place(s, instance, { tab: "cases", case: found.caseId }) }, "Open the Case"), " or ",
    button(`use the job id ${next}`, () => act.draft(instance.id, "job_id", next), { kind: "inline" }), "."));
}

export function calculation(s, instance, act) {
  const work = s.work[instance.id];
  if (!work?.input) return work?.error ? refused(work.error, act, "The input could not be read") : loading("the calculation's input", 4);
  const fields = fieldsOf(work, s.drafts[instance.id]);
  const changed = differs(work, fields);
  const approve = Boolean(s.approve[instance.id]);
  const problemOf = (name) => (work.refusal?.facts?.field === name ? work.refusal.happened : null);
  const atAField = FIELDS.some(({ name }) => problemOf(name));
  const done = finished(s.boards[instance.id]?.board, caseTypeOf(approve), fields.job_id);
  const why = obstacle(s, instance), off = Boolean(work.busy || why);
  return h("section", { class: "job", "aria-labelledby": "job-title" },
    h("h3", { id: "job-title" }, "Verified calculation"),
    h("p", {}, "The Worker reads the order from a file, the Board derives the exact totals by rule, the Worker writes them to ",
      "another file and reads that file back. Only then may the Case close. No model takes part."),
    h("form", { novalidate: true, onsubmit: (event) => { event.preventDefault(); if (!off) act.runCalculation(instance.id); } },
      h("div", { class: "fields" }, FIELDS.map((each) => field(each, fields[each.name], problemOf(each.name), act, instance))),
      h("label", { class: "check" },
        h("input", { type: "checkbox", checked: approve, onchange: (event) => act.approve(instance.id, event.target.checked) }),
        "Ask me before the totals are written"),
      work.input.problem && !changed && h("p", { class: "problem" }, icon("failed"), work.input.problem),
      changed && aboutTheFile(work.input, instance, act),
      done && alreadyDone(done, fields.job_id, s, instance, act),
      h("div", { class: "run-row" },
        h("button", { type: "submit", class: "primary", "aria-disabled": off ? "true" : false }, icon("play"),
          changed ? "Write these numbers and run" : "Run the verified calculation"),
        why && quiet(why)),
      work.refusal && !atAField && refused(work.refusal, act, "The calculation did not start"),
      h("p", { class: "quiet path" }, "Input ", h("code", {}, work.input.file))));
}
