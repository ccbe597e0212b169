/**
 * The proof of one fact: the conclusion on top, the rule between, the premises below, each leaf with
 * its tier and who said it. A tree for the keyboard (arrows, Home, End, Enter), nested lists for a
 * screen reader and for paper, plain text for the clipboard.
 */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { full, when } from "../lib/time.js";
import { argsText, short } from "../words.js";
import { loading, refused } from "./states.js";

/** Who or what stands behind a node, in a few words. */
export function ground(by) {
  if (!by) return "no ground told";
  if (by.kind === "rule") return `${by.law === false ? "the Agent's rule" : "rule"} ${by.label ?? by.id}`;
  if (by.kind === "receipt") return `Source ${by.source} through ${short((by.tool ?? "").split("@")[0])}, operation ${by.ordinal}`;
  if (by.kind === "agent") return "asserted by the Agent";
  if (by.kind === "person") return `a person${by.name ? `, ${by.name}` : ""}`;
  if (by.kind === "action") return `effect of ${short(by.action)}${by.ordinal ? `, operation ${by.ordinal}` : ""}`;
  if (by.kind === "law") return `the Board's own law${by.what ? `: ${by.what}` : ""}`;
  return by.kind;
}

const OPERATORS = { mul: "×", add: "+", sub: "−", div: "÷" };

export const sum = (row) => (OPERATORS[row.op] && row.right !== undefined ? `${row.left} ${OPERATORS[row.op]} ${row.right} = ${row.result}` : `${row.op}(${[row.left, row.right].filter((value) => value !== undefined).join(", ")}) = ${row.result}`);

/** The whole tree as indented text. */
export function asText(node, depth = 0) {
  const pad = "  ".repeat(depth);
  const lines = [`${pad}${node.negated ? "not " : ""}${node.text}  [${node.tier ?? "no tier told"}]${node.witness ? "  (weakest premise)" : ""}`, `${pad}  by ${ground(node.by)}${node.by?.at ? ` at ${node.by.at}` : ""}`];
  for (const row of node.computed ?? []) lines.push(`${pad}  ${sum(row)}`);
  for (const premise of node.premises ?? []) lines.push(asText(premise, depth + 1));
  if (node.cut) lines.push(`${pad}  (deeper premises not shown)`);
  return lines.join("\n");
}

function item(node, path, context) {
  const { folded, now, act, key } = context;
  const premises = node.premises ?? [];
  const open = !folded[`${key} ${path}`];
  return h("li", {
    key: path, role: "treeitem", tabindex: path === context.at ? 0 : -1, "data-path": path,
    "aria-expanded": premises.length > 0 ? String(open) : false, "aria-label": `${short(node.predicate)} ${argsText(node.args)}, ${node.tier}, by ${ground(node.by)}`,
  },
    h("div", { class: `node ${node.witness ? "witness" : ""}`, onclick: (event) => { event.stopPropagation(); if (premises.length > 0) act.fold(`${key} ${path}`, open); } },
      h("span", { class: "twig", "aria-hidden": "true" }, premises.length > 0 ? (open ? "▾" : "▸") : "·"),
      h("div", { class: "node-body" },
        h("p", { class: "node-fact", title: node.text }, node.negated && "not ", h("strong", {}, short(node.predicate)), " ", h("span", { class: "node-args" }, argsText(node.args)),
          " ", h("span", { class: `tier tier-${node.tier}` }, node.tier), node.witness && h("span", { class: "weakest" }, "weakest premise")),
        h("p", { class: "node-by quiet" }, `${premises.length > 0 || node.by?.kind === "rule" ? "by " : "from "}${ground(node.by)}`, node.by?.at && [" · ", when(node.by.at, now)]),
        node.by?.kind === "receipt" && h("details", { class: "node-more", onclick: (event) => event.stopPropagation() }, h("summary", {}, "Receipt"),
          h("dl", { class: "pairs" }, Object.entries({ Tool: node.by.tool, Connection: node.by.connection, Received: full(node.by.at), "Request digest": node.by.requestDigest, "Result digest": node.by.resultDigest })
            .filter(([, value]) => value).map(([name, value]) => [h("dt", { key: name }, name), h("dd", { key: `${name}=` }, h("code", {}, value))]))),
        (node.computed ?? []).map((row, index) => h("p", { key: `sum${index}`, class: "sum" }, sum(row))))),
    premises.length > 0 && open && h("ul", { role: "group" }, premises.map((premise, index) => item(premise, `${path}.${index}`, context))),
    node.cut && h("p", { class: "quiet cut" }, "Deeper premises are not shown here; the Terminal Receipt has them all."));
}

/** Arrow keys on the tree, as every file tree has them. */
export function treeKey(event, act, key) {
  const here = event.target.closest("[role=treeitem]");
  if (!here || event.target !== here) return;
  const all = [...here.closest("[role=tree]").querySelectorAll("[role=treeitem]")];
  const go = (target) => { if (target) act.atNode(key, target.dataset.path, target); };
  const expanded = here.getAttribute("aria-expanded");
  const moves = {
    ArrowDown: () => go(all[all.indexOf(here) + 1]),
    ArrowUp: () => go(all[all.indexOf(here) - 1]),
    Home: () => go(all[0]),
    End: () => go(all.at(-1)),
    ArrowRight: () => (expanded === "false" ? act.fold(`${key} ${here.dataset.path}`, false) : go(here.querySelector("[role=treeitem]"))),
    ArrowLeft: () => (expanded === "true" ? act.fold(`${key} ${here.dataset.path}`, true) : go(here.parentElement.closest("[role=treeitem]"))),
    Enter: () => expanded && act.fold(`${key} ${here.dataset.path}`, expanded === "true"),
  };
  const move = moves[event.key];
  if (!move || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  event.stopPropagation();
  move();
}

export function proof(s, instance, act) {
  if (!s.route.fact || !instance) return null;
  const key = `${instance.id}/${s.route.fact}`;
  const entry = s.proofs[key];
  const node = entry?.proof;
  return h("dialog", { class: "proof", "aria-labelledby": "proof-title", key: "proof", hook: (element) => act.show(element, () => act.closeFact()) },
    h("header", { class: "dialog-head" },
      h("h2", { id: "proof-title" }, node ? `Why ${short(node.predicate)} holds` : "Why it holds"),
      h("button", { type: "button", class: "bare", onclick: () => act.closeFact(), "aria-label": "Close the proof" }, icon("close"))),
    h("div", { class: "dialog-body" },
      entry?.error ? refused(entry.error, act, "The proof could not be read")
        : !node ? loading("the proof", 6)
          : h("ul", { role: "tree", class: "tree", "aria-labelledby": "proof-title", onkeydown: (event) => treeKey(event, act, key) },
            item(node, "0", { folded: s.ui.folded, at: s.ui.at?.[key] ?? "0", now: s.now, act, key }))),
    node && h("footer", { class: "dialog-foot" },
      h("p", { class: "quiet" }, "Arrow keys walk the tree. A conclusion is no stronger than its weakest premise."),
      h("button", { type: "button", class: "plain", onclick: () => act.copy(asText(node), "Proof copied") }, icon("copy"), "Copy as text"),
      h("button", { type: "button", class: "plain", onclick: () => act.saveProof(node) }, icon("file"), "Save as file")));
}
