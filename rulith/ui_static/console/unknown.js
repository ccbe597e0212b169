// Calls whose effect nobody knows: the list, and one call settled step by step. Draws; fetches nothing.
import { field, h, nameOf, only, values, when } from "./views.js";

export const unknownAddress = (row) => `#unknown/${encodeURIComponent(row.agentId)}/${row.ordinal}`;

export const unsettled = (row, state) => h("li", { class: "card unknown" },
  h("h3", {}, h("span", { class: "is-unknown" }, "? "), row.label),
  h("p", {}, row.reason || "Whether this call took effect is not known."),
  h("p", { class: "quiet" }, `${nameOf(state.agents, row.agentId)} · unknown since `, when(row.since, state.now)),
  h("p", { class: "act" }, h("a", { href: unknownAddress(row) }, "Look into it and settle it")));

/** `asked` is {agent, ordinal} where the address names one call; `leave` is called with the address to go on at. */
export function unknown(asked, state, work, set, act, leave = (address) => { window.location.hash = address; }) {
  if (!asked.agent) {
    return h("section", { "aria-labelledby": "unknown" }, h("h2", { id: "unknown" }, "Calls whose effect is not known"),
      h("p", { class: "intro" }, "A Worker took these calls and never said what became of them. Nothing repeats them by itself, and their Agents begin nothing else until a person has looked."),
      state.needsPerson.length ? h("ul", {}, state.needsPerson.map((row) => unsettled(row, state))) : h("p", { class: "quiet" }, "None. A call whose Worker vanished while it ran shows here."));
  }
  const back = h("p", { class: "back" }, h("a", { href: "#unknown" }, "← All unknown effects"));
  const row = state.unknown;
  if (state.problem) return [back, h("div", { class: "problem", role: "alert" }, h("p", {}, state.problem.teaching), h("p", { class: "mono quiet" }, state.problem.errorCode))];
  if (!row || row.agentId !== asked.agent || String(row.ordinal) !== asked.ordinal) return [back, h("p", { class: "quiet", role: "status" }, "Loading the call…")];
  return [back, sent(row, state), look(row), only(state, "operator", found(row, work, set, act, leave))];
}

const facts = (rows) => h("dl", { class: "values" }, rows.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));

function sent(row, state) {
  const { source, connection, claim, dispatch } = row;
  return h("section", { "aria-labelledby": "sent" },
    h("h2", { id: "sent" }, "1 · What was sent: ", h("code", { title: row.label }, row.action.split(".").pop())),
    h("p", {}, row.reason || "Whether this call took effect is not known."),
    row.description ? h("p", {}, `What the Action is for: ${row.description}`) : null,
    values(row.argsText),
    h("details", { id: "exact" }, h("summary", {}, "The exact text, and its digests"), h("pre", { class: "mono", tabindex: "0" }, row.argsText),
      facts([["arguments, Action and Tool", row.argumentDigest], ["request", row.requestDigest], ["Tool definition", row.toolDigest]])),
    h("h3", {}, "To where, and by whom"),
    facts([["Case", row.caseIds.length ? h("a", { href: `#cases/${encodeURIComponent(row.agentId)}/${encodeURIComponent(row.caseIds[0])}` }, row.caseIds[0]) : ""], ["Agent", nameOf(state.agents, row.agentId)], ["Tool", `${row.tool} (${row.kind})`],
      ["Source", source.name ? (source.access ? `${source.name}: ${source.type} ${source.access}` : source.name) : "none"], ["Connection", `${connection.name} · ${connection.id}`],
      ["asked", when(row.at, state.now)], ["sent", dispatch && when(dispatch.at, state.now)], ["claimed", claim && when(claim.at, state.now)],
      ["by Worker instance", claim && `${claim.workerId}, generation ${claim.generation}`], ["unknown since", when(row.since, state.now)]]));
}

const look = (row) => h("section", { "aria-labelledby": "look" },
  h("h2", { id: "look" }, "2 · Where to look"),
  h("ol", { class: "steps" }, row.look.map((text) => h("li", {}, text))));

const OUTCOMES = [
  ["happened", "It happened", "Record that it happened"],
  ["did_not", "It did not happen", "Record that it did not happen"],
  ["cannot_tell", "It cannot be told", "Record that it cannot be told"],
];

/** What each answer brings about, before it is given. */
function consequence(outcome, row) {
  if (outcome === "happened") {
    return [h("p", {}, row.effects.length ? "The call counts as done. These effects of the Action become facts, on your word; nothing that its Worker might have reported does:" : "The call counts as done. The Action has no effects of its own to record, and nothing that its Worker might have reported becomes a fact."),
      row.effects.length ? h("ul", { class: "inner" }, row.effects.map((text) => h("li", { class: "mono" }, text))) : null];
  }
  if (outcome === "did_not") return h("p", {}, "The call counts as failed, and no fact is recorded. The Agent is told why; by rule it is not tried again in this Case, and a model may ask for it anew.");
  return h("p", {}, "The call stays unknown for good, and no fact is recorded. By rule it is not tried again in this Case, so that nothing happens twice.");
}

function found(row, work, set, act, leave) {
  const id = `saw-${row.agentId}-${row.ordinal}`;
  const chosen = OUTCOMES.find(([outcome]) => outcome === work.outcome);
  return h("section", { class: "stack", "aria-labelledby": "found" }, h("h2", { id: "found" }, "3 · What you found"),
    h("form", { onsubmit: async (event) => {
      event.preventDefault();
      const done = await act("reconcile", { agentId: row.agentId, ordinal: row.ordinal, outcome: chosen[0], reason: document.getElementById(id).value, argumentDigest: row.argumentDigest });
      if (done) { set({ outcome: null, tell: `Recorded: ${chosen[1].toLowerCase()}.` }); leave("#unknown"); }
    } },
      h("fieldset", {}, h("legend", {}, "Say only what you saw"), OUTCOMES.map(([outcome, words]) => h("label", { class: "check" },
        h("input", { type: "radio", name: "outcome", id: `outcome-${outcome}`, value: outcome, required: true, checked: work.outcome === outcome, onchange: () => set({ outcome }) }), words))),
      chosen ? h("div", { role: "status" }, consequence(chosen[0], row)) : null,
      field(id, "What you looked at, and what you saw", { rows: "3", required: true, maxlength: "500" }, "Recorded with your name; it cannot be taken back, and the Agent may read it."),
      h("div", { class: "buttons" }, h("button", { class: "primary" }, chosen ? chosen[2] : "Record it"))));
}
