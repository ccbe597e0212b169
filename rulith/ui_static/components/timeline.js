/**
 * Operations of a Case on one time line: a row each, a bar per state it was in, exact times on
 * hover and focus and in the text a screen reader gets.
 */

import { h } from "../lib/dom.js";
import { full, moment, span } from "../lib/time.js";
import { operationLabel, operationState } from "../words.js";
import { mark } from "./states.js";

const WIDTH = 1000;          // of the drawing; the page scales it
const LEAST = 8;             // a state too short to see still gets a mark

const PHASE = { admitted: "running", ready: "running", waiting_for_decision: "waiting", needs_person: "waiting", dispatched: "worker", at_worker: "worker", receipt: "worker", claimed: "worker" };
const WORDS = { admitted: "admitted", ready: "ready", waiting_for_decision: "waiting for a person", needs_person: "needs a person", dispatched: "at the Worker", at_worker: "at the Worker", claimed: "at the Worker", receipt: "receipt in" };

/** The spans of one operation, oldest first: [{state, from, to}], the last open one ending now. */
function spans(op, now) {
  const steps = (op.steps?.length ? op.steps : [{ state: "admitted", at: op.at }]).map((row) => ({ state: row.state, at: moment(row.at) })).filter((row) => !Number.isNaN(row.at));
  const settled = !["running", "waiting_for_decision", "needs_person"].includes(op.state);
  const end = settled ? Math.max(moment(op.since) || 0, steps.at(-1)?.at ?? 0) : now;
  return steps.map((row, index) => ({ state: row.state, from: row.at, to: steps[index + 1]?.at ?? end })).filter((row) => PHASE[row.state] || row.to > row.from);
}

export function timeline(operations, now) {
  if (operations.length === 0) return h("p", { class: "quiet" }, "No operation yet.");
  const rows = [...operations].sort((a, b) => a.ordinal - b.ordinal);
  const all = rows.map((op) => spans(op, now));
  const from = Math.min(...all.flat().map((row) => row.from));
  const to = Math.max(from + 1, ...all.flat().map((row) => row.to));
  const at = (time) => ((time - from) / (to - from)) * WIDTH;
  const live = rows.some((op) => op.state === "running" || op.state === "waiting_for_decision");
  return h("div", { class: "timeline" },
    h("ol", { "data-list": true }, rows.map((op, index) => {
      const bars = all[index];
      const took = bars.length > 0 ? bars.at(-1).to - bars[0].from : 0;
      const story = bars.map((bar) => `${WORDS[bar.state] ?? bar.state} at ${full(new Date(bar.from).toISOString())} for ${span(bar.to - bar.from)}`).join("; ");
      return h("li", { key: op.ordinal },
        h("div", { class: "line-row", tabindex: 0, "data-row": true, title: `${op.label}\n${story.replaceAll("; ", "\n")}` },
          h("span", { class: "mono line-label" }, operationLabel(op.label).replace(/^ApplyAction /, "")),
          mark(operationState(op), "small"),
          h("span", { class: "took" }, span(took)),
          h("svg", { class: "bars", viewBox: `0 0 ${WIDTH} 10`, preserveAspectRatio: "none", "aria-hidden": "true" },
            h("line", { x1: 0, x2: WIDTH, y1: 9.5, y2: 9.5, class: "axis" }),
            bars.map((bar, n) => h("rect", { key: n, x: Math.min(at(bar.from), WIDTH - LEAST).toFixed(1), y: 1, height: 7, width: Math.max(LEAST, at(bar.to) - at(bar.from)).toFixed(1), class: `bar phase-${PHASE[bar.state] ?? "settled"}` }))),
          h("span", { class: "sr" }, story)));
    })),
    h("p", { class: "quiet scale" }, h("span", {}, full(new Date(from).toISOString()).split(" (")[0]), h("span", {}, live ? "now" : `+ ${span(to - from)}`)),
    h("p", { class: "legend quiet", "aria-hidden": "true" }, ["running", "waiting", "worker"].map((phase) => h("span", { key: phase }, h("i", { class: `key phase-${phase}` }), { running: "admitted", waiting: "waiting for a person", worker: "at the Worker" }[phase]))));
}
