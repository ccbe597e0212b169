/** Two moments of a Case side by side: #/moments/<instance>/<case>?from=<row>&to=<row>, rows of the ledger that moved it. */

import { h } from "../lib/dom.js";
import { at, get } from "../api.js";
import { asked } from "../asks.js";
import { ground } from "../components/proof.js";
import { quiet } from "../components/parts.js";
import { page, screenOf } from "../components/screen.js";
import { empty, known, mark, marked, partial } from "../components/states.js";
import { full, when } from "../lib/time.js";
import { write } from "../route.js";
import { argsText, caseState, caseTitle, keyText, plural, short } from "../words.js";

const SHOWN = 500;
const KIND = {
  open_case: "the Case was opened", close_case: "the Case was closed", apply_batch: "the Agent wrote facts", apply_action: "an Action of the Board's own",
  record_receipt: "a Worker reported", record_report: "a Source answered a person", record_refusal: "a call was refused", record_reconciliation: "a person said what happened",
  pause_case: "a hold", lift_hold: "a hold was lifted", focus_case: "the Agent came back to it", install_capability: "a Capability was installed",
};
const what = (row) => [KIND[row.kind] ?? row.kind.replaceAll("_", " "), row.action && short(row.action), row.disposition].filter(Boolean).join(" · ");
const CLOCK = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

// No screen is drawn before its places are here.
await new Promise((resolve) => {
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("moments.css", import.meta.url).href, onload: resolve, onerror: resolve }));
});

const address = (s, changes) => `#/moments/${s.route.at.slice(0, 2).map(encodeURIComponent).join("/")}?${new URLSearchParams({ ...s.route.query, ...changes })}`;

function choice(s, name, words, rows, value) {
  return h("label", { class: "field" }, words, h("select", { value: String(value), "data-moment": name, onchange: (event) => { location.hash = address(s, { [name]: event.target.value }); } },
    rows.map((row) => h("option", { key: row.seq, value: String(row.seq) }, `${CLOCK.format(Date.parse(row.at))} · ${what(row)}`))));
}

/** One fact as it stood, or that it did not. `now` leads to its proof where it may still hold. */
function fact(node, place) {
  if (!node) return h("span", { class: "quiet" }, "–");
  const words = [h("strong", {}, node.negated && "not ", short(node.predicate)), ` ${argsText(node.args)} `, h("span", { class: `tier tier-${node.tier}` }, node.tier)];
  return [place ? h("a", { href: place(node.id), title: node.text }, words) : h("span", { title: node.text }, words), h("span", { class: "quiet fact-origin" }, ground(node.by))];
}

const leafState = (row) => (!row ? h("span", { class: "quiet" }, "–") : row.met ? marked(`met · ${row.tier ?? ""}`, "done", "done") : marked("open", "running", "open"));

function table(found, place) {
  const moved = found.leaves.filter((row) => row.before?.met !== row.after.met || row.before?.tier !== row.after.tier);
  const rows = [...found.changed.map((row) => ["changed", row.before, row.after]), ...found.added.map((node) => ["added", null, node]), ...found.removed.map((node) => ["removed", node, null])];
  if (moved.length + rows.length === 0) return empty("Nothing of this Case differs between these two moments.", "Choose another moment above.");
  return [
    h("table", { class: "table sides" },
      h("caption", {}, [plural(found.added.length, "fact"), " added, ", String(found.removed.length), " removed, ", String(found.changed.length), " changed"].join("")),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "What"), h("th", { scope: "col" }, "Then"), h("th", { scope: "col" }, "Later"))),
      h("tbody", {},
        moved.map((row) => h("tr", { key: row.node, "data-change": "goal" }, h("th", { scope: "row" }, "goal ", h("span", { class: "quiet" }, row.goal)), h("td", {}, leafState(row.before)), h("td", {}, leafState(row.after)))),
        rows.slice(0, SHOWN).map(([change, then, later]) => h("tr", { key: `${change}${(later ?? then).id}`, "data-change": change }, h("th", { scope: "row" }, change), h("td", {}, fact(then)), h("td", {}, fact(later, place)))))),
    partial(Math.min(SHOWN, rows.length), rows.length, "changed ones first"),
    found.cut && quiet("There were more facts than are compared; the Terminal Receipt and the ledger tell of all."),
  ];
}

function body(s, act) {
  const [id, caseId] = s.route.at, about = s.cases[`${id}/${caseId}`]?.detail?.case ?? s.boards[id]?.board?.cases.find((row) => row.caseId === caseId);
  const home = write({ instance: id, tab: "cases", case: caseId });
  const rows = asked(`moments ${id}/${caseId}`, () => get(at(id, "moments", { case: caseId })), { board: true });
  return page(s, act, "Two moments of a Case",
    h("p", {}, h("a", { href: home }, about ? keyText(about.businessKey) : caseId), about && h("span", { class: "quiet" }, ` · ${caseTitle(about)} `), about && mark(caseState(about, s.boards[id]?.board?.operations), "small")),
    known(act, "moments", rows, ({ rows: moments, total }) => {
      if (moments.length < 2) return empty("This Case has had one moment so far.", "Every step of its Agent, a Worker or a person that moves it makes another.");
      const has = (seq) => moments.some((row) => String(row.seq) === seq);
      const from = has(s.route.query.from) ? s.route.query.from : String(moments.at(-1).seq), to = has(s.route.query.to) ? s.route.query.to : String(moments[0].seq);
      const place = (fact) => write({ instance: id, tab: "cases", case: caseId, fact });
      return [h("div", { class: "filters" }, choice(s, "from", "Then", moments, from), choice(s, "to", "Later", moments, to)), partial(moments.length, total, "the newest moments"),
        known(act, "comparison", asked(`between ${id}/${caseId} ${from} ${to}`, () => get(at(id, "between", { case: caseId, from, to }))), (found) => [
          h("p", { class: "quiet" }, "From ", when(found.from.at, s.now), ` (${what(found.from)}) to `, when(found.to.at, s.now), ` (${what(found.to)}). `, h("span", { class: "sr" }, `${full(found.from.at)} to ${full(found.to.at)}`)),
          table(found, place)])];
    }));
}

export const view = (s, act) => screenOf(s, "moments", true, body(s, act));

/** Esc goes back to the Case. */
export function up(s) {
  if (s.route.at.length < 2) return false;
  location.hash = write({ instance: s.route.at[0], tab: "cases", case: s.route.at[1] });
  return true;
}
