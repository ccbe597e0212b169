/**
 * The proof of one fact: the conclusion on top, the rule between, the premises below, each leaf with
 * its tier and who said it. A tree for the keyboard (arrows, Home, End, Enter), nested lists for a
 * screen reader and for paper, plain text for the clipboard.
 */

import { ground } from "../components/proof.js";
import { button, iconButton, pairs, quiet } from "../components/parts.js";
import { loading, refused } from "../components/states.js";
import { h } from "../lib/dom.js";
import { full, when } from "../lib/time.js";
import { argsText, short } from "../words.js";

/** The same with the word before it that a sentence needs. */
const standing = (node, word = "by") => (node.by?.kind === "receipt" ? ground(node.by) : `${word} ${ground(node.by)}`);

const OPERATORS = { mul: "×", add: "+", sub: "−", div: "÷" };

/** One computation as a sum a person can redo. */
export function sum({ op, left, right, result, members }) {
  if (members !== undefined) return `${op} of ${members} = ${result}`;
  if (OPERATORS[op] && right !== undefined) return `${left} ${OPERATORS[op]} ${right} = ${result}`;
  return `${op}(${[left, right].filter((value) => value !== undefined).join(", ")}) = ${result}`;
}

/** The whole tree as indented text. */
export function asText(node, depth = 0) {
  const pad = "  ".repeat(depth);
  const weakest = node.witness ? "  (weakest premise)" : "";
  const lines = [
    `${pad}${node.negated ? "not " : ""}${node.text}  [${node.tier ?? "no tier told"}]${weakest}`,
    `${pad}  ${standing(node)}${node.by?.at ? ` at ${node.by.at}` : ""}`,
  ];
  for (const row of node.computed ?? []) lines.push(`${pad}  ${sum(row)}`);
  for (const premise of node.premises ?? []) lines.push(asText(premise, depth + 1));
  if (node.cut) lines.push(`${pad}  (deeper premises not shown)`);
  return lines.join("\n");
}

/** What a Worker's receipt says, for who wants to check it. */
const receipt = (by) => h("details", { class: "node-more", onclick: (event) => event.stopPropagation() },
  h("summary", {}, "Receipt"),
  pairs([["Tool", by.tool], ["Connection", by.connection], ["Received", full(by.at)], ["Request digest", by.requestDigest], ["Result digest", by.resultDigest]]
    .map(([name, value]) => [name, value && h("code", {}, value)])));

function nodeBody(node, now) {
  const by = node.premises?.length > 0 || node.by?.kind === "rule" ? "by" : "from";
  return h("div", { class: "node-body" },
    h("p", { class: "node-fact", title: node.text },
      node.negated && "not ", h("strong", {}, short(node.predicate)), " ", h("span", { class: "node-args" }, argsText(node.args)), " ",
      h("span", { class: `tier tier-${node.tier}` }, node.tier), node.witness && h("span", { class: "weakest" }, "weakest premise")),
    h("p", { class: "node-by quiet" }, standing(node, by), node.by?.at && [" · ", when(node.by.at, now)]),
    node.by?.kind === "receipt" && receipt(node.by),
    (node.computed ?? []).map((row, index) => h("p", { key: `sum${index}`, class: "sum" }, sum(row))));
}

function item(node, path, context) {
  const { folded, now, act, key } = context;
  const premises = node.premises ?? [];
  const open = !folded[`${key} ${path}`];
  const toggle = (event) => {
    event.stopPropagation();
    if (premises.length > 0) act.fold(`${key} ${path}`, open);
  };
  return h("li", { key: path, role: "none" },
  h("div", {
    class: `node ${node.witness ? "witness" : ""}`, role: "treeitem", tabindex: path === context.at ? 0 : -1, "data-path": path,
    "aria-level": path.split(".").length, "aria-expanded": premises.length > 0 ? String(open) : false, onclick: toggle,
  },
  h("span", { class: "twig", "aria-hidden": "true" }, premises.length === 0 ? "·" : open ? "▾" : "▸"), nodeBody(node, now)),
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
    ArrowRight: () => (expanded === "false" ? act.fold(`${key} ${here.dataset.path}`, false) : go(here.nextElementSibling?.querySelector("[role=treeitem]"))),
    ArrowLeft: () => (expanded === "true" ? act.fold(`${key} ${here.dataset.path}`, true) : go(here.closest("[role=group]")?.parentElement.querySelector("[role=treeitem]"))),
    Enter: () => expanded && act.fold(`${key} ${here.dataset.path}`, expanded === "true"),
  };
  const move = moves[event.key];
  if (!move || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  event.stopPropagation();
  move();
}

export function proof(s, instance, act) {
  const key = `${instance.id}/${s.route.fact}`;
  const entry = s.proofs[key];
  const node = entry?.proof;
  const context = { folded: s.ui.folded, at: s.ui.at?.[key] ?? "0", now: s.now, act, key };
  return h("dialog", { class: "proof", "aria-labelledby": "proof-title", key: "proof", hook: (element) => act.show(element, () => act.closeFact()) },
    h("header", { class: "dialog-head" },
      h("h2", { id: "proof-title" }, node ? `Why ${short(node.predicate)} holds` : "Why it holds"),
      iconButton("close", "Close the proof", () => act.closeFact())),
    h("div", { class: "dialog-body" },
      entry?.error ? refused(entry.error, act, "The proof could not be read")
        : !node ? loading("the proof", 6)
          : h("ul", { role: "tree", class: "tree", "aria-labelledby": "proof-title", onkeydown: (event) => treeKey(event, act, key) },
            item(node, "0", context))),
    node && h("footer", { class: "dialog-foot" },
      quiet("Arrow keys walk the tree. A conclusion is no stronger than its weakest premise."),
      button("Copy as text", () => act.copy(asText(node), "Proof copied"), { mark: "copy" }),
      button("Save as file", () => act.saveProof(node), { mark: "file" })));
}
