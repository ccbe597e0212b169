// One Case: what it lacks and rests on, what was tried, and how a person holds or ends it. Draws; fetches nothing.
import { proofTree } from "./proof.js";
import { field, h, nameOf, only, when } from "./views.js";

export const addressOf = (row) => `#cases/${encodeURIComponent(row.agentId)}/${encodeURIComponent(row.caseId)}`;

export const keyText = (row) => Object.values(row.businessKey || {}).map(String).join(" ") || row.caseId;
const keyNamed = (row) => Object.entries(row.businessKey || {}).map(([name, value]) => `${name} ${value}`).join(", ") || "no key";
const short = (name) => String(name).split(".").pop();
const MARK = {
  running: ["quiet", "○ running"], paused: ["is-waiting", "◐ on hold"], waiting_for_decision: ["is-waiting", "◐ waiting for a decision"],
  needs_person: ["is-unknown", "? a call needs a person"], completed: ["is-done", "● completed"], done: ["is-done", "● done"], failed: ["is-bad", "✕ failed"],
  refused: ["is-bad", "✕ refused"], unknown: ["is-unknown", "? unknown"],
};

export function mark(state) {
  const [mood, words] = MARK[state] || ["quiet", `– ${String(state).replaceAll("_", " ")}`];
  return h("span", { class: mood }, words);
}

const FOR_A_PERSON = ["waiting_for_decision", "needs_person"];
export const stateOf = (row) => (row.status === "closed" ? row.disposition : row.status === "paused" ? "paused" : FOR_A_PERSON.includes(row.waits) ? row.waits : row.status);

// --- one Case ------------------------------------------------------------------------------

export function one(place, state, work, set, act, ask) {
  const back = h("p", { class: "back" }, h("a", { href: "#cases" }, "← All Cases"));
  const detail = state.caseDetail;
  if (state.problem) return [back, h("div", { class: "problem", role: "alert" }, h("p", {}, state.problem.teaching), h("p", { class: "mono quiet" }, state.problem.errorCode))];
  if (!detail || detail.case.caseId !== place.id) return [back, h("p", { class: "quiet", role: "status" }, "Loading the Case…")];
  const row = { ...detail.case, agentId: detail.agentId, waits: detail.waits && detail.waits.state };
  const live = row.status !== "closed";
  const proof = proofOf(detail, work, set, ask);
  return [back, heading(row, detail, state), only(state, "operator", holdsOf(row, state, act)),
    live && detail.waits ? openCall(detail, state, act) : null,
    goals(detail, proof), missing(detail), facts(detail, proof, work, set),
    live ? tried(detail, state) : null,
    calls(detail, state),
    live ? only(state, "operator", hold(row, act), end(row, detail, act)) : null];
}

function heading(row, detail, state) {
  const file = new URLSearchParams({ agent: detail.agentId, case: row.caseId });
  return h("section", { "aria-labelledby": "case" },
    h("h2", { id: "case", "data-case": row.caseId, "data-status": row.status }, keyText(row)),
    h("p", {}, mark(stateOf(row)), h("span", { class: "quiet" }, ` · ${row.title || row.caseType} · ${keyNamed(row)} · ${nameOf(state.agents, detail.agentId)} · opened `), when(row.openedAt, state.now)),
    h("p", { class: "mono quiet" }, row.caseId),
    row.status === "closed" ? [
      h("p", {}, `Closed as ${row.disposition} by ${row.closedBy || "its Agent"}${row.reason ? `: ${row.reason}` : ""}, `, when(row.closedAt, state.now), "."),
      detail.receipt ? h("p", { class: "act" }, h("a", { href: `api/receipt?${file}`, download: `receipt-${row.caseId}.json` }, "Save the Terminal Receipt")) : null] : null);
}

const DO_FIRST = {
  decide: "A person decides on it first; a rejection settles it too.",
  reconcile: "Nobody knows whether it happened. Look, and say what you found; that settles it.",
  wait: "A Worker has taken it, so it ends by itself. If that Worker is gone, isolate its Connection under Decisions once the lease has lapsed.",
  withdraw: "No Worker has taken it yet, so nothing ran. It can be withdrawn; the Agent is told why, and by rule it is not tried again in this Case.",
};

