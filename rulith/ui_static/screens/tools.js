/** A Worker's Tools, #/tools/<agent>/<what>/<name>: what there is, how it is locked, what may be added. Forms are the server's; nothing here locks. */

import { at, get, post } from "../api.js";
import { asked, stale } from "../asks.js";
import { field, form, formOf, losing, problem, put, submit } from "../components/forms.js";
import { button, pairs, quiet, toConsole } from "../components/parts.js";
import { knownPanes, pane, screenOf } from "../components/screen.js";
import { empty, known, marked } from "../components/states.js";
import { e, h } from "../lib/dom.js";
import { listeners } from "../sync.js";

const KINDS = ["read", "write", "run"];
let inst = "", seen = "";

document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("tools.css", import.meta.url).href }));
const old = () => stale(({ tools }) => tools);
listeners.tools = listeners.hello = old;
addEventListener("focus", old);          // the Console in another tab may have locked something

const to = (...parts) => `#/tools/${[inst, ...parts].map(encodeURIComponent).join("/")}`;
const go = (...parts) => { location.hash = to(...parts); };
const read = (path, query) => asked(`${inst} ${path} ${JSON.stringify(query ?? "")}`, () => get(at(inst, path, query)), { tools: !query });
const json = (value) => JSON.stringify(value ?? null, null, 2);
const lines = (text) => text.split("\n").map((each) => each.trim()).filter(Boolean);
const page = (s, act, title, ...body) => pane(s, act, "detail", title, body, { back: to() });
const section = (title, ...body) => e("section", e("h3", title), body);
const shown = (value) => h("pre", { tabindex: 0 }, typeof value === "string" ? value : json(value));
const list = (rows, draw) => h("ul", { class: "case-list", "data-list": true }, rows.map(draw));
const row = (key, href, name, words, ...more) => h("li", { key }, h("a", { class: "case-row", "data-row": true, href }, e("span.case-key", name), e("span.quiet", words), more));

/** One act of a form; the answer, or undefined where it was refused. */
async function does(key, path, body) {
  const answer = await submit(key, () => post(at(inst, path), body));
  old();
  return answer;
}

function lock(tool) {
  if (!tool.configured) return marked(tool.origin === "gone" ? "locked, not here" : "off", "quiet", "offline");
  if (tool.changes.length) return marked("changed since locked", "waiting", "waiting");
  if (tool.locked) return tool.offered ? marked("locked, offered", "done", "done") : marked("locked, not offered", "waiting", "waiting");
  return marked(tool.locked === null ? "lock not known" : "not locked", "quiet", "open");
}

const toolRow = (tool) => row(tool.id, to("tool", tool.id), tool.entry ?? tool.id, tool.kind, lock(tool));

function all(act, state) {
  const group = (title, origin) => {
    const rows = state.tools.filter((each) => each.origin === origin);
    return rows.length > 0 && section(title, list(rows, toolRow));
  };
  const mode = ({ target }) => does("mode", "worker-tools/workspace", { mode: target.value, revision: state.revision });
  return [e("div.row", h("a", { class: "button", href: to("add") }, "Add tools")), state.problem && e("div.box.refused", e("p", state.problem.message)), state.notes.map((each) => quiet(each)),
    group("My Tools", "manifest"), section("MCP services", state.services.length ? list(state.services, (each) => row(each.name, to("service", each.name), each.name, `${each.tools.length} tools`)) : quiet("None yet. Add tools connects one.")),
    group("Tools of services", "mcp"), group("Locked and not here", "gone"), group("Built in", "builtin"),
    field("mode", "mode", "Workspace Tools", { options: state.modes, value: state.workspaceMode, onchange: mode }), problem("mode", act)];
}

const changes = (tool) => e("table.table", e("thead", e("tr", ["Member", "As locked", "Now"].map((each) => h("th", { key: each, scope: "col" }, each)))),
  e("tbody", tool.changes.map((each) => h("tr", { key: each.member }, h("th", { scope: "row" }, each.member), e("td", shown(each.locked)), e("td", shown(each.now))))));

function one(s, act, state, id) {
  const tool = state.tools.find((each) => each.id === id), key = `tool/${inst}/${id}`;
  if (!tool) return page(s, act, id, empty("There is no such Tool now."));
  const gone = async () => await does(`lose/${key}`, "worker-tools/remove", { id, revision: state.revision }) && go();
  return pane(s, act, "detail", id, [lock(tool), pairs([["Kind", tool.kind], ["Adapter", tool.adapter], ["Source types", tool.sourceTypes?.join(", ")], ["Digest", tool.digest && e("code", tool.digest)]]),
    tool.changes.length > 0 && section("Changed since it was locked", changes(tool), quiet("The gateway offers it no work until this definition is locked.")),
    tool.automaticActionProblem && quiet(tool.automaticActionProblem), e("div.row", toConsole("Lock it in the Console", "#tools")),
    tool.definition ? [edit(act, state, key, id, tool.definition), losing(`lose/${key}`, act, "Remove this Tool", id, "It leaves the Manifest. Its program and its lock stay.", gone)]
      : tool.params && section("Takes and returns", shown({ params: tool.params, returns: tool.returns }))], { back: to() });
}

