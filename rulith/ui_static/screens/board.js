/** What the Board holds for one Case: every fact with its tier and who stands behind it. */

import { at, get } from "../api.js";
import { asked } from "../asks.js";
import { caseInView } from "../components/board.js";
import { button, place } from "../components/parts.js";
import { ground } from "../components/proof.js";
import { empty, loading, partial, refused } from "../components/states.js";
import { h } from "../lib/dom.js";
import { argsText, caseTitle, keyText, plural, short } from "../words.js";

const SHOWN = 200;
const TIERS = ["verified", "attested", "approximate", "inductive", "uncertain", "perceived", "asserted"];
let last = {};

const factRow = (fact, s, instance) => h("li", { key: fact.id },
  h("a", { class: "fact", "data-row": true, href: place(s, instance, { tab: "board", case: s.route.case, fact: fact.id }), title: fact.text },
    h("span", { class: "fact-name" }, fact.negated && "not ", short(fact.predicate)),
    h("span", { class: `tier tier-${fact.tier}` }, fact.tier),
    h("span", { class: "fact-args" }, argsText(fact.args)),
    h("span", { class: "quiet fact-origin" }, fact.own === false && "from another Case: ", ground(fact.by))));

const list = (facts, s, instance) =>
  facts.length > 0 && h("ul", { class: "fact-list", "data-list": true }, facts.map((fact) => factRow(fact, s, instance)));

/** Read by page from the gateway, which looks through all; what was last shown stays until what is asked for is here. */
function told(s, instance, id) {
  const text = s.ui.filter.trim(), tier = s.ui.tier ?? "", limit = s.ui.more.facts ?? SHOWN;
  const page = (from) => asked(`facts ${instance.id}/${id} ${tier} ${text} ${from}`, () => get(at(instance.id, "facts", { case: id, text, tier, from, limit: SHOWN })), { board: true });
  const pages = Array.from({ length: limit / SHOWN }, (_, index) => page(index * SHOWN));
  const here = pages.filter((each) => each.value);
  if (here.length > 0) last = { id, rows: here.flatMap((each) => each.value.rows), found: here[0].value.found };
  return { ...(last.id === id ? last : {}), limit, error: pages.find((each) => each.error)?.error };
}

function facts(s, instance, id, act) {
  const { rows, found, limit, error } = told(s, instance, id);
  // A predicate with a dot is a Capability's own; the others are the Board's words about goals and keys.
  const own = rows?.filter((fact) => fact.predicate.includes("."));
  const words = rows?.filter((fact) => !fact.predicate.includes("."));
  return [
    h("div", { class: "filters" },
      h("label", { class: "field" }, "Find",
        h("input", { type: "search", value: s.ui.filter, placeholder: "part of a name, value or Source", oninput: (event) => act.filter(event.target.value) })),
      h("label", { class: "field" }, "Tier", h("select", { value: s.ui.tier ?? "", onchange: (event) => act.tier(event.target.value) },
        ["", ...TIERS].map((tier) => h("option", { key: tier, value: tier }, tier || "every tier"))))),
    error && refused(error, act, "The Board could not be read"),
    !rows ? !error && loading("facts", 6) : rows.length === 0 ? empty(s.ui.filter || s.ui.tier ? "No fact is like that." : "No fact yet.") : list(own, s, instance),
    words?.length > 0 && h("details", { class: "board-words", key: "words" },
      h("summary", {}, plural(words.length, "fact"), " about the Case itself"), list(words, s, instance)),
    rows && partial(rows.length, found, "newest first"),
    rows && found > rows.length && button("Show more facts", () => act.more("facts", limit + SHOWN)),
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
      (cases.some((row) => row.caseId === id) || !entry?.detail ? cases : [entry.detail.case, ...cases]).map((row) => h("option", { key: row.caseId, value: row.caseId }, `${keyText(row.businessKey)} · ${caseTitle(row)}`))));
  if (entry?.error && !entry.detail) return [picker, refused(entry.error, act, "The Board could not be read")];
  return [picker, facts(s, instance, id, act)];
}
