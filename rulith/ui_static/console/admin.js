// The sections that set the gateway up: Capabilities and Tools here, the rest in setup.js. Draws; fetches nothing.
import { h, nameOf, problem, when } from "./views.js";
import { constitution } from "./constitution.js";
import { release } from "./release.js";
import { agents, connections } from "./setup.js";
import { sources } from "./sources.js";

// The places of the Console; `needs` is the role that may act there, everybody signed in reads.
export const SECTIONS = [
  { id: "decisions", words: "Decisions", group: "What waits", needs: "operator" },
  { id: "unknown", words: "Unknown effects", group: "What waits", needs: "operator" },
  { id: "orders", words: "Orders", group: "What waits", needs: "operator" },
  { id: "holds", words: "Holds", group: "What waits", needs: "operator" },
  { id: "cases", words: "Cases", group: "What happened", needs: "operator" },
  { id: "receipts", words: "Receipts", group: "What happened", needs: "viewer" },
  { id: "ledger", words: "Ledger", group: "What happened", needs: "viewer" },
  { id: "capabilities", words: "Capabilities", group: "What may happen", needs: "owner" },
  { id: "constitution", words: "Constitution", group: "What may happen", needs: "owner" },
  { id: "sources", words: "Sources", group: "What may happen", needs: "owner" },
  { id: "tools", words: "Tools", group: "What may happen", needs: "owner" },
  { id: "agents", words: "Agents", group: "Who may act", needs: "owner" },
  { id: "connections", words: "Connections", group: "Who may act", needs: "owner" },
  { id: "access", words: "Access", group: "Who may act", needs: "owner" },
  { id: "setup", words: "Setup", group: "Who may act", needs: "viewer" },
  { id: "people", words: "People", group: "Who may act", needs: "owner" },
];
const DRAW = { capabilities, constitution: (admin, state, work, set, act) => constitution(admin, state, work, set, act, lines), sources, tools, agents, connections, setup: release };

/** One section. `state` has `admin` and `now`; `work` is what the person has begun here; `set` changes it; `act` does. */
export function section(id, state, work, set, act) {
  if (state.problem) return [problem(state.problem.errorCode, state.problem.teaching)];
  if (!state.admin) return [h("p", { class: "quiet" }, "Loading…")];
  return [DRAW[id](state.admin, state, work, set, act)].flat().filter(Boolean);
}

/** A secret that is shown this one time. */
export function once(secret, set) {
  const text = secret.lines.join("\n");
  return h("section", { class: "card", "aria-labelledby": "once" },
    h("h2", { id: "once" }, secret.title),
    h("p", {}, secret.words),
    h("pre", { class: "mono", tabindex: "0" }, text),
    secret.note ? h("p", {}, secret.note) : null,
    h("div", { class: "buttons" },
      h("button", { type: "button", onclick: (event) => { navigator.clipboard.writeText(text).then(() => { event.target.textContent = "Copied"; }, () => { event.target.textContent = "Select the text and copy it"; }); } }, "Copy these lines"),
      h("button", { type: "button", class: "primary", onclick: () => set({ once: null }) }, "I have kept it")));
}

/** Whether a secret that was shown once has done its work: its person came in, its Worker is on the line. */
export function isUsed({ person, connection }, state) {
  const worker = state.connections.find((row) => row.id === connection);
  const invited = (state.people || []).find((row) => row.name === person);
  return Boolean((worker && worker.line.state === "online") || (invited && invited.state === "active"));
}

export const short = (digest) => digest.replace("sha256:", "").slice(0, 12);

/** Lines of a difference; the sign is a letter of the text, colour only repeats it. */
export const lines = (rows) => h("ol", { class: "diff" }, rows.map(([sign, text]) => h("li", { "data-sign": sign }, h("span", { class: "sign" }, sign === " " ? "\u00a0" : sign === "-" ? "−" : "+"), text)));

// --- Capabilities --------------------------------------------------------------------------

function capabilities(admin, state, work, set, act) {
  return [
    h("section", { "aria-labelledby": "installed" }, h("h2", { id: "installed" }, "Installed Capabilities"),
      h("ul", {}, admin.capabilities.map((row) => installed(row, state)))),
    h("section", { "aria-labelledby": "install" }, h("h2", { id: "install" }, "Install a Capability"),
      h("p", {}, "Choose a Capability file. It is checked, its examples are run, and you see what it changes before anything is installed."),
      h("form", { onsubmit: (event) => { event.preventDefault(); choose(event.target.elements["capability-file"].files[0], set, act); } },
        h("div", {}, h("label", { for: "capability-file" }, "Capability file (JSON)"), h("input", { id: "capability-file", type: "file", accept: ".json,application/json", required: true })),
        h("div", { class: "buttons" }, h("button", {}, "Check this file"))),
      work.check ? checked(work.check, set, act) : null),
  ];
}

