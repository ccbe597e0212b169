/** The Worker of an Agent's Connection: its line, what it may run and read, and what it did. */

import { h } from "../lib/dom.js";
import { moment, span, when } from "../lib/time.js";
import { workerState } from "../words.js";
import { button, quiet, section } from "./parts.js";
import { empty, loading, mark, marked, partial } from "./states.js";

const SHOWN = 60;
const STOPPED = ["stopped", "failed", "needs_setup"];

function leaseText(row) {
  if (row.lost) return `Lease lost: ${row.why ?? "no reason told"}`;
  return row.released === undefined ? `Holds the line (generation ${row.generation})` : "Gave the line back";
}

function exitText(row) {
  if (row.wanted) return "Stopped";
  return `Ended by itself, ${row.signal ? `signal ${row.signal}` : `exit ${row.code}`}`;
}

// type of event: its words; what is not here is shown by its own name
const EVENTS = {
  up: () => "Manifest loaded, ready for work",
  availability: (row) => [`Line ${row.state ?? "changed"}`, row.reason].filter(Boolean).join(": "),
  lease: leaseText,
  sources: (row) => (row.names?.length > 0 ? `Sources ${row.names.join(", ")}` : "No Source is bound"),
  claimed: (row, tool) => `Claimed ${tool || "an operation"}`,
  reported: (row, tool) => (row.landed === false ? `Reported ${tool}: the receipt did not land` : `Reported ${tool || "the outcome"}`),
  "tool-timing": (row) => `Ran for ${span(row.ms ?? 0)}`,
  skip: (row, tool) => `Left ${tool || "an operation"}: ${row.reason ?? "not for this Worker"}`,
  skipped: (row) => `Left ${row.count} unclaimed: ${String(row.why ?? "").replaceAll("_", " ")}`,
  error: (row) => [row.what, row.detail].filter(Boolean).join(": "),
  spawn: (row) => `Started (process ${row.pid})`,
  exit: exitText,
  "restart-wait": (row) => `Stopped by itself; next start in ${span(row.delayMs)} (${row.failures} in a row)`,
  "restart-failed": (row) => `Keeps stopping (${row.failures} in a row); start it again when the cause is gone`,
};

/** One event of a role as a line. */
export function activityText(row) {
  const words = EVENTS[row.type]?.(row, row.tool);
  return words ?? [row.type, row.reason ?? row.detail ?? row.teaching].filter(Boolean).join(" · ");
}

function line(instance, s, act) {
  const role = instance.worker;
  const stopped = STOPPED.includes(role.state);
  return h("section", {},
    h("div", { class: "line" }, mark(workerState(role)), role.pid && h("span", { class: "quiet" }, `process ${role.pid}`), when(role.since, s.now)),
    role.lineHeld && quiet("A Worker before it may still hold the line; its lease lapses within a minute."),
    role.detail && h("p", { class: stopped ? "problem" : "quiet" }, role.detail),
    role.retryAt && quiet(`Next start in ${span(Math.max(0, moment(role.retryAt) - s.now))}.`),
    h("div", { class: "row" }, stopped
      ? button("Start the Worker", () => act.worker(instance.id, "start"), { mark: "play", kind: "primary" })
      : button("Stop the Worker", () => act.worker(instance.id, "stop"), { mark: "stop", disabled: role.state === "stopping" })),
    stopped && quiet("While it is stopped no Tool of this Connection runs."),
    h("p", { class: "quiet path" }, "Workspace ", h("code", {}, instance.workspace)));
}

function toolState(tool) {
  if (!tool.locked) return marked("not locked", "quiet", "offline");
  return tool.advertised ? marked("locked, offered", "done", "done") : marked("locked, not offered", "waiting", "waiting");
}

const tool = (row) => h("li", { key: row.id },
  h("span", { class: "mono" }, row.id), h("span", { class: "quiet" }, row.kind), toolState(row));

const source = (row) => h("li", { key: row.name },
  h("span", { class: "mono" }, row.name), h("span", { class: "quiet" }, row.type), h("code", { class: "wide" }, row.access));

function connection(row, instance) {
  if (row === undefined) return loading("the Connection");
  if (row === null) return empty("The gateway knows no Connection of this Agent.");
  const list = (rows, draw) => h("ul", { class: "tool-list", "data-list": true }, rows.map(draw));
  return [
    section("Tools", h("p", {}, h("a", { href: `#/tools/${instance}` }, "Manage Tools and MCP services"), " · ", h("a", { href: `#/authoring/${instance}` }, "Draft a Capability from a document")), row.tools.length === 0 ? empty("No Tool is locked for this Connection.") : list(row.tools, tool)),
    section("Sources", row.sources.length === 0 ? empty("No Source is bound.") : list(row.sources, source)),
  ];
}

function activity(rows, now) {
  if (rows.length === 0) return quiet("Nothing yet since this workbench started.");
  return [
    h("ol", { class: "activity", "data-list": true }, rows.slice(-SHOWN).reverse()
      .map((row) => h("li", { key: row.sequence }, h("span", {}, activityText(row)), when(row.t, now)))),
    partial(Math.min(SHOWN, rows.length), rows.length, "newest first"),
  ];
}

export const worker = (s, instance, act) => [
  h("h3", { class: "sr" }, "Worker"),
  line(instance, s, act),
  connection(s.boards[instance.id]?.board?.connection, instance.id),
  section("Activity", activity((s.activity[instance.id] ?? []).filter((row) => row.src === "worker"), s.now)),
];
