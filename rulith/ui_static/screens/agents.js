/** Agents on this computer, #/agents/<id>: made, attached by the person's sign-in in the Console, given a model or a key, carried, removed. */

import { act } from "../actions.js";
import { at, get, post } from "../api.js";
import { asked, stale } from "../asks.js";
import { frame } from "../components/dialogs.js";
import { check, field, form, formOf, losing, problem, put, shownAt, submit, sure } from "../components/forms.js";
import { button, pairs, quiet, toConsole } from "../components/parts.js";
import { pane, screenOf } from "../components/screen.js";
import { empty, known, loading, marked, mark } from "../components/states.js";
import { e, h } from "../lib/dom.js";
import { change, state } from "../store.js";
import { talkState, workerState } from "../words.js";
import { does, modelForm } from "./model.js";

const CONSOLE = "/console/";         // the gateway's own modules, as old or new as it is
const SOURCES = [["default", "Use the default model"], ["custom", "Use one of its own"]];
const MODES = [["local_agent", "an Agent on this computer, with a model"], ["existing_client", "a program that you have (an MCP client)"]];

const stopped = (role) => ["stopped", "failed", "needs_setup"].includes(role.state);
const isLocal = (row) => row.mode === "local_agent";
const inConsole = () => stale(({ console }) => console);
addEventListener("focus", inConsole);
new BroadcastChannel("rulith.console").onmessage = inConsole;

const to = (...parts) => `#/agents${parts.map((part) => `/${encodeURIComponent(part)}`).join("")}`;
const go = (...parts) => { location.hash = to(...parts); };
const section = (title, ...body) => h("section", { key: title, "aria-label": title }, e("h3", title), body);

// --- the Console, with the sign-in that the person made there

const ask = async (route, body) => (await import(`${CONSOLE}embed.js`)).ask(route, body);
async function must(route, body) {
  const answer = await ask(route, body);
  if (answer?.ok) return answer.result;
  throw Object.assign(new Error(answer?.teaching ?? "The Console does not answer."), { code: answer?.errorCode });
}
const console_ = () => asked("console", async () => await ask("state") ?? Promise.reject(new Error("The Console does not answer.")), { console: true });

/** Its Worker's line: made, or given a new key where a try before this one was cut short. */
async function lineOf(row, agentId) {
  const name = `Worker ${row.id}`, { connections } = await ask("state");
  const found = connections.find((each) => each.name === name && each.agentId === agentId);
  return found ? must("connection-rotate", { id: found.id }) : must("connection-create", { name, agentId });
}

async function attach(row, key) {
  const { agent = "", name = row.name, fresh = false } = form(key);
  let found = agent === "" ? await must("agent-create", { name }) : { id: agent };
  put(key, { agent: found.id });                      // a second try goes on from here
  if (agent !== "" && (isLocal(row) || fresh)) found = await must("agent-rotate", { id: agent });
  const line = await lineOf(row, found.id);
  const answer = await post(at(row.id, "profile/attach"), { key: line.key, expected: row.revision, ...(isLocal(row) ? { token: found.token ?? (await must("agent-rotate", { id: found.id })).token } : {}) });
  if (!isLocal(row)) {
    const { configurations } = await import(`${CONSOLE}access.js`);
    const shown = configurations(state.bench.gateway.url, found.token ?? "YOUR-TOKEN");
    change((s) => { s.ui.given = { name: row.name, shown, token: found.token }; });
  }
  return answer;
}

const replaceKey = async (row) => post(at(row.id, "profile/key"), { key: (await must("connection-rotate", { id: row.connectionId })).key, expectedAgentId: row.agentId, expectedConnectionId: row.connectionId });

