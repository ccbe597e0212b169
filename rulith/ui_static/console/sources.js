// Sources: what is bound, how its content may be read, and a form that a saved definition may fill in. Draws what it is given; fetches nothing.
import { isMeant, select } from "./setup.js";
import { field, h, nameOf } from "./views.js";

const of = (id) => document.getElementById(id);

export function sources(admin, state, work, set, act) {
  const editing = admin.sources.find((row) => row.name === work.source);
  return [
    h("section", { "aria-labelledby": "bound" }, h("h2", { id: "bound" }, "Bound Sources"),
      admin.sources.length ? h("ul", {}, admin.sources.map((row) => source(row, admin, state, set, act))) : h("p", { class: "quiet" }, "None yet. A Source is a folder or address that an Agent's Tools may read or write.")),
    h("section", { "aria-labelledby": "bind" }, h("h2", { id: "bind" }, editing ? `Change ${editing.name}` : "Bind a Source"),
      admin.connections.length ? sourceForm(admin, editing, work, set, act) : h("p", { class: "quiet" }, "Make a Connection first: a Source belongs to the Worker that opens it.")),
  ];
}

function source(row, admin, state, set, act) {
  const flow = state.flow && state.flow.source === row.name ? state.flow : null;
  return h("li", { class: "item" },
    h("h3", { class: "mono" }, row.name),
    h("p", {}, `${row.type} `, h("code", {}, row.access)),
    h("p", {}, `${nameOf(admin.connections, row.connectionId)} opens it. Its facts are ${row.tier} at most; it may attest `,
      row.attests.length ? row.attests.flatMap((each, index) => [index ? ", " : "", h("code", {}, each === "*" ? "everything" : each)]) : "nothing", "."),
    flow ? goes(flow) : null,
    h("div", { class: "buttons" },
      h("button", { type: "button", "aria-label": `Change ${row.name}`, onclick: () => { set({ source: row.name, sourceType: row.type }); of("bind").scrollIntoView(); of("access").focus(); } }, "Change"),
      h("button", { type: "button", "aria-label": `Remove ${row.name}`, onclick: () => { if (isMeant("Actions that need this Source can no longer run.", row.name)) act("source-remove", { name: row.name, replaces: row.digest }, `Removed ${row.name}.`); } }, "Remove"),
      h("a", { class: "button plain", href: flow ? "#sources" : `#sources?${new URLSearchParams({ flow: row.name })}`, "aria-label": `${flow ? "Hide where" : "Where"} its material may go: ${row.name}` }, flow ? "Hide where its material may go" : "Where its material may go")),
    delivery(row, admin, act));
}

const VERDICT = { allowed: ["is-done", "● may go"], decided: ["is-waiting", "◐ after a decision"], forbidden: ["is-bad", "✕ forbidden"] };

/** What could carry the facts of a Source, and to where. */
function goes(flow) {
  return h("div", { role: "status" },
    h("p", {}, flow.governed ? "Its facts, by the Constitution, may go into the arguments of:" : "No Constitution is in force, so its facts may go into the arguments of every Action of its Agent:"),
    flow.ways.length ? h("ul", { class: "inner" }, flow.ways.map((way) => h("li", {}, h("span", { class: VERDICT[way.verdict][0] }, VERDICT[way.verdict][1]), " ", h("code", {}, way.action), ` ${way.kind}`,
      way.source ? [" on ", h("code", {}, way.source)] : null, way.reason ? h("p", { class: "quiet" }, way.reason) : null))) : h("p", { class: "quiet" }, "No installed Action could carry them anywhere."),
    flow.more ? h("p", { class: "quiet" }, `and ${flow.more} more ways that are not listed.`) : null,
    flow.governed ? h("p", { class: "quiet" }, "A rule that also looks at arguments, a Case or other premises speaks when the call is made.") : null);
}

const ACCESS = {
  file: "The whole path on the Worker's machine. It may not contain or be the home of this installation, nor lie in it outside the workspace and the materials of the Agent.",
  http: "http or https, or vault where the Worker's own vault holds the address; a credential belongs in the Worker's own vault, never here.",
  db: "sqlite:/the/whole/path.db, or vault where the Worker's own vault holds the address; a password belongs there, never here.",
  mcp: "http or https, or vault where the Worker's own vault says how to start or reach the server.",
};

/** How content that stays at the Source's Worker may reach its Agent: files a person attached, results too large to be told. */
function delivery(row, admin, act) {
  return row.delivery.map((each) => {
    const id = `delivery-${row.name}`, agent = admin.agents.find((one) => one.id === each.agentId);
    const save = (event) => {
      event.preventDefault();
      act("source-delivery", { agentId: each.agentId, source: row.name, localRead: of(`${id}-local`).checked, offMachine: of(`${id}-off`).checked }, `Said how content of ${row.name} may be read.`);
    };
    return h("details", { id }, h("summary", {}, `What ${agent ? agent.name : each.agentId} may read of its content: ${each.offMachine ? "all, also away from the Worker's machine" : each.localRead ? "all, on the Worker's machine only" : each.said ? "nothing" : "not decided yet, so nothing"}`),
      h("p", { class: "hint" }, "Attached files and large results stay at the Worker. An Agent reads them by reference, as far as you allow it here; facts are not touched by this."),
      h("form", { onsubmit: save },
        h("label", { class: "check" }, h("input", { type: "checkbox", id: `${id}-local`, checked: each.localRead }), "On the Worker's own machine, by a model there"),
        h("label", { class: "check" }, h("input", { type: "checkbox", id: `${id}-off`, checked: each.offMachine }), "Through this gateway, and by a model anywhere"),
        h("div", { class: "buttons" }, h("button", {}, "Say so"))));
  });
}

