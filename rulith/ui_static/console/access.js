// Programs and computers elsewhere that ask to be let in, and the configuration to give one. Draws what it is given; fetches nothing.
import { field, h, may, only, when } from "./views.js";

const of = (id) => document.getElementById(id);
const typed = (part) => (part && /^[A-Z0-9]{4}-?[A-Z0-9]{4}$/i.test(part) ? part : "");

/** `at` names one request or holds the code that a device showed. */
export function access(at, state, work, set, act, ask) {
  const rows = state.access || [];
  const found = work.asked && !rows.some((row) => row.id === work.asked.id) ? [work.asked] : [];
  const chosen = at.parts[0];
  const first = [...rows].sort((left, right) => (right.id === chosen) - (left.id === chosen));
  const find = async (event) => {
    event.preventDefault();
    const answer = await ask(`access-code?${new URLSearchParams({ code: of("user-code").value })}`);
    if (answer) set({ asked: answer.asked }, ["user-code"]);
  };
  return [
    h("section", { "aria-labelledby": "asking" }, h("h2", { id: "asking" }, "Programs that ask"),
      first.length || found.length ? h("ul", {}, [...found, ...first].map((row) => request(row, state, set, act)))
        : h("p", { class: "quiet" }, "None. An MCP host that is given the address of this gateway, without a token, asks here.")),
    only(state, "owner", h("section", { "aria-labelledby": "device" }, h("h2", { id: "device" }, "A program that showed you a code"),
      h("form", { onsubmit: find }, field("user-code", "Code", { required: true, maxlength: "12", spellcheck: "false", autocomplete: "off", class: "mono", value: typed(chosen) }, "Eight characters, valid for ten minutes. Type it only if you started that program yourself."),
        h("div", { class: "buttons" }, h("button", {}, "Find the request"))))),
    state.devices?.length > 0 && h("section", { "aria-labelledby": "computers" }, h("h2", { id: "computers" }, "Computers that signed in"), h("ul", {}, state.devices.map((row) => computer(row, state, act)))),
  ];
}

function computer(row, state, act) {
  const end = () => act("device-end", { id: row.id }, `${row.name} is signed out. What it was paired with works no more.`);
  return h("li", {}, h("h3", {}, row.name), h("p", {}, "Let in by ", row.by, " ", when(row.at, state.now), "; ",
    row.endedAt ? ["signed out by ", row.endedBy, " ", when(row.endedAt, state.now), "."] : ["ends ", when(row.expiresAt, state.now), " unless it is seen until then."]),
  !row.endedAt && may(state, "owner") && h("div", { class: "buttons" }, h("button", { type: "button", onclick: end }, "Sign it out")));
}

const LOCAL = ["127.0.0.1", "localhost", "[::1]"];

function where(row) {
  if (!row.redirect) return ["It showed the code ", h("code", {}, `${row.userCode.slice(0, 4)}-${row.userCode.slice(4)}`), " and waits. Whoever holds that code gets the access."];
  let host = "";
  try { host = new URL(row.redirect).hostname; } catch { /* a scheme of its own */ }
  return LOCAL.includes(host) ? ["The answer goes to a program on the computer of this browser, at ", h("code", {}, row.redirect), "."] : ["The answer goes to ", h("code", {}, row.redirect), "."];
}

function request(row, state, set, act) {
  const id = `becomes-${row.id}`, isComputer = row.scope === "device";
  const answer = async (verdict) => {
    const done = await act("access-answer", { id: row.id, verdict, agentId: verdict === "approve" && !isComputer ? of(id).value : "" },
      verdict === "approve" ? "Approved. It fetches its token now; go back to it." : "Denied. It gets nothing.");
    if (!done) return;
    set({ asked: null });
    if (done.result.location) window.location.assign(done.result.location);
  };
  return h("li", { class: "card" },
    h("h3", {}, row.name),
    h("p", {}, "It calls itself so; nothing proves the name. Asked ", when(row.askedAt, state.now), "; ends ", when(row.expiresAt, state.now), "."),
    h("p", {}, where(row)),
    h("p", {}, isComputer ? "It is the workbench of a computer. It would read the Boards of every Agent here, and run an Agent or its Worker there: an Agent it takes over gets a new token, and a Worker it runs has no Tool before you lock one. It can decide nothing and settle nothing."
      : "It would speak for one Agent: read its Board, open Cases and ask for its Actions. It can decide nothing and settle nothing."),
    may(state, "owner") ? [
      !isComputer && h("div", {}, h("label", { for: id }, "Agent it speaks for"), h("select", { id }, h("option", { value: "" }, "a new Agent of its own"), state.agents.map((each) => h("option", { value: each.id }, `${each.name} (its present token stops working)`)))),
      h("div", { class: "buttons" }, h("button", { type: "button", class: "primary", onclick: () => answer("approve") }, "Let it in"), h("button", { type: "button", onclick: () => answer("deny") }, "Deny")),
    ] : h("p", { class: "quiet" }, "An owner answers."));
}

// --- ready configuration -------------------------------------------------------------------

const json = (value) => JSON.stringify(value, null, 2);

/** [host, where it goes, text] for an Agent whose token is `token`. */
export function configurations(url, token) {
  const headers = { Authorization: `Bearer ${token}` };
  return [
    ["Claude Code", "in a terminal", `claude mcp add --transport http rulith ${url}/mcp --header "Authorization: Bearer ${token}"`],
    ["Codex", "in a terminal", `export RULITH_TOKEN=${token}\ncodex mcp add rulith --url ${url}/mcp --bearer-token-env-var RULITH_TOKEN`],
    ["Gemini CLI", "~/.gemini/settings.json", json({ mcpServers: { rulith: { httpUrl: `${url}/mcp`, headers } } })],
    ["opencode", "opencode.json", json({ mcp: { rulith: { type: "remote", url: `${url}/mcp`, enabled: true, headers } } })],
    ["any other", "mcp.json", json({ mcpServers: { rulith: { type: "http", url: `${url}/mcp`, headers } } })],
    ["rulith agent", "in a terminal", `export RULITH_URL=${url}\nexport RULITH_TOKEN=${token}\npython3 rulith.pyz agent`],
  ];
}

/** How to give this Agent to a program; `token` is shown in it while it is known. */
export function handOver(id, url, token = "YOUR-TOKEN") {
  return h("details", { id: `give-${id}` }, h("summary", {}, "Give it to a program"),
    h("p", {}, "A host that can sign in by itself needs the address only, and asks under Access: ", h("code", {}, `${url}/mcp`), ". For the others, with the token that was shown once:"),
    configurations(url, token).map(([host, place, text]) => h("div", {}, h("p", {}, h("strong", {}, host), h("span", { class: "quiet" }, ` · ${place}`)), h("pre", { class: "mono", tabindex: "0" }, text))),
    h("p", { class: "quiet" }, "One program at a time: whoever connects last takes the Agent over."));
}
