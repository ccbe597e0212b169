/** What the Board holds for one Case: every fact with its tier and who stands behind it. */

import { h } from "../lib/dom.js";
import { moment } from "../lib/time.js";
import { argsText, caseTitle, keyText, plural, short } from "../words.js";
import { place } from "./parts.js";
import { ground } from "./proof.js";
import { empty, loading, partial, refused } from "./states.js";

const SHOWN = 200;

/** The Case the tab is about: the one the address names, else the newest. */
export function caseInView(s, instance) {
  const cases = s.boards[instance.id]?.board?.cases ?? [];
  return s.route.case || [...cases].sort((a, b) => moment(b.openedAt) - moment(a.openedAt))[0]?.caseId || "";
}

const factRow = (fact, s, instance) => h("li", { key: fact.id },
  h("a", { class: "fact", "data-row": true, href: place(s, instance, { tab: "board", case: s.route.case, fact: fact.id }), title: fact.text },
    h("span", { class: "fact-name" }, fact.negated && "not ", short(fact.predicate)),
    h("span", { class: `tier tier-${fact.tier}` }, fact.tier),
    h("span", { class: "fact-args" }, argsText(fact.args)),
    h("span", { class: "quiet fact-origin" }, ground(fact.by))));

const list = (facts, s, instance) =>
  facts.length > 0 && h("ul", { class: "fact-list", "data-list": true }, facts.map((fact) => factRow(fact, s, instance)));

function facts(all, s, instance, act) {
  const wanted = s.ui.filter.trim().toLowerCase();
  const found = all.filter((fact) => !wanted || fact.text.toLowerCase().includes(wanted));
  const rows = found.slice(0, SHOWN);
  // A predicate with a dot is a Capability's own; the others are the Board's words about goals and keys.
  const own = rows.filter((fact) => fact.predicate.includes("."));
  const words = rows.filter((fact) => !fact.predicate.includes("."));
  return [
    h("label", { class: "field" }, "Find",
      h("input", { type: "search", value: s.ui.filter, placeholder: "part of a name or value", oninput: (event) => act.filter(event.target.value) })),
    rows.length === 0 ? empty(wanted ? "No fact has that in its text." : "No fact yet.") : list(own, s, instance),
    words.length > 0 && h("details", { class: "board-words", key: "words" },
      h("summary", {}, plural(words.length, "fact"), " about the Case itself"), list(words, s, instance)),
    partial(rows.length, found.length, "in the order they appeared"),
  ];
}

export function board(s, instance, act) {
  const cases = s.boards[instance.id]?.board?.cases;
  if (!cases) return loading("the Board");
  if (cases.length === 0) return empty("The Board holds no fact of a Case yet.", "Facts appear when a Source attests them or a rule derives them.");
  const id = caseInView(s, instance);
  const entry = s.cases[`${instance.id}/${id}`];
  const picker = h("label", { class: "field" }, "Case",
    h("select", { value: id, onchange: (event) => act.go({ tab: "board", case: event.target.value, fact: "" }) },
      cases.map((row) => h("option", { key: row.caseId, value: row.caseId }, `${keyText(row.businessKey)} · ${caseTitle(row)}`))));
  if (entry?.error && !entry.detail) return [picker, refused(entry.error, act, "The Board could not be read")];
  return [picker, entry?.detail ? facts(entry.detail.facts ?? [], s, instance, act) : loading("facts", 6)];
}