function attaching(s, row) {
  const key = `attach/${row.id}`, taken = s.bench.instances.map((each) => each.agentId), own = `given/${row.id}`;
  const given = h("details", { key: "given" }, e("summary", "With what an owner gave you"), formOf(own, act, "Attach it with these", () => does(own, () => post(at(row.id, "profile/attach"), { ...(isLocal(row) ? { token: form(own).token ?? "" } : {}), key: form(own).key ?? "", expected: row.revision }), "Attached"),
    [isLocal(row) && field(own, "token", "Agent token", { type: "password" }), field(own, "key", "Connection key", { type: "password" })]));
  if (s.bench.gateway.elsewhere) return section("Attach it", row.pairing && e("p.box", row.pairing.lastError?.teaching ?? "It is not finished."), e("p", "Choose an Agent of your account for it."), e("div.row", h("a", { class: "button", href: `#/account?for=${row.id}` }, "Agents of the account")), given);
  return section("Attach it to an Agent of the gateway", known(act, "Console", console_(), ({ signedIn, person, agents = [] }) => {
    if (!signedIn) return [e("p", "An owner says in the Console which Agent it is. Sign in there; this page goes on by itself."), e("div.row", toConsole("Sign in in the Console")), given];
    if (person?.role !== "owner") return [quiet("Only an owner of this gateway may do that."), given];
    const chosen = form(key).agent ?? "", free = agents.filter((each) => !taken.includes(each.id));
    return [formOf(key, act, "Attach it", () => does(key, () => attach(row, key), "Attached"), [
      field(key, "agent", "Agent", { options: [["", "a new Agent"], ...free.map((each) => [each.id, each.name])] }),
      chosen === "" ? field(key, "name", "Its name", { value: row.name, maxlength: 64 })
        : isLocal(row) ? e("p", "It gets a new token: whatever works as this Agent now is let go at once.")
          : check("fresh", "Make a new token: the one that the program has stops working", form(key).fresh ?? false, (fresh) => put(key, { fresh })),
      !isLocal(row) && quiet("A program that connects takes the Agent over: whoever was connected before is let go.")]), given];
  }));
}

// --- models

/** A model's form in a page. */
function settings(key, model, own, paths, more) {
  const { save, body, foot } = modelForm(key, model, own, paths, more);
  return h("form", { key, class: "form", novalidate: true, onsubmit: save }, body, e("div.row", foot));
}

function model(s, row) {
  const key = `model/${row.id}`, usual = s.bench.modelDefault.configured ? row.model.source : "custom", source = form(key).source ?? usual, own = row.model.source === "custom", others = s.bench.instances.filter((each) => each !== row && isLocal(each) && each.model.configured);
  const choose = field(key, "source", "Model", { options: SOURCES, value: usual }), expected = shownAt(key, row.revision);
  const follow = () => does(key, () => post(at(row.id, "model"), { source, expected }), "It follows the default");
  return section("Model", row.model.reason && e("p", row.model.reason), choose, source === "default"
    ? [quiet(s.bench.modelDefault.configured ? `${s.bench.modelDefault.name} at ${s.bench.modelDefault.url}. ` : "No default is set. ", h("a", { href: to("default") }, "Default model")),
      own && formOf(key, act, "Use the default", follow, quiet("Its own address, name and key are removed."))]
    : settings(key, own ? row.model : { ...row.model, url: "", name: "" }, own, { save: at(row.id, "model"), test: at(row.id, "model/test") }, { source, expected }),
  others.length > 0 && h("details", { key: "copy" }, e("summary", "Copy from another Agent"), formOf(`copy/${row.id}`, act, "Copy its model and key", () => does(`copy/${row.id}`, () => post(at(row.id, "model/copy"), { from: form(`copy/${row.id}`).from ?? others[0].id, expected }), "Model copied"),
    field(`copy/${row.id}`, "from", "Agent", { options: others.map((each) => [each.id, each.name]) }))),
  row.attached && row.model.ready && e("div.row", h("a", { class: "button", href: `#/${row.id}` }, "Open its conversation")));
}

// --- pages

