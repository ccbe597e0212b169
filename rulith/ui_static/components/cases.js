/** The Cases of an Agent: the list, and one Case with its goals, gaps, Actions, conclusions and time line. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { moment, when } from "../lib/time.js";
import { link } from "../route.js";
import { caseState, caseTypeText, keyText, plural, short } from "../words.js";
import { conclusions } from "./conversation.js";
import { empty, loading, mark, partial, refused } from "./states.js";
import { timeline } from "./timeline.js";

const SHOWN = 50;

export function cases(s, instance, act) {
  if (s.route.case) return one(s, instance, act);
  const board = s.boards[instance.id]?.board;
  if (!board) return loading("Cases");
  if (board.cases.length === 0) return empty("No Case yet.", "A Case is one job with its goals and its proof. Running the calculation opens the first.");
  const rows = [...board.cases].sort((a, b) => moment(b.openedAt) - moment(a.openedAt));
  const limit = s.ui.more.cases ?? SHOWN;
  return [
    h("ul", { class: "case-list", "data-list": true }, rows.slice(0, limit).map((row) => h("li", { key: row.caseId },
      h("a", { class: "case-row", "data-row": true, "data-case": row.caseId, "data-status": row.status, href: link(s.route, { instance: instance.id, tab: "cases", case: row.caseId, fact: "" }) },
        h("span", { class: "case-key" }, keyText(row.businessKey)),
        h("span", { class: "quiet" }, caseTypeText(row.caseType)),
        mark(caseState(row, board.operations), "small"),
        when(row.closedAt ?? row.openedAt, s.now))))),
    partial(Math.min(limit, rows.length), rows.length, "newest first"),
    rows.length > limit && h("button", { type: "button", class: "plain", onclick: () => act.more("cases", limit + SHOWN) }, "Show older Cases"),
  ];
}

function one(s, instance, act) {
  const entry = s.cases[`${instance.id}/${s.route.case}`];
  const back = h("a", { class: "back", href: link(s.route, { instance: instance.id, tab: "cases", case: "", fact: "" }) }, icon("back"), "All Cases");
  if (entry?.error && !entry.detail) return [back, refused(entry.error, act, "The Case could not be read")];
  if (!entry?.detail) return [back, loading("the Case", 5)];
  const detail = entry.detail;
  const row = detail.case;
  const receipt = s.receipts[`${instance.id}/${s.route.case}`];
  return [
    back,
    h("header", { class: "case-head", "data-case": row.caseId, "data-status": row.status, "data-disposition": row.disposition },
      h("h3", {}, keyText(row.businessKey)),
      h("p", {}, mark(caseState(row, detail.operations)), " ", h("span", { class: "quiet" }, caseTypeText(row.caseType), " · opened ", when(row.openedAt, s.now), row.closedAt && [" · closed ", when(row.closedAt, s.now)])),
      h("p", { class: "quiet mono small-id", title: "the Case's id" }, row.caseId)),
    h("section", {}, h("h4", { class: "over" }, "Goals"), goals(detail)),
    gaps(detail),
    h("section", {}, h("h4", { class: "over" }, "Conclusions"), conclusions(detail, s, instance) ?? h("p", { class: "quiet" }, "Nothing is derived yet.")),
    h("section", {}, h("h4", { class: "over" }, "Operations"), timeline(detail.operations ?? [], s.now)),
    row.status !== "closed" && actions(detail),
    (detail.receipt || row.status === "closed") && h("section", {},
      h("h4", { class: "over" }, "Terminal Receipt"),
      h("p", { class: "quiet" }, "The whole proof of this Case in one signed file; it can be checked without this computer."),
      h("button", { type: "button", class: "plain", onclick: () => act.saveReceipt(instance.id, row.caseId) }, icon("file"), "Save the receipt"),
      receipt?.error && refused(receipt.error, act, "The receipt could not be read")),
  ];
}

/** One leaf: met with its tier, or its gap in words. */
function leaf(row) {
  const gap = typeof row.gap === "string" ? row.gap : row.gap?.text;
  const state = row.met ? { words: `met · ${row.tier ?? "no tier told"}`, meaning: "done", mark: "done" } : { words: "open", meaning: "running", mark: "open" };
  return h("li", { key: row.node, "data-met": String(Boolean(row.met)) },
    h("div", { class: "goal" }, h("span", { class: "goal-text" }, row.goal), mark(state, "small")),
    !row.met && gap && h("p", { class: "gap-text quiet" }, gap));
}

function goals(detail) {
  const rows = detail.tree ?? [];
  const certified = detail.case.certified ?? (rows.length > 0 && rows.every((row) => row.met));
  return h("ul", { class: "goal-tree", "aria-label": "Goals of this Case" },
    h("li", {},
      h("div", { class: "goal root" }, h("span", { class: "goal-text" }, caseTypeText(detail.case.caseType)),
        mark(certified ? { words: "certified", meaning: "done", mark: "done" } : { words: "not certified", meaning: "running", mark: "open" }, "small")),
      h("ul", {}, rows.map(leaf))));
}

function gaps(detail) {
  const rows = (detail.gaps ?? []).filter((gap) => gap.kind !== "leaf_gap" || gap.missing?.length);
  if (rows.length === 0) return null;
  return h("section", {},
    h("h4", { class: "over" }, "What is missing"),
    h("ul", { class: "gap-list" }, rows.map((gap, index) => h("li", { key: index, class: gap.kind === "arithmetic_exact" ? "box needs" : "" },
      h("p", {}, gap.text),
      gap.operands && h("p", { class: "mono" }, `${gap.ruleLabel ?? gap.rule}: ${gap.operands.op} ${gap.operands.left} ${gap.operands.right}`),
      gap.missing?.length > 0 && h("ul", { class: "plain-list" }, gap.missing.map((text) => h("li", { key: text }, h("code", {}, text)))),
      gap.via?.length > 0 && h("p", { class: "quiet" }, "Could come from ", gap.via.map(short).join(", "), ".")))));
}

function actions(detail) {
  const rows = detail.actions ?? [];
  if (rows.length === 0) return null;
  return h("section", {},
    h("h4", { class: "over" }, plural(rows.length, "Action")),
    h("ul", { class: "action-list", "data-list": true }, rows.map((row) => h("li", { key: row.action },
      h("div", { class: "goal" }, h("span", { class: "mono", title: row.action }, short(row.action)),
        mark(row.status === "ready" ? { words: "ready", meaning: "done", mark: "done" } : { words: "blocked", meaning: "quiet", mark: "refused" }, "small")),
      h("p", { class: "quiet" }, row.description),
      row.status !== "ready" && h("p", { class: "quiet" }, [row.why, row.waits].filter(Boolean).join(" ") || (row.reason ?? "").replaceAll("_", " ")),
      row.decision && h("p", { class: "quiet" }, icon("person"), `Needs a decision: ${row.decision}`)))));
}