const FILE_BYTES_MAX = 512 * 1024;

async function choose(file, set, act) {
  if (file.size > FILE_BYTES_MAX) {
    set({ check: { name: file.name, problems: [{ line: 1, place: "the file", problem: `it has ${file.size} bytes, more than ${FILE_BYTES_MAX}` }] } });
    return;
  }
  const text = await file.text();
  const answer = await act("capability-check", { text });
  if (answer) set({ check: { name: file.name, text, ...answer.result } });
}

function installed(row, state) {
  const lacking = (row.actions || []).filter((action) => action.lacks && action.lacks.length);
  const nowhere = lacking.filter((action) => action.lacks.length >= state.admin.agents.length);
  const words = nowhere.length ? `◐ ${nowhere.length} of its ${row.actions.length} Actions are not set up yet`
    : lacking.length ? "● Its Actions are set up, though not for every Agent" : "● All of its Actions are set up";
  return h("li", { class: "item" },
    h("h3", {}, row.title || row.id),
    h("p", { class: "mono quiet" }, `${row.id} ${row.version} · ${short(row.digest)}`),
    row.summary ? h("p", {}, row.summary) : null,
    row.waits && row.waits.length ? h("p", { class: "is-waiting" }, `◐ New Cases wait until those of the version before are closed: ${row.waits.join(", ")}`) : null,
    h("p", { class: "quiet" }, `${row.by === "genesis" ? "Here from the start" : `Installed by ${row.by}`}, `, when(row.at, state.now)),
    h("p", { class: nowhere.length ? "is-waiting" : "is-done" }, words),
    h("details", { id: `about-${row.id}`, open: nowhere.length > 0 }, h("summary", {}, "Case Types and Actions"),
      h("ul", { class: "inner" }, (row.caseTypes || []).map((each) => h("li", {}, h("code", {}, each.id), ` ${each.title} · key ${Object.keys(each.businessKey).join(", ")} · ${each.open} open`))),
      h("ul", { class: "inner" }, (row.actions || []).map((each) => h("li", {}, h("code", {}, each.id.slice(row.id.length + 1)),
        each.tool ? ` ${each.kind} by ` : " on the Board", each.tool ? h("code", {}, each.tool) : null, each.decision ? " · a person decides first" : "",
        (each.lacks || []).map((lack) => h("p", { class: "is-waiting" }, `◐ for ${nameOf(state.admin.agents, lack.agentId)}: ${lack.problem}`)))))));
}

function checked(check, set, act) {
  const drop = h("button", { type: "button", onclick: () => set({ check: null }) }, "Put it away");
  if (check.problems.length) {
    return h("div", { class: "problem", role: "alert" },
      h("h3", {}, `${check.name} has ${check.problems.length} ${check.problems.length === 1 ? "error" : "errors"}`),
      h("ul", { class: "inner" }, check.problems.map((row) => h("li", {}, h("span", { class: "mono" }, `line ${row.line} · ${row.place}`), h("br"), row.problem))),
      h("p", {}, "Correct the file and check it again; nothing was installed."), h("div", { class: "buttons" }, drop));
  }
  const { release, installed: before, changes } = check;
  const same = before && before.digest === release.digest;
  return h("section", { class: "card", "aria-labelledby": "changes" },
    h("h3", { id: "changes" }, `${release.title} · ${before ? `${before.version} → ` : ""}${release.version}`),
    h("p", { class: "mono quiet" }, `${release.id} · ${short(release.digest)}`),
    h("p", {}, same ? "This very Release is installed already." : before ? `${changes.length} ${changes.length === 1 ? "item changes" : "items change"}.` : "It is not installed yet; all of it is new."),
    !same && before && !changes.length ? h("p", {}, "Only how the file is written differs.") : null,
    changes.map((row) => h("details", { open: Boolean(before) }, h("summary", {}, `${row.part} `, row.name ? h("code", {}, row.name) : null, ` ${row.change}`), lines(row.lines))),
    !same && check.waits.length ? h("p", { class: "is-waiting" }, `◐ Open Cases stay on the version they opened with; new ones wait until these are closed: ${check.waits.join(", ")}`) : null,
    check.conflicts.map((text) => h("p", { class: "is-bad" }, `✕ ${text}`)),
    h("div", { class: "buttons" },
      same || check.conflicts.length ? null : h("button", { type: "button", class: "primary", onclick: async () => {
        const done = await act("capability-install", { text: check.text, digest: release.digest, replaces: before ? before.digest : "" }, `Installed ${release.id} ${release.version}. Bind its Sources and lock its Tools next; then ask an Agent for a Case of its Case Type.`);
        if (done) set({ check: null });
      } }, `Install ${release.version}`), drop));
}

// --- Tools ---------------------------------------------------------------------------------

const TOOL = {
  locked: ["is-done", "● locked"], offered: ["quiet", "○ offered, not locked"],
  changed: ["is-waiting", "◐ changed since it was locked: its calls wait"], not_offered: ["is-waiting", "◐ locked, and no Worker offers it now"],
};