function one(s, row) {
  const key = `agent/${row.id}`, shown = shownAt(key, row.revision), talk = row.agent.talk, run = `run/${row.id}`;
  const role = (words, told, shown, lacks = "") => e("p.line", e("span.grow", words), lacks && quiet(lacks), mark(shown, "small"), button(`${stopped(told) ? "Start" : "Stop"} ${words}`, () => does(run, () => post(at(row.id, words.toLowerCase()), { operation: stopped(told) ? "start" : "stop" })), { kind: "button", disabled: stopped(told) && lacks !== "" }));
  const save = async () => { const done = await submit(key, () => get(at(row.id, "profile/export"))); if (done) act.saveFile(`${row.name}.rulith-profile.json`, JSON.stringify(done.document, null, 2), "application/json"); };
  return pane(s, act, "detail", row.name, [
    row.orphaned.map((each) => h("p", { class: "box needs", key: each.pid }, `Its ${each.role} of an earlier workbench still runs as process ${each.pid}. It starts anew once that one is gone.`)),
    row.attached && row.blocked && !row.orphaned.length && h("p", { class: "box needs", key: "blocked" }, row.blocked),
    row.attached && section("Running", isLocal(row) && role("Agent", talk, talkState(talk), row.model.ready ? "" : row.model.reason || "It needs a model."), role("Worker", row.worker, workerState(row.worker)), problem(run, act),
      row.worker.detail && quiet(row.worker.detail), !isLocal(row) && quiet("Worker only: the program connects by itself.")),
    !row.attached && attaching(s, row), isLocal(row) && model(s, row),
    row.attached && section("Credentials", s.bench.gateway.elsewhere ? e("div.row", toConsole("Replace them in the Console")) : known(act, "Console", console_(), ({ signedIn }) => (signedIn ? [sure(`key/${row.id}`, act, "Replace the Connection key", "The key it has stops working at once; its Worker takes the new one up. A call that it runs now, a person settles.", "Replace it", () => does(`key/${row.id}`, () => replaceKey(row), "Key replaced")), isLocal(row) && sure(`token/${row.id}`, act, "Replace the Agent's token", "The token it has stops working at once and its turn ends. Start the Agent again afterwards.", "Replace it", () => does(`token/${row.id}`, () => must("agent-rotate", { id: row.agentId }), "Token replaced"))]
      : e("div.row", toConsole("Sign in in the Console to replace one"))))),
    section("Settings", formOf(key, act, "Rename", () => does(key, () => post(at(row.id, "profile/rename"), { name: form(key).name ?? row.name, expected: shown }), "Renamed"), field(key, "name", "Name", { value: row.name, maxlength: 64 }), { more: button("Save without secrets", save, { kind: "button" }) })),
    h("details", { key: "technical" }, e("summary", "Technical details"), pairs([["Folder", row.directory], ["Workspace", row.workspace], ["Profile", row.id], ["Agent", row.agentId && `${row.agentName} · ${row.agentId}`], ["Connection", row.connectionId], ["Logs", `${s.bench.home}/logs`], ["Worker process", row.worker.pid], ["Agent process", talk.pid]])),
    losing(`lose/${row.id}`, act, "Remove it from this computer", row.name, `Its roles end and it leaves this page. The folder ${row.directory} stays, with its credentials; the Agent and its Cases stay at the gateway, where they can be revoked.`, async () => {
      const done = await does(`lose/${row.id}`, () => post(at(row.id, "profile/forget"), { name: row.name }), `Removed. Its folder is ${row.directory}`);
      if (done) go();
    })], { back: to() });
}

/** Of a form, until it has its answer: a try after a lost one is the same request. */
function requestOf(key) {
  put(key, { request: form(key).request ?? crypto.randomUUID() });
  return form(key).request;
}

async function take(file) {
  const done = await does("import", async () => post("/api/profiles/import", { document: JSON.parse(await file.text()), requestId: requestOf("import") }));
  if (done) { change((s) => { s.ui.taken = done.notes; }); go(done.instance.id); }
}

const own = (s, title, ...body) => pane(s, act, "detail", title, body, { back: to() });

