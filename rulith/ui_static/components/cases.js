/** The Cases of an Agent: the list, and one Case with its goals, gaps, Actions, conclusions and time line. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { moment, when } from "../lib/time.js";
import { caseState, caseTitle, keyText, plural, short } from "../words.js";
import { conclusions } from "./conversation.js";
import { button, place, quiet, section, toConsole } from "./parts.js";
import { empty, loading, mark, marked, partial, refused } from "./states.js";
import { timeline } from "./timeline.js";

const SHOWN = 50;

export function cases(s, instance, act) {
  if (s.route.case) return one(s, instance, act);
  const board = s.boards[instance.id]?.board;
  if (!board) return loading("Cases");
  if (board.cases.length === 0) return empty("No Case yet.", "A Case is one job with its goals and its proof. The calculation opens the first.");
  const rows = [...board.cases].sort((a, b) => moment(b.openedAt) - moment(a.openedAt));
  const limit = s.ui.more.cases ?? SHOWN;
  const total = Math.max(rows.length, board.casesTotal ?? 0);      // the gateway tells the newest of them
  return [
    h("ul", { class: "case-list", "data-list": true }, rows.slice(0, limit).map((row) => listed(row, board, s, instance))),
    partial(Math.min(limit, rows.length), total, "newest first"),
    rows.length > limit ? button("Show older Cases", () => act.more("cases", limit + SHOWN))
      : total > rows.length && toConsole("Find older Cases in the Console", "#cases/closed"),
  ];
}

const listed = (row, board, s, instance) => h("li", { key: row.caseId },
  h("a", { class: "case-row", "data-row": true, "data-case": row.caseId, "data-status": row.status,
    href: place(s, instance, { tab: "cases", case: row.caseId }) },
  h("span", { class: "case-key" }, keyText(row.businessKey)),
  h("span", { class: "quiet" }, caseTitle(row)),
  mark(caseState(row, board.operations), "small"),
  when(row.closedAt ?? row.openedAt, s.now)));

function one(s, instance, act) {
  const entry = s.cases[`${instance.id}/${s.route.case}`];
  const back = h("a", { class: "back", href: place(s, instance, { tab: "cases" }) }, icon("back"), "All Cases");
  if (entry?.error && !entry.detail) return [back, refused(entry.error, act, "The Case could not be read")];
  if (!entry?.detail) return [back, loading("the Case", 5)];
  const detail = entry.detail;
  const closed = detail.case.status === "closed";
  return [
    back,
    heading(detail, s.now),
    section("Goals", goals(detail)),
    gaps(detail),
    section("Conclusions", conclusions(detail, s, instance) ?? quiet("Nothing is derived yet.")),
    section("Operations", timeline(detail.operations ?? [], s.now)),
    !closed && actions(detail),
    !closed && inTheConsole(detail.case, instance),
    (closed || detail.receipt) && receipt(s, instance, act),
    s.bench.council && discuss(detail.case),
  ];
}

const heading = ({ case: row, operations }, now) =>
  h("header", { class: "case-head", "data-case": row.caseId, "data-status": row.status, "data-disposition": row.disposition },
    h("h3", {}, keyText(row.businessKey)),
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

/** One leaf: met with its tier, or its gap in words. */
function leaf(row) {
  const gap = typeof row.gap === "string" ? row.gap : row.gap?.text;
  return h("li", { key: row.node, "data-met": String(Boolean(row.met)) },
    goalLine(row.goal, row.met ? marked(`met · ${row.tier ?? "no tier told"}`, "done", "done") : marked("open", "running", "open")),
    !row.met && gap && h("p", { class: "gap-text quiet" }, gap));
}

function goals(detail) {
  const rows = detail.tree ?? [];
  const certified = detail.case.certified ?? (rows.length > 0 && rows.every((row) => row.met));
  const state = certified ? marked("certified", "done", "done") : marked("not certified", "running", "open");
  return h("ul", { class: "goal-tree", "aria-label": "Goals of this Case" },
    h("li", {}, goalLine(caseTitle(detail.case), state, "goal root"), h("ul", {}, rows.map(leaf))));
}

function gap(row, index) {
  const sum = row.operands && `${row.ruleLabel ?? row.rule}: ${row.operands.op} ${row.operands.left} ${row.operands.right}`;
  return h("li", { key: index, class: row.kind === "arithmetic_exact" ? "box needs" : false },
    h("p", {}, row.text),
    sum && h("p", { class: "mono" }, sum),
    row.missing?.length > 0 && h("ul", { class: "plain-list" }, row.missing.map((text) => h("li", { key: text }, h("code", {}, text)))),
    row.via?.length > 0 && quiet("Could come from ", row.via.map(short).join(", "), "."));
}

/** What is missing beyond the words at each leaf. */
function gaps(detail) {
  const rows = (detail.gaps ?? []).filter((row) => row.kind !== "leaf_gap" || row.missing?.length);
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
