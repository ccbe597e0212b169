// Agents and Connections. Draws what it is given; fetches nothing.
import { handOver } from "./access.js";
import { field, h, nameOf, when } from "./views.js";

const of = (id) => document.getElementById(id);

export function select(id, label, rows, chosen, props = {}, hint = "") {
  return h("div", {}, h("label", { for: id }, label),
    h("select", { id, ...props }, rows.map(([value, words]) => h("option", { value, selected: value === chosen }, words))), hint ? h("p", { class: "hint" }, hint) : null);
}

/** What is lost is named, and its name asked for. */
export const isMeant = (loss, name) => window.prompt(`${loss}\nType its name to go on:\n${name}`) === name;

// --- Agents --------------------------------------------------------------------------------

function tokenLines(result, admin) {
  return { title: `Token of ${result.name}`, words: "It is shown this one time; only its hash is kept here.", lines: [`export RULITH_URL=${admin.gatewayUrl}`, `export RULITH_TOKEN=${result.token}`],
    note: result.warning || (result.profile ? `The profile ${result.profile} of this home has it already.` : "Set both for `rulith agent`, or give the token to an MCP host together with the address above and /mcp.") };
}

const LISTS = [["capabilities", "Capabilities"], ["case_types", "Case Types"], ["predicates", "Predicates"], ["sources", "Sources"], ["tiers", "Tiers"]];

/** The Profile of an Agent: what it may see of its Board. */
function sees(row, act) {
  const limited = LISTS.filter(([name]) => row.profile[name]);
  const save = (event) => {
    event.preventDefault();
    const form = event.target;
    const profile = Object.fromEntries(LISTS.filter(([name]) => !form.elements[`all-${name}`].checked)
      .map(([name]) => [name, [...form.querySelectorAll(`[name=${name}]:checked`)].map((box) => box.value)]));
    act("agent-profile", { id: row.id, profile, replaces: row.profileDigest }, `Changed what ${row.name} may see.`);
  };
  const list = ([name, words]) => {
    const listed = row.profile[name];
    const rows = h("div", { hidden: !listed }, row.choices[name].map((each) => h("label", { class: "check" },
      h("input", { type: "checkbox", name, id: `${name}-${row.id}-${each}`, value: each, checked: !listed || listed.includes(each) }), h("code", {}, each))));
    return h("fieldset", {}, h("legend", {}, words),
      h("label", { class: "check" }, h("input", { type: "checkbox", id: `all-${name}-${row.id}`, name: `all-${name}`, checked: !listed, onchange: (event) => { rows.hidden = event.target.checked; } }), "All of them, also those to come"), rows);
  };
  return h("details", { id: `sees-${row.id}` },
    h("summary", {}, limited.length ? `It sees only some ${limited.map(([, words]) => words).join(", ")}` : "It sees its whole Board"),
    h("p", {}, "What is not ticked is withheld from its views, results and proofs at once, what it was told before too. It changes no fact and no goal, and people see everything."),
    h("form", { onsubmit: save }, LISTS.map(list), h("div", { class: "buttons" }, h("button", { class: "primary" }, `Change what ${row.name} may see`))));
}