const make = (s) => own(s, "Make an Agent",
  formOf("make", act, "Make it", async () => { const done = await does("make", () => post("/api/profiles/create", { name: form("make").name ?? "", mode: form("make").mode ?? "local_agent", requestId: requestOf("make") })); if (done) go(done.instance.id); },
    [field("make", "name", "Name", { required: true, maxlength: 64 }), field("make", "mode", "Who works", { options: MODES }), form("make").mode === "existing_client" && quiet("This computer runs its Worker only, and asks for no model.")]),
  section("From a saved profile", h("label", { class: "field" }, "Take in a profile (.json)", h("input", { type: "file", accept: ".json,application/json", onchange: ({ target }) => target.files[0] && take(target.files[0]) })), problem("import", act)));

const defaults = (s) => own(s, "Default model", quiet("For every Agent here that has no model of its own. Its key stays in this home and is never copied."), s.bench.modelDefault.reason && e("p", s.bench.modelDefault.reason),
  settings("model/default", s.bench.modelDefault, true, { save: "/api/profiles/default-model", test: "/api/profiles/test-model" }, { expected: shownAt("model/default", s.bench.modelDefault.revision) }));

/** What an Agent is in a word: whether it may begin at all, before what it does. */
function word(row) {
  if (!row.attached) return marked("not attached", "waiting", "waiting");
  if (row.blocked) return marked("needs attention", "waiting", "waiting");
  return isLocal(row) ? mark(row.model.ready ? talkState(row.agent.talk) : { words: "model needed", meaning: "waiting", mark: "waiting" }, "small") : mark(workerState(row.worker), "small");
}

const line = (row, s) => h("li", { key: row.id }, h("a", { class: "case-row", "data-row": true, href: to(row.id), "aria-current": s.route.at[0] === row.id ? "true" : false }, e("span.case-key", row.name), e("span.quiet", isLocal(row) ? row.model.name : "Worker only"), word(row)));

function body(s) {
  const [id] = s.route.at, row = s.bench.instances.find((each) => each.id === id);
  return [pane(s, act, "list", "Agents", [e("div.row", h("a", { class: "button", href: to("new") }, "Make an Agent"), h("a", { class: "button", href: to("default") }, "Default model")),
    s.bench.profilesProblem && e("p.box", s.bench.profilesProblem), h("ul", { class: "case-list", "data-list": true }, s.bench.instances.map((each) => line(each, s)))]),
  id === "new" ? make(s) : id === "default" ? defaults(s) : row ? one(s, row) : h("section", { class: "pane pane-detail none", key: "none" }, empty(id ? "There is no such Agent now." : "Choose an Agent, or make one."))];
}

export const view = (s) => screenOf(s, "agents", s.route.at.length > 0, s.bench ? body(s) : loading("Agents"));

/** The one view of a token, closed by its own button alone; and what a file that was taken in leaves to be done. */
export function layer(s) {
  const { given, taken } = s.ui, close = () => { document.querySelector("dialog[open]")?.close(); change((now) => { now.ui.given = now.ui.taken = null; }); };
  if (given) {
    return frame("agent-key", `Give ${given.name} to a program`, act, () => act.tell("It is shown this once: its last button closes it"), e("div.dialog-body", e("p", given.token ? "The token in these is shown this once: whoever holds it is this Agent." : "Put the token that the program has in the place of YOUR-TOKEN."),
      given.shown.map(([host, where, text]) => h("section", { key: host }, e("h3", `${host} · ${where}`), h("pre", { tabindex: 0, "aria-label": host }, text), button("Copy", () => act.copy(text, `${host} copied`), { mark: "copy", "aria-label": `Copy for ${host}` })))), e("footer.dialog-foot", button("I have kept it: close", close, { kind: "primary" })));
  }
  return taken?.length > 0 && frame("taken", "Taken in", act, close, e("div.dialog-body", e("ul", taken.map((each) => h("li", { key: each }, each)))));
}

export function up(s) {
  if (!s.route.at.length) return false;
  go();
  return true;
}