/** How a member of a definition is written in a field, and read from it. */
const WRITTEN = {
  text: [(value) => value ?? "", String], json: [json, JSON.parse], list: [(value) => (value ?? []).join(", "), (text) => text.split(/[\s,]+/).filter(Boolean)],
  pairs: [(value) => Object.entries(value ?? {}).map((each) => each.join(": ")).join("\n"), (text) => Object.fromEntries(lines(text).map((each) => each.split(/\s*:\s*/)).map(([name, type = "string"]) => [name, type]))],
};

/** A definition as a form and, under it, as it is written: both change one text. */
function edit(act, state, key, originalId, definition) {
  const raw = form(key).raw ?? json(definition);
  let now = null;
  try { now = JSON.parse(raw); } catch { /* half typed: only the text can be gone on with */ }
  const member = ({ id, label, as, ...more }) => field(key, id, label, { ...more, value: WRITTEN[as][0](now[id]), class: "mono", oninput: undefined, onchange: ({ target }) => {
    try { put(key, { raw: json({ ...now, [id]: WRITTEN[as][1](target.value) }), wrong: "", [id]: undefined }); } catch { put(key, { wrong: `${label}: that cannot be read.`, [id]: target.value }); }
  } });
  const save = async () => {
    const id = originalId || (form(key).id ?? "").trim();
    if (await does(key, "worker-tools/save", { id, definition: JSON.parse(form(key).raw ?? raw), revision: state.revision, ...(originalId && { originalId }) })) { put(key, null); go("tool", id); }
  };
  return formOf(key, act, "Save the Tool", save, [!originalId && field(key, "id", "Id", { class: "mono", note: "name@version; it stays" }), now && state.members.map(member),
    form(key).wrong && h("p", { class: "problem", role: "alert" }, form(key).wrong), h("details", {}, e("summary", "As it is written"), field(key, "raw", "Definition", { value: raw, rows: 12, class: "mono" }))], { off: () => !now });
}

/** The server's form for a service: look at it; what it offers is chosen on the next page. `first` may prepare something before. */
function looking(act, key, { mode, fields, note, problem: why, install, button: words }, saved = null, first = null) {
  if (why) return quiet(why);
  if (install) return [quiet(note), problem(key, act), button(form(key).busy ? "Installing…" : install, () => does(key, "mcp-services/install", {}), { kind: "button" })];
  const its = (id) => form(key)[id] ?? saved?.values?.[id] ?? fields.find((each) => each.id === id)?.value ?? "", mine = fields.filter(({ id }) => saved || id !== "clearSecrets").filter(({ id }) => !saved || id !== "name");
  const look = async () => {
    const name = saved?.name ?? its("name"), more = first ? await first() : Object.fromEntries(mine.map(({ id }) => [id, its(id)]));
    const found = more && await does(key, "mcp-services/probe", { ...more, name, isNew: !saved, mode });
    if (found) { put("look", { ...found, name, kinds: Object.fromEntries(found.selected.map((each) => [each.name, each.kind])) }); put(key, null); go("look", name); }
  };
  return formOf(key, act, form(key).busy ? "Looking…" : words, look, [mine.map(({ id, label, ...more }) => field(key, id, label, { ...more, value: its(id) })), note && quiet(note)]);
}

function service(s, act, state, name) {
  const its = state.services.find((each) => each.name === name), key = `service/${inst}/${name}`;
  if (!its) return page(s, act, name, empty("There is no such service now."));
  const gone = async () => await does(`lose/${key}`, "mcp-services/remove", { name, revision: state.revision }) && go();
  const save = (words, file, value) => h("a", { class: "button", download: file, href: `data:application/json,${encodeURIComponent(json(value))}` }, words);
  return pane(s, act, "detail", name, [pairs([["It is", its.mode], ["Program", its.command && e("code", [its.command, ...(its.args ?? [])].join(" "))], ["Address", its.url], ["From", its.registry?.serverName], ["Variables", its.variables.join(", ")]]),
    section("Authorize it", e("ol", its.steps.map((each) => e("li", each))), e("div.row", toConsole("Lock Tools", "#tools"), toConsole("Add the Source", "#sources"), toConsole("Install a Capability", "#capabilities"),
      save("Save the Source definition", `${name}.source.json`, its.definition), save("Save a Capability to begin with", `${name}.capability.json`, its.capability))),
    section("Chosen tools", list(state.tools.filter((each) => each.service === name), toolRow)), section("Look again", looking(act, key, state.forms.find((each) => each.mode === its.mode), its)),
    losing(`lose/${key}`, act, "Remove this service", name, "Its Tools, variables and token go. Locks and the Source stay in the Console.", gone)], { back: to() });
}