export function agents(admin, state, work, set, act) {
  const told = (answer) => { if (answer) set({ once: tokenLines(answer.result, admin) }, ["agent-name"]); };
  return [
    h("section", { "aria-labelledby": "agent-list" }, h("h2", { id: "agent-list" }, "Agents"),
      h("ul", {}, admin.agents.map((row) => h("li", { class: "item" },
        h("h3", {}, row.name), h("p", { class: "mono quiet" }, row.id),
        h("p", {}, row.revoked ? h("span", { class: "is-bad" }, "✕ revoked: nobody speaks for it") : h("span", { class: "is-done" }, "● has a token"), h("span", { class: "quiet" }, " · added "), when(row.addedAt, state.now)),
        row.revoked ? null : handOver(row.id, admin.gatewayUrl), sees(row, act),
        h("div", { class: "buttons" },
          h("button", { type: "button", "aria-label": `New token for ${row.name}`, onclick: async () => { if (row.revoked || isMeant("The present token stops working at once.", row.name)) told(await act("agent-rotate", { id: row.id }, "Its old token no longer works.")); } }, "New token"),
          row.revoked ? null : h("button", { type: "button", "aria-label": `Revoke ${row.name}`, onclick: () => { if (isMeant("Its token stops working at once; its Cases and receipts stay.", row.name)) act("agent-revoke", { id: row.id }, `Revoked ${row.name}.`); } }, "Revoke")))))),
    h("section", { "aria-labelledby": "agent-new" }, h("h2", { id: "agent-new" }, "Add an Agent"),
      h("form", { onsubmit: async (event) => { event.preventDefault(); told(await act("agent-create", { name: of("agent-name").value }, "Added. Keep its token now.")); } },
        field("agent-name", "Name", { required: true, maxlength: "64", autocomplete: "off" }, "It gets a Board of its own, under every installed Capability."),
        h("div", { class: "buttons" }, h("button", { class: "primary" }, "Add this Agent")))),
  ];
}

// --- Connections ---------------------------------------------------------------------------

const workerLines = (id, key, admin) => [`export RULITH_CONNECTION=${id}`, `export RULITH_CONNECTION_KEY=${key}`, `export RULITH_WORK_URL=${admin.gatewayUrl}/work`, "python3 rulith.pyz worker"];

function keyLines(result, admin) {
  return { connection: result.id, title: `Key of ${result.name}`, words: "It is shown this one time. Run a Worker with it in the folder that holds your worker-tools.json:", lines: workerLines(result.id, result.key, admin),
    note: result.warning || (result.profile ? `The profile ${result.profile} of this home has it already; start its Worker again.` : "On Windows use set instead of export. Nothing but these three variables is needed.") };
}

export function connections(admin, state, work, set, act) {
  const told = (answer) => { if (answer) set({ once: keyLines(answer.result, admin) }, ["connection-name"]); };
  return [
    h("section", { "aria-labelledby": "connection-list" }, h("h2", { id: "connection-list" }, "Connections"),
      h("ul", {}, admin.connections.map((row) => {
        const online = row.line.state === "online";
        return h("li", { class: "item" },
          h("h3", {}, row.name), h("p", { class: "mono quiet" }, row.id),
          h("p", {}, h("span", { class: online ? "is-done" : "quiet" }, online ? "● Worker online" : "○ no Worker online"), h("span", { class: "quiet" }, ` · works for ${nameOf(admin.agents, row.agentId)}`)),
          h("details", { id: `run-${row.id}` }, h("summary", {}, "Run a Worker for it"), h("pre", { class: "mono" }, workerLines(row.id, "(the key that was shown once)", admin).join("\n")),
            h("p", {}, "In the folder that holds its worker-tools.json and adapters. A lost key cannot be shown again; take a new one.")),
          h("div", { class: "buttons" }, h("button", { type: "button", "aria-label": `New key for ${row.name}`, onclick: async () => {
            if (isMeant("The present key stops working at once: its Worker goes offline, and a person settles what it had claimed.", row.name)) told(await act("connection-rotate", { id: row.id }, "Its old key no longer works."));
          } }, "New key")));
      }))),
    h("section", { "aria-labelledby": "connection-new" }, h("h2", { id: "connection-new" }, "Add a Connection"),
      h("form", { onsubmit: async (event) => { event.preventDefault(); told(await act("connection-create", { name: of("connection-name").value, agentId: of("connection-agent").value }, "Added. Keep its key now.")); } },
        field("connection-name", "Name", { required: true, maxlength: "64", autocomplete: "off" }, "For example the machine or folder that its Worker serves."),
        select("connection-agent", "Agent whose Actions it runs", admin.agents.map((row) => [row.id, row.name]), admin.agents.length ? admin.agents[0].id : ""),
        h("div", { class: "buttons" }, h("button", { class: "primary" }, "Add this Connection")))),
  ];
}
