/** What needs a person first, then what is running. Empty is good news and says so. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { screen } from "../screens.js";
import { clock, full, moment, span, when } from "../lib/time.js";
import { argsText, operationLabel, operationState, short, valueText } from "../words.js";
import { button, caseLink, pairs, place, quiet, toConsole } from "./parts.js";
import { ground } from "./proof.js";
import { empty, loading, mark } from "./states.js";

const FOR_A_PERSON = ["waiting_for_decision", "needs_person"];
const RECENT_SHOWN = 5;

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const labelled = (op) => h("span", { class: "mono", title: op.label }, operationLabel(op.label));
const needs = (key, drawing, title, ...body) => h("li", { class: "box needs", key }, h("h4", {}, icon(drawing), title), body);

/** The exact values a decision is about, from the bytes it is bound to. */
function values(text) {
  try {
    return Object.entries(JSON.parse(text)).map(([name, value]) => [name, h("code", {}, valueText(name, value))]);
  } catch {
    return [["arguments", h("code", {}, text ?? "not told")]];
  }
}

/** A Case's own ids say nothing to a person. */
const withoutIds = (args) => Object.fromEntries(Object.entries(args ?? {}).filter(([, value]) => !/^(root|case)_[0-9a-f]{16}/.test(String(value))));

/** Where the values came from, a line per premise. */
const origins = (premises) => h("ul", { class: "plain-list" }, premises.map((node) => h("li", { key: node.id ?? node.text, title: node.text },
  h("strong", {}, short(node.predicate)), ` ${argsText(withoutIds(node.args))} `,
  h("span", { class: `tier tier-${node.tier}` }, node.tier),
  h("span", { class: "quiet" }, ` ${ground(node.by)}`))));

function decision(row, now) {
  const expires = row.expiresAt && ["Expires ", h("time", { datetime: row.expiresAt, title: full(row.expiresAt) }, clock(row.expiresAt, now)), ". "];
  return needs(row.id, "waiting", sentence(row.kind),
    h("p", {}, h("span", { class: "mono", title: row.action }, short(row.action ?? row.label ?? row.tool)), " will run with exactly these values:"),
    pairs(values(row.argsText)),
    row.premises?.length > 0 && h("details", { hook: (element) => { element.open = true; } },
      h("summary", {}, "Where the values come from"), origins(row.premises)),
    (row.reviews ?? []).map((each) => h("p", {}, h("strong", {}, `A reviewer says ${each.verdict.replaceAll("_", " ")}`), each.reason && `: ${each.reason}`)),
    quiet(expires, "If you reject it, nothing runs and the Case stays open."),
    h("div", { class: "row" }, toConsole("Decide in the Console", `#decision=${encodeURIComponent(row.id)}`)));
}

/** The Console's own view where this browser is signed in there; it knows more of both than this page may. */
const inPlace = (s) => (s.bench.gateway.state === "online" && screen("answer") && s.ui.signedIn ? screen("answer") : null);

const reconciliation = (op, s, instance) => needs(`op${op.ordinal}`, "person", "Say whether this happened",
  h("p", {}, labelled(op), " was handed to a Worker and no answer came. It may have run, so it is not repeated."),
  quiet("Look at the system it acts on, then record what you found. ", when(op.since, s.now)),
  h("div", { class: "row" }, toConsole("Look into it in the Console", `#unknown/${encodeURIComponent(op.agentId)}/${op.ordinal}`),
    op.caseIds?.[0] && caseLink(s, instance, op.caseIds[0])));

/** A decision that only its operation tells of (the list of decisions may be cut). */
const undecided = (op, now) => needs(`op${op.ordinal}`, "waiting", sentence(op.decision ?? "a decision is waiting"),
  h("p", {}, labelled(op), " waits. ", when(op.since, now)),
  h("div", { class: "row" }, toConsole("Decide in the Console")));

/** Where the first passphrase is chosen, while there is none. */
function setup(s, act, passphraseSet) {
  const code = s.bench.console.setupCode;
  if (passphraseSet || (!code && s.bench.gateway.owned)) return null;
  if (!code) return quiet("Decisions need a passphrase that nobody has chosen yet. The gateway printed its setup code on its own terminal.");
  return h("section", { class: "box quiet-box" },
    h("h4", {}, icon("person"), "Decisions need your passphrase"),
    h("p", {}, "The first time, the Console asks you to choose one, with this code. It is shown on this page only and works once."),
    h("div", { class: "row" },
      h("code", { class: "setup-code" }, code),
      button("Copy the code", () => act.copy(code, "Code copied"), { mark: "copy" }),
      toConsole("Choose a passphrase")));
}

function operation(op, s, instance) {
  const label = h("span", { class: "mono op-label", title: op.label }, operationLabel(op.label));
  const target = op.caseIds?.[0];
  return h("li", { key: op.ordinal, class: "op" },
    target ? h("a", { "data-row": true, href: place(s, instance, { tab: "cases", case: target }) }, label) : label,
    mark(operationState(op), "small"),
    op.state === "running" ? h("span", { class: "took" }, span(s.now - moment(op.since))) : when(op.since, s.now),
    op.state !== "done" && (op.reason || op.summary) && h("p", { class: "op-why quiet" }, op.reason ?? op.summary));
}

const group = (id, title, body) => h("section", { "aria-labelledby": id }, h("h3", { id, class: "over" }, title), body);
const operations = (list, s, instance) => h("ul", { class: "ops", "data-list": true }, list.map((op) => operation(op, s, instance)));

export function now(s, instance, act) {
  const board = s.boards[instance.id]?.board;
  if (!board) return loading("what needs you");
  const decisions = board.decisions.filter((row) => row.state === "pending");
  const told = new Set(decisions.map((row) => row.ordinal));
  const waiting = board.operations.filter((op) => FOR_A_PERSON.includes(op.state) && !told.has(op.ordinal));
  const running = board.operations.filter((op) => op.state === "running");
  const recent = board.operations.filter((op) => op.state !== "running" && !FOR_A_PERSON.includes(op.state)).slice(0, RECENT_SHOWN);
  return [
    group("needs", "Needs you", decisions.length + waiting.length === 0
      ? empty("Nothing waits for you.", "A decision, or an effect whose outcome is unknown, appears here.")
      : h("ul", { class: "boxes", "data-list": true },
        decisions.map((row) => inPlace(s)?.decision(row) || decision(row, s.now)),
        waiting.map((op) => (op.state !== "needs_person" ? undecided(op, s.now) : inPlace(s)?.unknown(op) || reconciliation(op, s, instance))))),
    setup(s, act, board.passphraseSet),
    group("running", "Running", running.length === 0 ? quiet("No operation is running.") : operations(running, s, instance)),
    recent.length > 0 && group("recent", "Most recent", operations(recent, s, instance)),
  ];
}
