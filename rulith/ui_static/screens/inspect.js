/**
 * Why not: what keeps a goal, or any fact that is typed, from holding. An atom is written as it is shown,
 * `total(job_id=calc-001)`; a name may leave out what stands before its last dot, and ?x leaves a value open.
 */

import { h } from "../lib/dom.js";
import { at, get } from "../api.js";
import { asked } from "../asks.js";
import { field, form, put } from "../components/forms.js";
import { button, place, quiet, section, toConsole } from "../components/parts.js";
import { known, marked } from "../components/states.js";
import { plural, short } from "../words.js";

const HOW = "Write it as a name and its values, such as total(job_id=calc-001, cents=?x).";
const NUMBER = /^-?(0|[1-9]\d{0,15})(\.\d+)?$/;

function scalar(text) {
  if (text.startsWith('"')) return JSON.parse(text);
  if (text === "true" || text === "false") return text === "true";
  return NUMBER.test(text) && String(Number(text)) === text ? Number(text) : text;
}

/** The parts between commas that stand outside quotes. */
const parts = (text) => text.match(/(?:"(?:[^"\\]|\\.)*"|[^,"])+/g) ?? [];

/** {predicate, args, negated?} of what was typed, or an Error that says how it is written. `names` are known predicates. */
export function atomOf(text, names = []) {
  try {
    const given = text.trim();
    if (given.startsWith("{")) return JSON.parse(given);
    const [, not, name, inner = ""] = /^(not\s+)?([\w.:-]+)\s*(?:\(([^]*)\))?$/.exec(given);
    const args = Object.fromEntries(parts(inner).filter((part) => part.trim()).map((part) => {
      const [, argument, value] = /^\s*([\w-]+)\s*=\s*([^]*?)\s*$/.exec(part);
      return [argument, scalar(value)];
    }));
    const fitting = names.includes(name) ? [name] : names.filter((each) => each.endsWith(`.${name}`));
    return { predicate: fitting.length === 1 ? fitting[0] : name, args, ...(not ? { negated: true } : {}) };
  } catch {
    throw new Error(HOW);
  }
}

const key = (caseId) => `why/${caseId}`;
/** Without a Capability's name and without minted ids, which say nothing to a person; the whole of it goes into the title. */
const plainly = (text) => text.replace(/([\w-]+\.)+(?=\w+\()/g, "").replace(/\b(root|case)_[0-9a-f]{24}/g, "…");
const code = (text) => h("code", { key: text, title: text }, plainly(text));
const REASON = { absent: "is missing", present: "holds, and must not", arithmetic_exact: "has no exact result in range" };

/** Ask of one atom, and bring the answer into view. */
export function ask(caseId, text) {
  put(key(caseId), { atom: text, asked: text });
  requestAnimationFrame(() => document.getElementById("why-answer")?.focus());
}

/** One rule that could have concluded it: what it has, what it lacks, and why that in turn does not hold. */
const lack = (row, index) => h("li", { key: `${row.rule}${index}` },
  h("p", {}, "The rule ", h("strong", {}, row.label || row.rule), " would conclude ", code(row.head), "."),
  h("ul", { class: "plain-list" },
    row.missing.map((each) => h("li", { key: each.text }, marked(REASON[each.reason] ?? "fails", "bad", "failed"), " ", code(each.text))),
    row.satisfied.map((text) => h("li", { key: text }, marked("holds", "done", "done"), " ", code(text)))),
  row.below?.length > 0 && h("ul", { class: "goal-tree" }, row.below.map(lack)));

function answer(found, s, instance) {
  if (found.holds) return [h("p", {}, marked("it holds", "done", "done"), " ", code(found.text)), found.id && h("a", { href: place(s, instance, { tab: "cases", case: s.route.case, fact: found.id }) }, "Show its proof")];
  return [
    h("p", {}, marked("it does not hold", "bad", "refused"), " ", code(found.text)),
    found.lacks.length > 0 ? h("ul", { class: "gap-list" }, found.lacks.map(lack)) : quiet("No rule concludes it, and nobody has stated it."),
    found.via?.length > 0 && h("p", {}, "Could come from ", found.via.map((name, index) => [index > 0 && ", ", h("code", { key: name, title: name }, short(name))]), "."),
  ];
}

async function explain(instance, atom) {
  const found = await get(at(instance.id, "why-not", { atom }));
  const isOpen = Object.values(JSON.parse(atom).args ?? {}).some((value) => String(value).startsWith("?"));      // it holds for some, and no one proof is meant
  return found.holds && !isOpen ? { ...found, id: (await get(at(instance.id, "proof", { atom }))).id } : found;
}

export function whyNot(s, instance, detail, act) {
  const id = key(s.route.case), given = form(id), names = [...new Set([...(detail.facts ?? []), ...(detail.gaps ?? []).flatMap((gap) => (gap.missing ?? []).map((text) => ({ predicate: text.split("(")[0] })))].map((row) => row.predicate))];
  const submit = (event) => { event.preventDefault(); put(id, { asked: form(id).atom ?? "" }); };
  let result = null;
  if (given.asked) {
    try {
      const atom = JSON.stringify(atomOf(given.asked, names));
      result = known(act, "reasons", asked(`why ${instance.id}/${s.route.case} ${atom}`, () => explain(instance, atom), { board: true }), (found) => answer(found, s, instance));
    } catch (error) {
      result = h("p", { class: "refused box", role: "alert" }, error.message);
    }
  }
  return section("Why not",
    h("form", { class: "form", onsubmit: submit },
      field(id, "atom", "A fact that you miss", { placeholder: "total(job_id=calc-001)", spellcheck: "false", maxlength: 2000, list: `${id}-names`.replace(/\W/g, "-") }),
      h("datalist", { id: `${id}-names`.replace(/\W/g, "-") }, names.sort().slice(0, 200).map((name) => h("option", { key: name, value: `${name}(` }))),
      button("Ask why it does not hold", submit, { type: "submit", kind: "" })),
    h("div", { id: "why-answer", tabindex: -1, role: "status", class: "why-answer" }, result));
}

/** Beside each open goal: who could close it, and what stands in that one's way. */
export function closers(gap, detail) {
  const rows = (gap.via ?? []).map((name) => (detail.actions ?? []).find((row) => row.action === name) ?? { action: name });
  return [
    rows.length > 0 && h("ul", { class: "plain-list" }, rows.map((row) => h("li", { key: row.action, title: row.action }, "Could come from ", h("code", {}, short(row.action)),
      row.status && [" · ", row.status === "ready" ? marked("ready", "done", "done") : marked("blocked", "quiet", "refused"), row.status !== "ready" && h("p", { class: "quiet" }, plainly(row.waits || row.why || "")), row.decision && quiet(`Needs a decision: ${row.decision}`)]))),
    gap.kind === "bridge_needs_source" && [quiet(`${plural(rows.length, "Action")} could tell, and no Source is bound for ${rows.length === 1 ? "it" : "them"}.`), toConsole("Bind a Source in the Console", "#sources")],
  ];
}
