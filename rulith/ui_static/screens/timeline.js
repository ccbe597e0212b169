/**
 * Operations of a Case on one time line: a row each, a bar per state it was in, exact times on
 * hover and focus and in the text a screen reader gets.
 */

import { h } from "../lib/dom.js";
import { full, moment, span } from "../lib/time.js";
import { operationLabel, operationState } from "../words.js";
import { quiet } from "../components/parts.js";
import { mark } from "../components/states.js";

const WIDTH = 1000;          // of the drawing; the page scales it
const LEAST = 8;             // a state too short to see still gets a mark
const OPEN = ["running", "waiting_for_decision", "needs_person"];

// state of an operation: [colour of its bar, words]
const STATES = {
  admitted: ["running", "admitted"], ready: ["running", "admitted"],
  waiting_for_decision: ["waiting", "waiting for a person"], needs_person: ["waiting", "needs a person"],
  dispatched: ["worker", "at the Worker"], claimed: ["worker", "at the Worker"], receipt: ["worker", "receipt in"],
};
const LEGEND = [["running", "admitted"], ["waiting", "waiting for a person"], ["worker", "at the Worker"]];

const stamped = (time) => full(new Date(time).toISOString());

/** The spans of one operation, oldest first: [{state, from, to}], the last open one ending now. */
function spans(op, now) {
  const told = op.steps?.length ? op.steps : [{ state: "admitted", at: op.at }];
  const steps = told.map((row) => ({ state: row.state, at: moment(row.at) })).filter((row) => !Number.isNaN(row.at));
  const end = OPEN.includes(op.state) ? now : Math.max(moment(op.since) || 0, steps.at(-1)?.at ?? 0);
  return steps.map((row, index) => ({ state: row.state, from: row.at, to: steps[index + 1]?.at ?? end }))
    .filter((row) => STATES[row.state] || row.to > row.from);
}

function bar(row, key, at) {
  const x = Math.min(at(row.from), WIDTH - LEAST);
  const width = Math.max(LEAST, at(row.to) - at(row.from));
  return h("rect", { key, x: x.toFixed(1), y: 1, height: 7, width: width.toFixed(1), class: `bar phase-${STATES[row.state]?.[0] ?? "settled"}` });
}

function line(op, bars, at, isLive) {
  const story = bars.map((row) => `${STATES[row.state]?.[1] ?? row.state} at ${stamped(row.from)} for ${span(row.to - row.from)}`);
  return h("li", { key: op.ordinal },
    h("div", { class: "line-row", tabindex: 0, "data-row": true, title: [op.label, ...story].join("\n") },
      h("span", { class: "mono line-label" }, operationLabel(op.label).replace(/^ApplyAction /, "")),
      mark(operationState(op), "small"),
      h("span", { class: "took" }, span(bars.length > 0 ? bars.at(-1).to - bars[0].from : 0)),
      h("svg", { class: "bars", viewBox: `0 0 ${WIDTH} 10`, preserveAspectRatio: "none", "aria-hidden": "true" },
        h("line", { x1: 0, x2: WIDTH, y1: 9.5, y2: 9.5, class: "axis" }),
        bars.map((row, index) => bar(row, index, at)),
        isLive && h("line", { key: "now", x1: WIDTH, x2: WIDTH, y1: -2, y2: 12, class: "now-line" })),
      h("span", { class: "sr" }, story.join("; "))),
    op.summary?.includes("sha256:") && h("p", { class: "quiet line-label" }, op.summary));       // content that was read, by its digest
}

export function timeline(operations, now) {
  if (operations.length === 0) return quiet("No operation yet.");
  const rows = [...operations].sort((a, b) => a.ordinal - b.ordinal);
  const all = rows.map((op) => spans(op, now));
  const from = Math.min(...all.flat().map((row) => row.from));
  const to = Math.max(from + 1, ...all.flat().map((row) => row.to));
  const at = (time) => ((time - from) / (to - from)) * WIDTH;
  const isLive = rows.some((op) => OPEN.includes(op.state)), ends = isLive ? "now" : `+ ${span(to - from)}`;
  return h("div", { class: "timeline" },
    h("ol", { "data-list": true }, rows.map((op, index) => line(op, all[index], at, isLive))),
    h("p", { class: "quiet scale" }, h("span", {}, stamped(from).split(" (")[0]), h("span", {}, ends)),
    h("p", { class: "legend quiet", "aria-hidden": "true" },
      LEGEND.map(([phase, words]) => h("span", { key: phase }, h("i", { class: `key phase-${phase}` }), words))));
}
