/** What needs a person first, then what is running. Empty is good news and says so. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { clock, full, moment, span, when } from "../lib/time.js";
import { link } from "../route.js";
import { argsText, operationLabel, operationState, short, valueText } from "../words.js";
import { ground } from "./proof.js";
import { empty, loading, mark } from "./states.js";

const KNOWN = ["waiting_for_decision", "needs_person"];

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** The exact values a decision is about, from the bytes it is bound to. */
function values(text) {
  try {
    return Object.entries(JSON.parse(text));
  } catch {
    return [["arguments", text ?? "not told"]];
  }
}

/** Where the values came from, a line per premise; the Case's own ids say nothing to a person. */
const origins = (premises) => (premises ?? []).map((node) => h("li", { key: node.id ?? node.text, title: node.text },
  h("strong", {}, short(node.predicate)), ` ${argsText(withoutIds(node.args))} `, h("span", { class: `tier tier-${node.tier}` }, node.tier),
  h("span", { class: "quiet" }, ` ${ground(node.by)}`)));

const withoutIds = (args) => Object.fromEntries(Object.entries(args ?? {}).filter(([, value]) => !/^(root|case)_[0-9a-f]{16}/.test(String(value))));

function decision(row, s, instance) {
  return h("li", { class: "box needs", key: row.id },
    h("h4", {}, icon("waiting"), sentence(row.kind)),
    h("p", {}, h("span", { class: "mono", title: row.action }, short(row.action ?? row.label ?? row.tool)), " will run with exactly these values:"),
    h("dl", { class: "pairs" }, values(row.argsText).map(([name, value]) => [h("dt", { key: name }, name), h("dd", { key: `${name}=` }, h("code", {}, valueText(name, value)))])),
    row.premises?.length > 0 && h("details", { hook: (element) => { element.open = true; } }, h("summary", {}, "Where the values come from"), h("ul", { class: "plain-list" }, origins(row.premises))),
    h("p", { class: "quiet" }, row.expiresAt && ["Expires ", h("time", { datetime: row.expiresAt, title: full(row.expiresAt) }, clock(row.expiresAt, s.now)), ". "], "If it is refused, nothing runs and the Case stays open."),
    h("div", { class: "row" }, h("a", { class: "button", "data-row": true, href: `/console/#decision=${encodeURIComponent(row.id)}`, target: "_blank", rel: "noopener" }, icon("away"), "Decide in the Console")));
}

function person(op, s, instance) {
  return h("li", { class: "box needs", key: `op${op.ordinal}` },
    h("h4", {}, icon("person"), "Say whether this happened"),
    h("p", {}, h("span", { class: "mono", title: op.label }, operationLabel(op.label)), " was handed to a Worker and no answer came. It may have run, so it is not repeated."),
    h("p", { class: "quiet" }, "Look at the system it acts on, then record what you found. ", when(op.since, s.now)),
    h("div", { class: "row" }, h("a", { class: "button", "data-row": true, href: `/console/#operation=${op.ordinal}`, target: "_blank", rel: "noopener" }, icon("away"), "Reconcile in the Console"),
      op.caseIds?.[0] && h("a", { href: link(s.route, { instance: instance.id, tab: "cases", case: op.caseIds[0], fact: "" }) }, "Open the Case")));
}

/** A decision that only its operation tells of (the list of decisions may be cut). */
const undecided = (op, s) =>
  h("li", { class: "box needs", key: `op${op.ordinal}` }, h("h4", {}, icon("waiting"), sentence(op.decision ?? "a decision is waiting")),
    h("p", {}, h("span", { class: "mono", title: op.label }, operationLabel(op.label)), " waits. ", when(op.since, s.now)),
    h("div", { class: "row" }, h("a", { class: "button", "data-row": true, href: "/console/", target: "_blank", rel: "noopener" }, icon("away"), "Decide in the Console")));

function setup(s, act, passphraseSet) {
  const code = s.bench.console.setupCode;
  if (passphraseSet) return null;
  if (!code) return s.bench.gateway.owned ? null : h("p", { class: "quiet" }, "Decisions need a passphrase that nobody has chosen yet. The gateway printed the setup code for it on its own terminal.");
  return h("section", { class: "box quiet-box" },
    h("h4", {}, icon("person"), "Decisions need your passphrase"),
    h("p", {}, "The first time, the Console asks you to choose one, with this code. It is shown on this page only and works once."),
    h("p", { class: "row" }, h("code", { class: "setup-code" }, code), h("button", { type: "button", class: "plain", onclick: () => act.copy(code, "Code copied") }, icon("copy"), "Copy the code"),
      h("a", { class: "button", "data-row": true, href: "/console/", target: "_blank", rel: "noopener" }, icon("away"), "Choose a passphrase")));
}

export function now(s, instance, act) {
  const board = s.boards[instance.id]?.board;
  if (!board) return loading("what needs you");
  const decisions = board.decisions.filter((row) => row.state === "pending");
  const told = new Set(decisions.map((row) => row.ordinal));
  const operations = board.operations;
  const needs = operations.filter((op) => KNOWN.includes(op.state) && !told.has(op.ordinal));
  const running = operations.filter((op) => op.state === "running");
  const recent = operations.filter((op) => op.state !== "running" && !KNOWN.includes(op.state)).slice(0, 5);
  const waiting = decisions.length + needs.length;
  return [
    h("section", { "aria-labelledby": "needs" },
      h("h3", { id: "needs", class: "over" }, "Needs you"),
      waiting === 0 ? empty("Nothing waits for you.", "A decision, or an effect whose outcome is unknown, appears here.")
        : h("ul", { class: "boxes", "data-list": true }, decisions.map((row) => decision(row, s, instance)), needs.map((op) => (op.state === "needs_person" ? person(op, s, instance) : undecided(op, s))))),
    setup(s, act, board.passphraseSet),
    h("section", { "aria-labelledby": "running" },
      h("h3", { id: "running", class: "over" }, "Running"),
      running.length === 0 ? h("p", { class: "quiet" }, "No operation is running.")
        : h("ul", { class: "ops", "data-list": true }, running.map((op) => opRow(op, s, instance, true)))),
    recent.length > 0 && h("section", { "aria-labelledby": "recent" },
      h("h3", { id: "recent", class: "over" }, "Most recent"),
      h("ul", { class: "ops", "data-list": true }, recent.map((op) => opRow(op, s, instance, false)))),
  ];
}

export function opRow(op, s, instance, running) {
  const target = op.caseIds?.[0];
  const label = h("span", { class: "mono op-label", title: op.label }, operationLabel(op.label));
  return h("li", { key: op.ordinal, class: "op" },
    target ? h("a", { "data-row": true, href: link(s.route, { instance: instance.id, tab: "cases", case: target, fact: "" }) }, label) : label,
    mark(operationState(op), "small"),
    running ? h("span", { class: "took" }, span(s.now - moment(op.since))) : when(op.since, s.now),
    (op.reason || op.summary) && op.state !== "done" && h("p", { class: "op-why quiet" }, op.reason ?? op.summary));
}
