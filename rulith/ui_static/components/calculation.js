/** The first job anyone can run: the numbers of one order, and the button that has them calculated, written and read back. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { link } from "../route.js";
import { operationLabel, orderText } from "../words.js";
import { loading, refused } from "./states.js";

export const FIELDS = [
  { name: "job_id", words: "Job id", hint: "names the order; one job is done once", kind: "text" },
  { name: "unit_price_cents", words: "Unit price", unit: "cents", kind: "whole" },
  { name: "quantity", words: "Quantity", kind: "whole" },
  { name: "shipping_cents", words: "Shipping", unit: "cents", kind: "whole" },
];

/** What the fields hold now: the person's draft over what the file holds. */
export function fieldsOf(work, draft) {
  const values = work?.input?.values ?? {};
  return Object.fromEntries(FIELDS.map(({ name }) => [name, draft?.[name] ?? (values[name] === undefined ? "" : String(values[name]))]));
}

/** Whether running would change the file. */
export const differs = (work, fields) => FIELDS.some(({ name }) => fields[name] !== String(work?.input?.values?.[name] ?? ""));

const nextJob = (job) => (/\d+$/.test(job) ? job.replace(/\d+$/, (digits) => String(Number(digits) + 1).padStart(digits.length, "0")) : `${job}-2`);

/** The Case this job has already, if it was closed as completed. */
export const finished = (board, caseType, job) =>
  board?.cases?.find((row) => row.caseType === caseType && row.businessKey?.job_id === job && row.disposition === "completed") ?? null;

export const CASE_TYPES = ["verified_calculation", "approved_calculation"];
export const caseTypeOf = (approve) => CASE_TYPES[approve ? 1 : 0];

function field(definition, value, problem, act, instance) {
  const id = `field-${definition.name}`;
  return h("div", { class: "field", key: definition.name },
    h("label", { for: id }, definition.words),
    h("span", { class: "input" },
      h("input", {
        id, name: definition.name, value, required: true, autocomplete: "off", spellcheck: "false", class: definition.kind === "whole" ? "number" : "",
        inputmode: definition.kind === "whole" ? "numeric" : false, "aria-invalid": problem ? "true" : false, "aria-describedby": problem || definition.hint ? `${id}-note` : false,
        oninput: (event) => act.draft(instance, definition.name, event.target.value),
      }),
      definition.unit && h("span", { class: "unit" }, definition.unit)),
    (problem || definition.hint) && h("p", { id: `${id}-note`, class: problem ? "problem" : "quiet" }, problem ?? definition.hint));
}

/** Why a run cannot start now; empty when it can. An Agent has one write under way, whoever it waits for. */
export function obstacle(s, instance) {
  const waiting = s.boards[instance.id]?.board?.operations.find((op) => op.state === "waiting_for_decision" || op.state === "needs_person");
  if (instance.agent.held) return `${instance.agent.held} One run of an Agent at a time.`;
  if (instance.agent.state === "running") return "The Agent is at work; one run at a time.";
  if (s.bench.gateway.state !== "online") return "The gateway is not ready yet.";
  if (instance.worker.lineHeld) return "The Worker is waiting for its line.";
  if (instance.worker.state !== "online") return "The Worker is not online: start it in the Worker tab.";
  if (waiting) return `${operationLabel(waiting.label)} waits for a person; until then this Agent starts nothing new. See Now.`;
  return "";
}

export function calculation(s, instance, act) {
  const work = s.work[instance.id];
  if (!work?.input) return work?.error ? refused(work.error, act, "The input could not be read") : loading("the calculation's input", 4);
  const fields = fieldsOf(work, s.drafts[instance.id]);
  const changed = differs(work, fields);
  const approve = Boolean(s.approve[instance.id]);
  const problemOf = (name) => (work.refusal?.facts?.field === name ? work.refusal.happened : null);
  const done = finished(s.boards[instance.id]?.board, caseTypeOf(approve), fields.job_id);
  const why = obstacle(s, instance);
  return h("section", { class: "job", "aria-labelledby": "job-title" },
    h("h3", { id: "job-title" }, "Verified calculation"),
    h("p", {}, "The Worker reads the order from a file, the Board derives the exact totals by rule, the Worker writes them to another file and reads that file back. Only then may the Case close. No model takes part."),
    h("form", { novalidate: true, onsubmit: (event) => { event.preventDefault(); act.runCalculation(instance.id); } },
      h("div", { class: "fields" }, FIELDS.map((definition) => field(definition, fields[definition.name], problemOf(definition.name), act, instance.id))),
      h("label", { class: "check" },
        h("input", { type: "checkbox", checked: approve, onchange: (event) => act.approve(instance.id, event.target.checked) }),
        "Ask me before the totals are written"),
      work.input.problem && !changed && h("p", { class: "problem" }, icon("failed"), work.input.problem),
      changed && h("p", { class: "note" }, icon("file"), h("span", {},
        work.input.exists
          ? `The file now holds ${work.input.values ? `${work.input.values.job_id}: ${orderText(work.input.values)}` : "something that is not an order"}. Running replaces that with your numbers. `
          : "There is no input file yet. Running writes one with your numbers. ",
        work.input.exists && work.input.values && h("button", { type: "button", class: "inline", onclick: () => act.dropDraft(instance.id) }, "Keep what the file holds"))),
      done && h("p", { class: "note" }, icon("done"), h("span", {}, `${fields.job_id} is calculated and its Case is closed. `,
        h("a", { href: link(s.route, { instance: instance.id, tab: "cases", case: done.caseId, fact: "" }) }, "Open the Case"), " or ",
        h("button", { type: "button", class: "inline", onclick: () => act.draft(instance.id, "job_id", nextJob(fields.job_id)) }, `use the job id ${nextJob(fields.job_id)}`), ".")),
      h("div", { class: "run-row" },
        h("button", { type: "submit", class: "primary", disabled: Boolean(work.busy || why) }, icon("play"),
          changed ? "Write these numbers and run" : "Run the verified calculation"),
        why && h("p", { class: "quiet" }, why)),
      work.refusal && !FIELDS.some(({ name }) => problemOf(name)) && refused(work.refusal, act, "The calculation did not start"),
      h("p", { class: "quiet path" }, "Input ", h("code", {}, work.input.file))));
}