function choose(s, act, name) {
  const { probeId, name: of, tools, kinds = {}, truncated } = form("look"), chosen = Object.entries(kinds).filter(([, kind]) => kind);
  if (of !== name) return page(s, act, name, empty("Look at the server first.", h("a", { href: to("add") }, "Add tools")));
  const apply = async () => { if (await does("look", "mcp-services/apply", { probeId, tools: chosen.map(([each, kind]) => ({ name: each, kind })) })) { put("look", null); go("service", name); } };
  const offer = (tool) => h("li", { key: tool.name, class: "offer" }, e("div", e("strong.mono", tool.name), e("p.quiet", tool.unsupported ? `Cannot be used: ${tool.unsupported}.` : tool.description), e("p.quiet", tool.groundedWriteProblem)),
    !tool.unsupported && h("select", { "aria-label": tool.name, value: kinds[tool.name] ?? "", onchange: ({ target }) => put("look", { kinds: { ...form("look").kinds, [tool.name]: target.value } }) },
      ["", ...(tool.groundedWriteProblem ? KINDS.slice(0, 1) : KINDS)].map((kind) => h("option", { key: kind, value: kind }, kind || "leave out"))));
  return page(s, act, `Tools of ${name}`, quiet("Say read only where nothing changes. All that is chosen is kept, or nothing; nothing is locked by it."), truncated && quiet("It offers more than 200; these are the first."),
    formOf("look", act, `Keep ${chosen.length} tools`, apply, e("ul.case-list", tools.map(offer)), { off: () => chosen.length === 0 }));
}

function registry(s, act, state) {
  const { search, cursor = "" } = s.route.query, find = (text, more) => { location.hash = `${to("add")}?${new URLSearchParams({ search: text, ...more })}`; };
  return section("MCP Registry", formOf("search", act, "Search", () => find(form("search").text ?? search ?? ""), field("search", "text", "Words of a server's name", { value: search, type: "search", maxlength: 150, note: `Asks ${state.registry} when you press it.` })),
    search !== undefined && known(act, "MCP Registry", read("mcp-services/search", { search, cursor }), ({ servers, nextCursor }) => [servers.length === 0 ? empty("No server of that name.")
      : list(servers, (each) => row(each.name, to("entry", each.name, each.version), each.title, each.version, e("span.wide", each.description), e("span.wide.quiet", each.formats.join(", ")))),
    nextCursor && button("Show more", () => find(search, { cursor: nextCursor }), { kind: "button" })]));
}

const entry = (s, act, state, name, version) => knownPanes(s, act, "entry", read("mcp-services/detail", { name, version }), (found) => page(s, act, found.title, e("p", found.description),
  pairs([["Version", version], ["State", found.status], ["Repository", found.repository], ["Website", found.website]]), found.options.map((option) => {
    const key = `use/${name}/${option.id}`, count = option.npmPackage && read("mcp-services/downloads", { package: option.npmPackage }).value;
    const prepare = async () => {
      const made = await does(key, "mcp-services/prepare", { serverName: name, version, optionId: option.id, reviewToken: found.reviewToken, values: Object.fromEntries(option.fields.map(({ id }) => [id, form(key)[id] ?? ""])) });
      return made && { preparationId: made.preparationId };
    };
    return section(option.label, option.unsupported ? quiet(option.unsupported) : [count?.available && quiet(`${count.monthly.toLocaleString("en")} downloads last month, says npm.`), looking(act, key, { ...option.form, mode: "registry" }, null, prepare)]);
  })));

const add = (s, act, state) => page(s, act, "Add tools", state.forms.filter((each) => each.title).map((each) => section(each.title, looking(act, `add/${each.mode}`, each))), registry(s, act, state),
  section("Declare a Tool", e("ul", state.presets.map((each) => h("li", { key: each.id }, h("a", { href: to("new", each.id) }, each.title))))));

const PAGES = { tool: one, service, entry, look: (s, act, state, name) => choose(s, act, name),
  new: (s, act, state, name) => page(s, act, "Declare a Tool", edit(act, state, `new/${inst}/${name}`, "", state.presets.find((each) => each.id === name)?.definition ?? {})) };

export function view(s, act) {
  const [id = "", what = "", ...names] = s.route.at;
  inst = id;
  return screenOf(s, "tools", what !== "", knownPanes(s, act, "Tools", read("worker-tools/state"), (state) => [
    pane(s, act, "list", `Tools of ${s.bench?.instances.find((each) => each.id === inst)?.name ?? ""}`, all(act, state)), (Object.hasOwn(PAGES, what) ? PAGES[what] : add)(s, act, state, ...names)]));
}

/** After a draw; what the gateway says of the Connection may have moved: a lock, a Worker that came back. */
export function drawn(s) {
  const now = JSON.stringify(s.boards[inst]?.board?.connection ?? "");
  if (s.route.screen !== "tools" || now === seen) return;
  seen = now;
  old();
}

export function up(s) {
  if (s.route.at.length < 2) return false;
  go();
  return true;
}
