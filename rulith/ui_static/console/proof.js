// Where a fact comes from: its premises in words, and its whole proof tree, walked by the arrow keys. Draws; fetches nothing.
import { h } from "./views.js";

const BY = {
  rule: (by) => `by rule “${by.label || by.id}”`,
  receipt: (by) => `reported by ${by.tool}${by.source ? ` from the Source ${by.source}` : ""}`,
  agent: () => "claimed by the Agent",
  law: (by) => `by law (${by.what})`,
  action: (by) => `effect of ${by.action}`,
  person: (by) => `settled by ${by.name || by.by || "a person"}`,
};

const SIGNS = { add: "+", sub: "−", mul: "×", div: "÷" };

/** What a step computed, as a person redoes it: "100 − 40 = 60". */
const sumOf = ({ op, left, right, result, members, rounded }) => {
  const steps = members !== undefined ? `${op} of ${members}` : SIGNS[op] && right !== undefined ? `${left} ${SIGNS[op]} ${right}`
    : `${op}(${[left, right].filter((value) => value !== undefined).join(", ")})`;
  return `${steps} = ${result}${rounded ? ", rounded" : ", exactly"}`;
};
const sumsOf = (node) => (node.computed || []).map(sumOf);
const fromOf = (node) => (node.by && BY[node.by.kind] ? BY[node.by.kind](node.by) : "");
const leavesOf = (node) => (node.premises && node.premises.length ? node.premises.flatMap(leavesOf) : [node]);

/** The weakest premise is worth a mark only where premises differ. */
const differ = (nodes) => new Set(nodes.flatMap(leavesOf).map((leaf) => leaf.tier)).size > 1;

/** An atom for reading: without its Capability's name and minted ids. The whole of it goes into the title. */
const atomText = (text) => text.replace(/^([\w-]+\.)+(?=\w+\()/, "").replace(/(, )?\w+=(root|case)_[0-9a-f]{16,}/g, "").replace("(, ", "(");
const said = (node) => `${node.negated ? "not " : ""}${node.text}`;
const below = (node) => (node.premises || []).flatMap((each) => [said(each), ...below(each)]);

/** What some values rest on: each premise once, under what it bears; where another rests on it too, it is only named. */
export function grounds(nodes) {
  const told = new Set();
  const premise = (node, mark) => {
    const again = told.has(said(node)), weakest = mark && node.witness && !again, from = fromOf(node), text = atomText(node.text);
    told.add(said(node));
    return h("li", {},
      h("span", { class: weakest ? "mono weak" : "mono", title: said(node) }, node.negated && "not ", again ? text.split("(")[0] : text), " ",
      h("span", { class: "tier" }, again ? "as above" : `${node.tier}${from ? ", " + from : ""}${weakest ? " (weakest premise)" : ""}`),
      !again && node.premises && node.premises.length ? h("ul", {}, node.premises.map((each) => premise(each, mark))) : null);
  };
  return h("ul", { class: "tree" }, nodes.filter((each) => !nodes.some((other) => other !== each && below(other).includes(said(each)))).map((each) => premise(each, differ([each]))));
}

/** The tree as indented text, for the clipboard and for a file. */
export function asText(node, depth = 0) {
  const pad = "  ".repeat(depth);
  return [`${pad}${said(node)}  [${node.tier}]${node.witness ? "  (weakest premise)" : ""}`, `${pad}  ${fromOf(node) || "no ground told"}`, ...sumsOf(node).map((sum) => `${pad}  ${sum}`),
    ...(node.premises || []).map((each) => asText(each, depth + 1)), ...(node.cut ? [`${pad}  (deeper premises not shown)`] : [])].join("\n");
}

function branch(node, level, mark) {
  const premises = node.premises || [];
  return h("li", { role: "treeitem", tabindex: level === 1 ? "0" : "-1", "aria-level": String(level), "aria-expanded": premises.length ? "true" : null },
    h("div", { class: "node" }, h("code", { class: mark && node.witness ? "weak" : null, title: node.text }, `${node.negated ? "not " : ""}${atomText(node.text)}`), " ",
      h("span", { class: "tier" }, node.tier, mark && node.witness ? " (weakest premise)" : ""), h("p", { class: "quiet" }, fromOf(node) || "no ground told"), sumsOf(node).map((sum) => h("p", { class: "quiet" }, sum))),
    premises.length ? h("ul", { role: "group" }, premises.map((each) => branch(each, level + 1, mark))) : null,
    node.cut ? h("p", { class: "quiet" }, "Deeper premises are in the Terminal Receipt.") : null);
}

/** Arrows walk the tree: down and up over what is open, right opens or goes in, left closes or goes out. */
function walk(event) {
  const tree = event.currentTarget;
  const items = [...tree.querySelectorAll("[role=treeitem]")].filter((item) => !item.parentElement.closest("[aria-expanded=false]"));
  const at = items.indexOf(event.target.closest("[role=treeitem]"));
  if (at < 0) return;
  const here = items[at];
  const state = here.getAttribute("aria-expanded");
  let to = null;
  if (event.key === "ArrowDown") to = items[at + 1];
  else if (event.key === "ArrowUp") to = items[at - 1];
  else if (event.key === "Home") [to] = items;
  else if (event.key === "End") to = items[items.length - 1];
  else if (event.key === "ArrowRight" && state === "false") here.setAttribute("aria-expanded", "true");
  else if (event.key === "ArrowRight" && state === "true") to = items[at + 1];
  else if (event.key === "ArrowLeft" && state === "true") here.setAttribute("aria-expanded", "false");
  else if (event.key === "ArrowLeft") to = here.parentElement.closest("[role=treeitem]");
  else if (event.key === "Enter" && state) here.setAttribute("aria-expanded", String(state === "false"));
  else return;
  event.preventDefault();
  if (to) { here.tabIndex = -1; to.tabIndex = 0; to.focus(); }
}

/** A fact's proof, with the ways to take it along. */
export function proofTree(node) {
  const file = URL.createObjectURL(new Blob([JSON.stringify(node, null, 1)], { type: "application/json" }));
  return h("div", { class: "proof" },
    h("ul", { role: "tree", class: "tree", "aria-label": `Proof of ${node.text}`, onkeydown: walk }, branch(node, 1, differ([node]))),
    h("div", { class: "buttons" },
      h("button", { type: "button", onclick: (event) => { navigator.clipboard.writeText(asText(node)).then(() => { event.target.textContent = "Copied"; }, () => { event.target.textContent = "Select the text and copy it"; }); } }, "Copy as text"),
      h("a", { class: "button", href: file, download: "proof.json" }, "Save as a file")));
}