function openCall({ waits }, state, act) {
  const id = `withdraw-${waits.agentId}-${waits.ordinal}`;
  return h("section", { class: "card", "aria-labelledby": "open-call" },
    h("h3", { id: "open-call" }, "A call of this Case is open"),
    h("p", {}, h("code", {}, short(waits.action || waits.label)), ` · ${waits.state.replaceAll("_", " ")}, since `, when(waits.since, state.now), ". The Case can end once it is settled."),
    h("p", {}, DO_FIRST[waits.next]),
    waits.next === "withdraw" ? only(state, "operator", field(id, "Why it is withdrawn", { rows: "2" }), h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => act("withdraw-call",
      { agentId: waits.agentId, ordinal: waits.ordinal, reason: document.getElementById(id).value }, "Withdrawn. Nothing was run.") }, "Withdraw this call")))
      : waits.next !== "wait" ? h("p", {}, h("a", { href: waits.next === "decide" ? "#decisions" : `#unknown/${encodeURIComponent(waits.agentId)}/${waits.ordinal}` }, waits.next === "decide" ? "Go to the decision" : "Go and settle it")) : null);
}

/** An atom without its Capability's name; the whole of it goes into the title. */
const atomText = (text) => h("code", { title: text }, text.replace(/^([\w-]+\.)+(?=\w+\()/, ""));

function lack(gap) {
  if (!gap.missing || !gap.missing.length) return h("p", { class: "quiet" }, gap.text);
  return [h("p", { class: "quiet" }, "Missing:"), h("ul", { class: "inner" }, gap.missing.map((text) => h("li", {}, atomText(text)))),
    gap.via && gap.via.length ? h("p", { class: "quiet" }, `Could come from ${gap.via.map(short).join(", ")}.`) : null];
}

/** Draws the way to one fact's proof, and the proof once it was asked for. */
function proofOf(detail, work, set, ask) {
  const key = (id) => `${detail.case.caseId} ${id}`;
  return (id, words, query) => {
    const node = (work.proofs || {})[key(id)];
    if (node) return [h("div", { class: "buttons" }, h("button", { type: "button", class: "plain", "aria-label": `Put the proof of ${words} away`, onclick: () => set({ proofs: { ...work.proofs, [key(id)]: null } }) }, "Put the proof away")), proofTree(node)];
    return h("div", { class: "buttons" }, h("button", { type: "button", class: "plain", "aria-label": `Show the proof of ${words}`, onclick: async () => {
      const answer = await ask(`proof?${new URLSearchParams({ agent: detail.agentId, case: detail.case.caseId, ...query })}`);
      if (answer) set({ proofs: { ...work.proofs, [key(id)]: answer.proof } });
    } }, "Show the proof"));
  };
}

const FACTS_SHOWN = 50;

function facts(detail, proof, work, set) {
  const rows = detail.facts || [], id = `facts-${detail.case.caseId}`, shown = (work.facts || {})[id] || FACTS_SHOWN, more = Math.min(FACTS_SHOWN, rows.length - shown);
  return h("details", { id, class: "rest" }, h("summary", {}, `Facts of this Case (${rows.length})`),
    h("ul", {}, rows.slice(0, shown).map((row) => h("li", { class: "item" }, atomText(row.text || row.id), h("span", { class: "tier" }, ` ${row.tier || ""}`), proof(row.id, row.text || row.id, { id: row.id })))),
    more > 0 ? [h("p", { class: "quiet" }, `Showing ${shown} of ${rows.length}, in the Board's order.`),
      h("div", { class: "buttons" }, h("button", { type: "button", id: `more-${id}`, onclick: () => set({ facts: { ...work.facts, [id]: shown + FACTS_SHOWN } }) }, `Show ${more} more`))] : null);
}

function goals(detail, proof) {
  const certified = detail.case.certified;
  return h("section", { "aria-labelledby": "goals" }, h("h2", { id: "goals" }, "Goals"),
    h("p", {}, h("span", { class: certified ? "is-done" : "quiet" }, certified ? "● certified" : "○ not certified")),
    detail.tree.length ? h("ul", { class: "inner" }, detail.tree.map((leaf) => h("li", { "data-met": String(leaf.met) }, h("span", { class: leaf.met ? "is-done" : "quiet" }, leaf.met ? `● met, ${leaf.tier}` : "○ open"), ` ${leaf.goal}`,
      leaf.met ? proof(leaf.node, leaf.goal, { atom: JSON.stringify({ predicate: "acceptance_met", args: { node: leaf.node } }) }) : leaf.lacks ? h("p", { class: "quiet" }, leaf.lacks) : leaf.gap ? lack(leaf.gap) : null))) : h("p", { class: "quiet" }, "No goal was declared."));
}

/** What stands in the way beside the goals themselves. */
function missing(detail) {
  const rows = detail.gaps.filter((gap) => gap.kind !== "leaf_gap");
  return rows.length ? h("section", { "aria-labelledby": "missing" }, h("h2", { id: "missing" }, "What else is missing"), h("ul", { class: "inner" }, rows.map((gap) => h("li", {}, h("p", {}, gap.text), lack({ ...gap, text: "" }))))) : null;
}

const givenText = (args) => Object.entries(args).map(([name, value]) => `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ");

const tried = (detail, state) => h("section", { "aria-labelledby": "tried" }, h("h2", { id: "tried" }, "Tried in this Case"),
  detail.tried.length ? [h("p", { class: "quiet" }, "By rule none of these is tried again in this Case. To have them tried again, end the Case as cancelled: the next run of its key opens a new one."),
    h("ul", {}, detail.tried.map((row) => h("li", { class: "item" }, h("p", {}, h("code", { title: row.action }, short(row.action)), ` ${givenText(row.args)} · `, mark(row.state), h("span", { class: "quiet" }, " · "), when(row.at, state.now)),
      row.reason ? h("p", { class: "quiet" }, row.reason) : null)))] : h("p", { class: "quiet" }, "Nothing yet."));

const calls = (detail, state) => h("section", { "aria-labelledby": "calls" }, h("h2", { id: "calls" }, "Calls"),
  detail.operations.length ? h("ul", {}, detail.operations.map((row) => h("li", { class: "row" },
    h("span", { class: "grow", title: row.label }, h("code", {}, row.action ? short(row.action) : row.tool), row.summary || row.reason ? h("p", { class: "quiet" }, row.reason || row.summary) : null),
    mark(row.state), when(row.at, state.now)))) : h("p", { class: "quiet" }, "None."));

export function holdsOf(row, state, act) {
  return row.holds.map((each) => {
    const id = `lift-${each.hold}-${row.caseId}`;
    return h("section", { class: "card", "aria-label": `Hold by ${each.hold}` },
      h("p", {}, h("strong", {}, `On hold by ${each.by || each.hold}`), " since ", when(each.at, state.now), each.reason ? `: ${each.reason}` : "."),
      field(id, "Why it is lifted", { rows: "2" }),
      h("div", { class: "buttons" }, h("button", { type: "button", class: "primary", onclick: () => act("lift-hold", { agentId: row.agentId, caseId: row.caseId, hold: each.hold, reason: document.getElementById(id).value }, "The hold is lifted. Run the Agent again to go on.") }, "Lift this hold")));
  });
}

function hold(row, act) {
  if (row.holds.some((each) => each.hold === "operator")) return null;
  const id = `hold-${row.caseId}`;
  return h("section", { class: "stack", "aria-labelledby": "hold" }, h("h2", { id: "hold" }, "Hold this Case"),
    h("p", {}, "While a Case is held, nothing new begins in it and no Agent writes to it; what a Worker has begun goes on and is recorded."),
    field(id, "Why it is held", { rows: "2" }, "The Agent is told so."),
    h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => act("hold-case", { agentId: row.agentId, caseId: row.caseId, reason: document.getElementById(id).value }, "The Case is on hold.") }, "Hold it")));
}

const DISPOSITIONS = [
  ["cancelled", "cancelled: it is no longer wanted, or is to begin anew"], ["failed", "failed: it cannot be done"],
  ["abandoned", "abandoned: nobody goes on with it"], ["superseded", "superseded: another Case takes its place"],
];

function end(row, detail, act) {
  const id = (name) => `end-${name}-${row.caseId}`;
  const value = (name) => document.getElementById(id(name)).value;
  const choices = detail.case.certified ? [["completed", "completed: every goal is certified"], ...DISPOSITIONS] : DISPOSITIONS;
  return h("section", { class: "stack", "aria-labelledby": "end" }, h("h2", { id: "end" }, "End this Case"),
    detail.waits ? h("p", { class: "quiet" }, "Possible once the open call above is settled.") : h("form", { onsubmit: (event) => {
      event.preventDefault();
      const typed = document.getElementById(id("name"));
      if (typed.value.trim() !== keyText(row)) {
        typed.setCustomValidity(`Type ${keyText(row)}; nothing has ended.`);
        typed.reportValidity();
        return;
      }
      act("close-case", { agentId: row.agentId, caseId: row.caseId, disposition: value("as"), reason: value("why") }, `Closed as ${value("as")}. Its Terminal Receipt is written; the same key may be opened again.`);
    } },
      h("p", {}, "It closes for good, and its Terminal Receipt says who closed it and why. What its Actions did stays; what its Sources reported is let go, so that the next Case of this key looks again."),
      h("div", {}, h("label", { for: id("as") }, "End it as"), h("select", { id: id("as") }, choices.map(([name, words]) => h("option", { value: name }, words)))),
      field(id("why"), "Why it ends", { rows: "2", required: true }, "Stands in the receipt, and the Agent may read it."),
      field(id("name"), `Type ${keyText(row)} to end it`, { required: true, autocomplete: "off", spellcheck: "false", class: "mono",
        oninput: (event) => event.target.setCustomValidity("") }),
      h("div", { class: "buttons" }, h("button", {}, "End this Case"))));
}
