/** The Worker of an Agent's Connection: its line, what it may run and read, and what it did. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { moment, when, span } from "../lib/time.js";
import { short, workerState } from "../words.js";
import { empty, loading, mark, partial } from "./states.js";

const SHOWN = 60;

/** One event of a role as a line; an unknown type is shown by its own name. */
export function activityText(row) {
  const tool = row.tool ? short(String(row.tool).split("@")[0]) : "";
  switch (row.type) {
    case "up": return "Manifest loaded, ready for work";
    case "availability": return [`Line ${row.state ?? "changed"}`, row.reason].filter(Boolean).join(": ");
    case "claimed": return `Claimed ${tool || row.label || "an operation"}`;
    case "reported": return row.landed === false ? `Reported ${tool}: the receipt did not land` : `Reported ${tool || "the outcome"}`;
    case "tool-timing": return `Ran for ${span(row.ms ?? 0)}`;
    case "lease": return row.lost ? `Lease lost: ${row.why ?? "no reason told"}` : row.released === undefined ? `Holds the line (generation ${row.generation})` : "Gave the line back";
    case "sources": return row.names?.length > 0 ? `Sources ${row.names.join(", ")}` : "No Source is bound";
    case "skipped": return `Left ${row.count} unclaimed: ${String(row.why ?? "").replaceAll("_", " ")}`;
    case "error": return [row.what, row.detail].filter(Boolean).join(": ");
    case "restart-wait": return `Stopped by itself; next start in ${span(row.delayMs)} (${row.failures} in a row)`;
    case "restart-failed": return `Keeps stopping (${row.failures} in a row); start it again when the cause is gone`;
    case "spawn": return `Started (process ${row.pid})`;
    case "exit": return row.wanted ? "Stopped" : `Ended by itself, ${row.signal ? `signal ${row.signal}` : `exit ${row.code}`}`;
    case "skip": return `Left ${tool || "an operation"}: ${row.reason ?? "not for this Worker"}`;
    case "log": return row.line;
    default: return [row.type, row.reason ?? row.detail ?? row.teaching ?? ""].filter(Boolean).join(" · ");
  }
}

export function worker(s, instance, act) {
  const role = instance.worker;
  const board = s.boards[instance.id]?.board;
  const state = workerState(role);
  const stopped = ["stopped", "failed", "needs_setup"].includes(role.state);
  const rows = (s.activity[instance.id] ?? []).filter((row) => row.src === "worker");
  return [
    h("section", {},
      h("div", { class: "line" }, mark(state), role.pid && h("span", { class: "quiet" }, `process ${role.pid}`), when(role.since, s.now)),
      role.lineHeld && h("p", { class: "quiet" }, "A Worker before it may still hold the line; its lease lapses within a minute."),
      role.detail && h("p", { class: stopped ? "problem" : "quiet" }, role.detail),
      role.retryAt && h("p", { class: "quiet" }, `Next start in ${span(Math.max(0, moment(role.retryAt) - s.now))}.`),
      h("div", { class: "row" }, stopped
        ? h("button", { type: "button", class: "primary", onclick: () => act.worker(instance.id, "start") }, icon("play"), "Start the Worker")
        : h("button", { type: "button", class: "plain", onclick: () => act.worker(instance.id, "stop"), disabled: role.state === "stopping" }, icon("stop"), "Stop the Worker")),
      stopped && h("p", { class: "quiet" }, "While it is stopped no Tool of this Connection runs."),
      h("p", { class: "quiet path" }, "Workspace ", h("code", {}, instance.workspace))),
    connection(board?.connection),
    h("section", {}, h("h4", { class: "over" }, "Activity"),
      rows.length === 0 ? h("p", { class: "quiet" }, "Nothing yet since this workbench started.")
        : h("ol", { class: "activity", "data-list": true }, rows.slice(-SHOWN).reverse().map((row) => h("li", { key: row.sequence, class: row.type === "log" ? "mono log" : "" }, h("span", {}, activityText(row)), when(row.t, s.now)))),
      partial(Math.min(SHOWN, rows.length), rows.length, "newest first")),
  ];
}

function connection(row) {
  if (row === undefined) return loading("the Connection");
  if (row === null) return empty("The gateway knows no Connection of this Agent.");
  return [
    h("section", {}, h("h4", { class: "over" }, "Tools"),
      row.tools.length === 0 ? empty("No Tool is locked for this Connection.")
        : h("ul", { class: "tool-list", "data-list": true }, row.tools.map((tool) => h("li", { key: tool.id, title: tool.id },
          h("span", { class: "mono" }, short(tool.id.split("@")[0])), h("span", { class: "quiet" }, tool.kind),
          mark(!tool.locked ? { words: "not locked", meaning: "quiet", mark: "offline" } : tool.advertised ? { words: "locked, offered", meaning: "done", mark: "done" } : { words: "locked, not offered", meaning: "waiting", mark: "waiting" }, "small"))))),
    h("section", {}, h("h4", { class: "over" }, "Sources"),
      row.sources.length === 0 ? empty("No Source is bound.") : h("ul", { class: "tool-list" }, row.sources.map((source) => h("li", { key: source.name }, h("span", { class: "mono" }, source.name), h("span", { class: "quiet" }, source.type), h("code", { class: "wide" }, source.access))))),
  ];
}
