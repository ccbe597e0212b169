/** One Case: its goals, what each lacks and who could supply it, conclusions, operations, Actions, its receipt. */

import { conclusions } from "../components/conversation.js";
import { button, place, quiet, section, toConsole } from "../components/parts.js";
import { loading, mark, marked, refused } from "../components/states.js";
import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { when } from "../lib/time.js";
import { screen } from "../screens.js";
import { caseState, caseTitle, keyText, plural, short } from "../words.js";
import { ask, closers, whyNot } from "./inspect.js";
import { timeline } from "./timeline.js";

export function one(s, instance, act) {
  const entry = s.cases[`${instance.id}/${s.route.case}`];
  const back = h("a", { class: "back", href: place(s, instance, { tab: "cases" }) }, icon("back"), "All Cases");
  if (entry?.error && !entry.detail) return [back, refused(entry.error, act, "The Case could not be read")];
  if (!entry?.detail) return [back, loading("the Case", 5)];
  const detail = entry.detail;
  screen("proof");           // the next press needs it
  const closed = detail.case.status === "closed";
  return [
    back,
    heading(detail, s.now),
    section("Goals", goals(detail)),
    gaps(detail),
    section("Conclusions", conclusions(detail, s, instance) ?? quiet("Nothing is derived yet.")),
    section("Operations", timeline(detail.operations ?? [], s.now)),
    h("div", { class: "row" }, h("a", { class: "button", href: `#/moments/${encodeURIComponent(instance.id)}/${encodeURIComponent(detail.case.caseId)}` }, "Compare two moments of this Case")),
    !closed && actions(detail),
    !closed && whyNot(s, instance, detail, act),
    !closed && inTheConsole(detail.case, instance),
    (closed || detail.receipt) && receipt(s, instance, act),
    s.bench.council && discuss(detail.case),
  ];
}

const heading = ({ case: row, operations }, now) =>
  h("header", { class: "case-head", "data-case": row.caseId, "data-status": row.status, "data-disposition": row.disposition },
    h("h3", {}, keyText(row.businessKey, caseTitle(row))),
    h("p", {}, mark(caseState(row, operations)), " ",
      h("span", { class: "quiet" }, caseTitle(row), " · opened ", when(row.openedAt, now),
        row.closedAt && [" · closed ", when(row.closedAt, now)])),
    h("p", { class: "quiet mono small-id", title: "the Case's id" }, row.caseId),
    row.holds?.map((each) => h("p", { key: each.hold, class: "box needs" }, `On hold by ${each.by ?? each.hold}${each.reason ? `: ${each.reason}` : "."} `, when(each.at, now))),
    row.reason && quiet(`Closed by ${row.closedBy ?? "its Agent"}: ${row.reason}`));

/** Into the council: a thread about this Case, which tells its members no more of it than its type and state. */
const discuss = ({ caseId, caseType, status }) => h("div", { class: "row" },
  h("a", { class: "button", href: `#/council/new?${new URLSearchParams({ case_id: caseId, type: caseType, status })}` }, "Discuss it in the council"));

/** What only a person may do; this page may not, and the Console asks for the passphrase. */
const inTheConsole = (row, instance) => section("Hold or end",
  quiet(row.status === "paused" ? "A person lifts the hold. " : "", "A step that was tried is not repeated by rule in this Case. Ended as cancelled, its key may be opened again, and everything is tried anew."),
  h("div", { class: "row" }, toConsole("End or hold this Case in the Console", `#cases/${encodeURIComponent(instance.agentId)}/${encodeURIComponent(row.caseId)}`)));

const goalLine = (text, state, kind = "goal") => h("div", { class: kind }, h("span", { class: "goal-text" }, text), state);

/** Without the Capability's name before each predicate. */
const plainly = (text) => text.replace(/([\w-]+\.)+(?=\w+\()/g, "");

/** One leaf: met with its tier, or its gap in words, what could close it, and why it does not hold. */
function leaf(row, detail) {
  const gap = typeof row.gap === "string" ? { text: row.gap } : row.gap;
  const isOpen = !row.met && detail.case.status !== "closed";
  const wanted = detail.case.caseType === "exploration" ? gap?.missing?.[0] ?? row.goal : `acceptance_met(node=${JSON.stringify(row.node)})`;
  return h("li", { key: row.node, "data-met": String(Boolean(row.met)) },
    goalLine(row.goal, row.met ? marked(`met · ${row.tier ?? "no tier told"}`, "done", "done") : marked("open", "running", "open")),
    !row.met && gap && h("p", { class: "gap-text quiet", title: gap.text }, plainly(gap.text.replace(`${row.goal}: `, ""))),
    isOpen && gap && closers(gap, detail),
    isOpen && button("Why not?", () => ask(detail.case.caseId, wanted), { kind: "inline", "aria-label": `Why not: ${row.goal}` }));
}

function goals(detail) {
  const rows = detail.tree ?? [];
  const certified = detail.case.certified ?? (rows.length > 0 && rows.every((row) => row.met));
  const state = certified ? marked("certified", "done", "done") : marked("not certified", "running", "open");
  return h("ul", { class: "goal-tree", "aria-label": "Goals of this Case" },
    h("li", {}, goalLine(caseTitle(detail.case), state, "goal root"), h("ul", {}, rows.map((row) => leaf(row, detail)))));
}

function gap(row, index) {
  const sum = row.operands && `${row.ruleLabel ?? row.rule}: ${row.operands.op} ${row.operands.left} ${row.operands.right}`;
  return h("li", { key: index, class: row.kind === "arithmetic_exact" ? "box needs" : false },
    h("p", {}, row.text),
    sum && h("p", { class: "mono" }, sum),
    row.missing?.length > 0 && h("ul", { class: "plain-list" }, row.missing.map((text) => h("li", { key: text }, h("code", {}, text)))),
    row.via?.length > 0 && quiet("Could come from ", row.via.map(short).join(", "), "."));
}

/** What is missing beyond what stands at each leaf. */
function gaps(detail) {
  const told = new Set((detail.tree ?? []).map((row) => row.gap?.text));
  const rows = (detail.gaps ?? []).filter((row) => row.kind === "arithmetic_exact" || !told.has(row.text));
  return rows.length > 0 && section("What is missing", h("ul", { class: "gap-list" }, rows.map(gap)));
}

function actions(detail) {
  const rows = detail.actions ?? [];
  if (rows.length === 0) return null;
  return section(plural(rows.length, "Action"), h("ul", { class: "action-list", "data-list": true }, rows.map((row) => {
    const ready = row.status === "ready";
    const why = [row.why, row.waits].filter(Boolean).join(" ") || (row.reason ?? "").replaceAll("_", " ");
    return h("li", { key: row.action },
      goalLine(h("span", { class: "mono", title: row.action }, short(row.action)),
        ready ? marked("ready", "done", "done") : marked("blocked", "quiet", "refused")),
      quiet(row.description),
      !ready && why && quiet(why),
      row.decision && quiet(icon("person"), `Needs a decision: ${row.decision}`));
  })));
}

const receipt = (s, instance, act) => section("Terminal Receipt",
  quiet("The whole proof of this Case in one signed file; it can be checked without this computer."),
  button("Save the receipt", () => act.saveReceipt(instance.id, s.route.case), { mark: "file" }),
  s.receipts[`${instance.id}/${s.route.case}`]?.error && refused(s.receipts[`${instance.id}/${s.route.case}`].error, act, "The receipt could not be read"));