function tools(admin, state, work, set, act) {
  const uses = new Map();
  for (const capability of admin.capabilities) for (const action of capability.actions || []) if (action.tool) uses.set(action.tool, [...(uses.get(action.tool) || []), action.id]);
  return [h("section", { "aria-labelledby": "tools" }, h("h2", { id: "tools" }, "Tools"), h("p", { class: "intro" }, "A Tool runs only in the definition that you locked. Another definition under the same name has another digest and needs a new lock; what a lock covers is the entry of the Worker's Tool Manifest, not the bytes of the program it names.")),
    admin.connections.map((connection) => {
      const draw = (row) => tool(row, connection, uses.get(row.id) || [], act);
      const first = connection.tools.filter((row) => uses.has(row.id) || row.state !== "offered");
      const rest = connection.tools.filter((row) => !first.includes(row));
      return h("section", { "aria-labelledby": `tools-${connection.id}` },
        h("h2", { id: `tools-${connection.id}` }, connection.name),
        h("p", { class: "quiet" }, connection.line.state === "online" ? "Its Worker is online." : "Its Worker is offline, so only what is locked shows. Start it to see what it offers."),
        connection.tools.length ? h("ul", {}, first.map(draw)) : h("p", { class: "quiet" }, "No Tool is offered or locked here yet."),
        rest.length ? h("details", { id: `rest-${connection.id}`, class: "rest", open: !first.length }, h("summary", {}, `${rest.length} more that no installed Action uses`), h("ul", {}, rest.map(draw))) : null);
    })];
}

function tool(row, connection, users, act) {
  const [mood, words] = TOOL[row.state];
  const lock = (said) => act("tool-lock", { connectionId: connection.id, toolId: row.id, digest: row.digest, replaces: row.lockedDigest }, said);
  return h("li", { class: "item" },
    h("h3", { class: "mono" }, row.id),
    h("p", {}, h("span", { class: mood }, words), h("span", { class: "quiet" }, ` · ${row.kind} · digest ${row.state === "changed" ? `${short(row.lockedDigest)} → ${short(row.digest)}` : short(row.digest || row.lockedDigest)}`)),
    users.length ? h("p", {}, "Used by ", users.flatMap((each, index) => [index ? ", " : "", h("code", {}, each)])) : row.direct && row.direct.action ? null : h("p", { class: "quiet" }, "No installed Action uses it."),
    h("details", { id: `tool-${connection.id}-${row.id}-${row.state}`, open: row.state === "changed" }, h("summary", {}, row.state === "changed" ? "What differs" : "What it takes and returns"), lines(row.lines),
      row.state === "changed" && row.lines.every(([sign]) => sign === " ") ? h("p", {}, "What it takes and returns is the same; what differs is how the Worker runs it (its program, environment or limits), which its Tool Manifest shows.") : null),
    row.direct && !users.length ? direct(row, connection, act) : null,
    h("div", { class: "buttons" },
      row.state === "offered" ? h("button", { type: "button", class: users.length ? "primary" : null, "aria-label": `Lock this definition of ${row.id}`, onclick: () => lock(`Locked ${row.id}.`) }, "Lock this definition") : null,
      row.state === "changed" ? h("button", { type: "button", class: "primary", "aria-label": `Lock the new definition of ${row.id}`, onclick: () => lock(`Locked the new definition of ${row.id}.`) }, "Lock the new definition") : null,
      row.lockedDigest ? h("button", { type: "button", "aria-label": `Unlock ${row.id}`, onclick: () => act("tool-unlock", { connectionId: connection.id, toolId: row.id, digest: row.lockedDigest }, `Unlocked ${row.id}; its calls wait.`) }, "Unlock") : null));
}

/** A locked Tool as an Action of its own, without a Capability. */
function direct(row, connection, act) {
  const { action, problem, lacks, kind, waived, decision } = row.direct;
  if (problem) return h("p", { class: "quiet" }, `No direct Action: ${problem}.`);
  const waive = (on) => act("tool-waive", { connectionId: connection.id, toolId: row.id, digest: row.lockedDigest, waived: on }, on ? `${action} runs without a decision now.` : `A person decides first before ${action} runs.`);
  return h("div", {},
    h("p", {}, "Direct Action ", h("code", {}, action), decision ? " · a person decides first" : kind === "read" ? " · reads without a decision" : " · the decision is waived"),
    lacks ? h("p", { class: "is-waiting" }, `◐ It cannot run yet: ${lacks}`) : null,
    kind === "read" ? null : h("div", { class: "buttons" }, h("button", { type: "button", "aria-label": `${waived ? "Ask a person before" : "Waive the decision for"} ${row.id}`, onclick: () => waive(!waived) }, waived ? "Ask a person first again" : "Waive the decision")));
}
