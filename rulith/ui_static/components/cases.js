/** The Cases of an Agent, as a list; one of them is drawn by screens/case.js. */

import { at, get } from "../api.js";
import { asked } from "../asks.js";
import { h } from "../lib/dom.js";
import { moment, when } from "../lib/time.js";
import { screen } from "../screens.js";
import { caseState, caseTitle, keyText } from "../words.js";
import { button, place } from "./parts.js";
import { empty, loading, mark, partial, refused } from "./states.js";

const SHOWN = 50;
let before = {};             // what was last shown, until what is asked for is here

export function cases(s, instance, act) {
  if (s.route.case) return screen("case")?.one(s, instance, act) ?? loading("the Case", 5);
  const board = s.boards[instance.id]?.board;
  if (!board) return loading("Cases");
  if (board.cases.length === 0) return empty("No Case yet.", "A Case is one job with its goals and its proof. The calculation opens the first.");
  screen("case");            // the next press needs it
  const limit = s.ui.more.cases ?? SHOWN, text = (s.ui.find ?? "").trim().toLowerCase();
  const { rows, found, error } = (board.casesTotal ?? 0) > board.cases.length ? paged(s, instance, text, limit) : here(board, text);
  return [
    h("label", { class: "field" }, "Find a Case",
      h("input", { type: "search", value: s.ui.find, placeholder: "part of its key, type, state or id", oninput: (event) => act.find(event.target.value) })),
    error && refused(error, act, "The Cases could not be read"),
    !rows ? loading("Cases") : rows.length === 0 ? empty("No Case has that in its key, type, state or id.")
      : h("ul", { class: "case-list", "data-list": true }, rows.slice(0, limit).map((row) => listed(row, board, s, instance))),
    rows && partial(Math.min(limit, rows.length), found, "newest first"),
    rows && found > limit && button("Show older Cases", () => act.more("cases", limit + SHOWN)),
  ];
}

/** The Cases that the page holds already. */
function here(board, text) {
  const rows = [...board.cases].sort((a, b) => moment(b.openedAt) - moment(a.openedAt)).filter((row) => !text || wordsOf(row).includes(text));
  return { rows, found: rows.length };
}

const wordsOf = (row) => [...Object.values(row.businessKey ?? {}), row.caseType, caseTitle(row), row.status, row.disposition, row.caseId].join(" ").toLowerCase();

/** Where the page holds the newest alone: page by page from the gateway, which looks through all. */
function paged(s, instance, text, limit) {
  const page = (from) => asked(`cases ${instance.id} ${text} ${from}`, () => get(at(instance.id, "cases", { text, from, limit: SHOWN })), { board: true });
  const pages = Array.from({ length: Math.ceil(limit / SHOWN) }, (_, index) => page(index * SHOWN));
  const told = pages.filter((each) => each.value);
  if (told.length > 0) before = { id: instance.id, rows: told.flatMap((each) => each.value.rows), found: told[0].value.found };
  return { ...(before.id === instance.id ? before : {}), error: pages.find((each) => each.error)?.error };
}

const listed = (row, board, s, instance) => h("li", { key: row.caseId },
  h("a", { class: "case-row", "data-row": true, "data-case": row.caseId, "data-status": row.status,
    href: place(s, instance, { tab: "cases", case: row.caseId }) },
  h("span", { class: "case-key" }, keyText(row.businessKey, caseTitle(row))),
  h("span", { class: "quiet" }, keyText(row.businessKey, "") && caseTitle(row)),
  mark(caseState(row, board.operations), "small"),
  when(row.closedAt ?? row.openedAt, s.now)));