const FIELDS = ["source-name", "source-type", "access", "tier", "definition"];

/** What a saved Source definition says; an error where it is none. */
function readDefinition(text, { sourceTypes, predicates }) {
  const { name, type, access, tier, words } = JSON.parse(text);
  if (typeof name !== "string" || !sourceTypes.includes(type) || !Array.isArray(words)) throw new Error(`A Source definition has a name, a type (${sourceTypes.join(", ")}) and its words.`);
  return { name, type, access: access || (type === "mcp" ? "vault" : ""), tier, attests: words, unknown: words.filter((word) => !predicates[word]) };
}

/** The form below, filled in from what a workbench saved; what is bound is what then stands in it. */
function defined(admin, work, set) {
  const { given } = work;
  const take = (text) => {
    try {
      const found = readDefinition(text, admin);
      set({ given: found, sourceType: found.type }, [...FIELDS, ...found.attests.map((each) => `attests-${each}`)]);
    } catch (problem) {
      set({ given: { problem: problem.message } });
    }
  };
  return h("details", { id: "from-definition" }, h("summary", {}, "From a saved Source definition"),
    h("div", {}, h("label", { for: "definition-file" }, "Its file (JSON)"), h("input", { id: "definition-file", type: "file", accept: ".json,application/json", onchange: async ({ target }) => { if (target.files[0]) take(await target.files[0].text()); } })),
    field("definition", "or its text", { rows: "4", class: "mono", spellcheck: "false" }),
    h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => take(of("definition").value) }, "Fill the form in")),
    given && given.problem ? h("p", { class: "is-bad", role: "alert" }, `✕ Nothing was filled in. ${given.problem}`) : null,
    given && given.name ? h("p", { role: "status" }, `Filled in below for ${given.name}. Look at it, then bind it.`) : null,
    given && given.unknown && given.unknown.length ? h("p", { class: "is-waiting" }, `◐ No installed Action returns ${given.unknown.join(", ")}: install the Capability first, then fill the form in again.`) : null);
}

function sourceForm(admin, editing, work, set, act) {
  const type = work.sourceType || "file";
  const may = Object.entries(admin.predicates).filter(([, row]) => row.types.includes(type));
  const ticked = (name) => Boolean(given.attests && (given.attests.includes(name) || given.attests.includes("*")));
  const given = editing || work.given || {};
  const submit = async (event) => {
    event.preventDefault();
    const body = {
      connectionId: of("source-connection").value, name: editing ? editing.name : of("source-name").value, type, access: of("access").value, tier: of("tier").value,
      attests: [...event.target.querySelectorAll("[name=attests]:checked")].map((box) => box.value),
    };
    const done = editing ? await act("source-edit", { ...body, replaces: editing.digest }, `Changed ${body.name}.`) : await act("source-add", body, `Bound ${body.name}.`);
    if (done) set({ source: null, given: null }, FIELDS);
  };
  return h("form", { onsubmit: submit },
    editing ? null : [defined(admin, work, set), field("source-name", "Name", { required: true, value: given.name, maxlength: "64", spellcheck: "false", class: "mono", autocomplete: "off" }, "Agents give it as the source of an Action, for example orders-folder.")],
    select("source-connection", "Connection whose Worker opens it", admin.connections.map((row) => [row.id, row.name]), editing ? editing.connectionId : admin.connections[0].id),
    select("source-type", "Type", admin.sourceTypes.map((each) => [each, each]), type, { onchange: (event) => set({ sourceType: event.target.value }) }),
    field("access", type === "file" ? "Folder" : "Address", { required: true, value: given.access, spellcheck: "false", class: "mono", autocomplete: "off" },
      ACCESS[type] || ACCESS.http),
    select("tier", "Strongest tier of its facts", admin.tiers.map((each) => [each, each]), given.tier || "attested", {}, "Conclusions are never stronger than what they rest on."),
    h("fieldset", {}, h("legend", {}, "May attest"),
      may.length ? may.map(([name]) => h("label", { class: "check" }, h("input", { type: "checkbox", name: "attests", id: `attests-${name}`, value: name, checked: ticked(name) }), h("code", {}, name)))
        : h("p", { class: "hint" }, `No installed Action returns anything from a ${type} Source; install the Capability first.`)),
    h("div", { class: "buttons" }, h("button", { class: "primary" }, editing ? "Change this Source" : "Bind this Source"),
      editing ? h("button", { type: "button", onclick: () => set({ source: null }) }, "Leave it as it is") : null));
}
