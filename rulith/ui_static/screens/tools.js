/** A Worker's Tools, #/tools/<agent>/<what>/<name>: what there is and how it is locked, and what may be added. Nothing here locks or grants. */

import { at, get, post } from "../api.js";
import { asked, stale } from "../asks.js";
import { field, form, formOf, losing, problem, put, submit } from "../components/forms.js";
import { button, pairs, quiet, toConsole } from "../components/parts.js";
import { page, pane, screenOf } from "../components/screen.js";
import { empty, known, marked } from "../components/states.js";
import { e, h } from "../lib/dom.js";
import { listeners } from "../sync.js";

const MODES = [["off", "off"], ["read", "may read"], ["read-write", "may read and write"]];
const KINDS = [["read", "read"], ["write", "write"], ["run", "run"]];
const ADAPTERS = ["run", "http", "db-query", "db-exec-fenced", "mcp", "workspace"].map((each) => [each, each]);
let inst = "";

document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("tools.css", import.meta.url).href }));
const old = () => stale(({ tools }) => tools);
listeners.tools = listeners.hello = old;
addEventListener("focus", old);          // the Console in another tab may have locked something

const to = (...parts) => `#/tools/${[inst, ...parts].map(encodeURIComponent).join("/")}`;
const link = (words, ...parts) => h("a", { href: to(...parts) }, words);
const read = (path, query) => asked(`${inst} ${path} ${JSON.stringify(query ?? "")}`, () => get(at(inst, path, query)), { tools: !query });
const go = (...parts) => { location.hash = to(...parts); };
const json = (value) => JSON.stringify(value, null, 2);
const section = (title, ...body) => e("section", e("h3", title), body);
const lines = (text = "") => text.split("\n").map((each) => each.trim()).filter(Boolean);

/** One act of a form; the answer, or undefined where it was refused. */
async function act_(key, path, body) {
  const answer = await submit(key, () => post(at(inst, path), body()));
  old();
  return answer;
}

function lock(row) {
  if (!row.configured) return marked(row.origin === "gone" ? "locked, not here" : "off", "quiet", "offline");
  if (row.changes.length) return marked("changed since locked", "waiting", "waiting");
  if (row.locked) return row.offered ? marked("locked, offered", "done", "done") : marked("locked, not offered", "waiting", "waiting");
  return marked(row.locked === null ? "lock not known" : "not locked", "quiet", "open");
}

const toolRow = (row) => h("li", { key: row.id }, h("a", { class: "case-row", "data-row": true, href: to("tool", row.id) }, e("span.case-key", row.entry ?? row.id), e("span.quiet", row.kind), lock(row)));
const group = (title, rows, none) => section(title, rows.length ? h("ul", { class: "case-list", "data-list": true }, rows.map(toolRow)) : quiet(none));

function list(s, act, state) {
  const mine = (origin) => state.tools.filter((row) => row.origin === origin);
  const mode = (event) => act_("mode", "worker-tools/workspace", () => ({ mode: event.target.value, revision: state.revision }));
  return [h("a", { class: "button", href: to("add") }, "Add tools"),
    state.problem && e("div.box.refused", e("p", state.problem.message)), state.reloading && quiet("The Worker reads the change once its call has ended."),
    !state.locksKnown && quiet("The gateway is silent, so nobody can say what is locked."),
    group("My Tools", mine("manifest"), `None in ${state.manifestFile}.`),
    section("MCP services", state.services.length ? e("ul.case-list", state.services.map((each) => h("li", { key: each.name }, h("a", { class: "case-row", "data-row": true, href: to("service", each.name) }, e("span.case-key", each.name), e("span.quiet", `${each.tools.length} tools`))))) : quiet("None is connected.")),
    mine("mcp").length > 0 && group("Tools of services", mine("mcp")), mine("gone").length > 0 && group("Locked and not here", mine("gone")),
    group("Built in", mine("builtin")), field("mode", "mode", "Workspace Tools", { options: MODES, value: state.workspaceMode, onchange: mode }), problem("mode", act)];
}

const shown = (value) => h("pre", { tabindex: 0 }, typeof value === "string" ? value : json(value ?? null));
const table = (row) => e("table.table", e("thead", e("tr", ["Member", "As locked", "Now"].map((each) => h("th", { key: each, scope: "col" }, each)))),
  e("tbody", row.changes.map((each) => h("tr", { key: each.member }, h("th", { scope: "row" }, each.member), e("td", shown(each.locked)), e("td", shown(each.now))))));

function tool(s, act, state, id) {
  const row = state.tools.find((each) => each.id === id), key = `tool/${inst}/${id}`;
  if (!row) return page(s, act, "Tool", empty("There is no such Tool now."));
  const gone = async () => await act_(`lose/${key}`, "worker-tools/remove", () => ({ id, revision: state.revision })) && go();
  return pane(s, act, "detail", id, [e("div.line", lock(row), row.service && link(`of ${row.service}`, "service", row.service)),
    pairs([["Kind", row.kind], ["Adapter", row.adapter], ["Source types", row.sourceTypes?.join(", ")], ["Digest", row.digest && e("code", row.digest)]]),
    row.changes.length > 0 && section("Changed since it was locked", table(row), quiet("The gateway offers it no work until this definition is locked.")),
    row.automaticActionProblem && quiet(row.automaticActionProblem), e("div.row", toConsole("Lock it in the Console", "#tools")),
    row.definition ? [edit(s, act, state, key, id, row.definition), losing(`lose/${key}`, act, "Remove this Tool", id, "It leaves the Manifest. Its program stays, and so does its lock in the Console.", gone)]
      : row.params && section("Takes and returns", shown({ params: row.params, returns: row.returns }))], { back: to() });
}

/** A Tool's definition: a form and, under it, the same as it is written. Both change one text. */
function edit(s, act, state, key, originalId, definition) {
  const raw = form(key).raw ?? json(definition);
  let now = null;
  try { now = JSON.parse(raw); } catch { /* half typed: only the text can be gone on with */ }
  const member = (name, words, value, parse, more = {}) => field(key, name, words, { ...more, value, class: "mono", oninput: undefined, onchange: ({ target }) => {
    try { put(key, { raw: json({ ...now, [name]: parse(target.value) }), wrong: "", [name]: undefined }); } catch { put(key, { wrong: `${words} cannot be read.`, [name]: target.value }); }
  } });
  const pair = (text) => Object.fromEntries(lines(text).map((each) => each.split(/\s*:\s*/)).map(([name, type = "string"]) => [name, type]));
  const save = async () => {
    const id = originalId || (form(key).id ?? "").trim();
    if (await act_(key, "worker-tools/save", () => ({ id, definition: JSON.parse(form(key).raw ?? json(definition)), revision: state.revision, ...(originalId && { originalId }) }))) { put(key, null); go("tool", id); }
  };
  return formOf(key, act, "Save the Tool", save, [!originalId && field(key, "id", "Id", { class: "mono", note: "name@version, as acme.stock.count@1. It stays." }),
    now && e("div.fields", member("adapter", "Adapter", now.adapter, String, { options: ADAPTERS }), member("kind", "Kind", now.kind ?? "", String, { options: KINDS })),
    now && [member("entry", "Entry", now.entry, String, { rows: 2, note: "The program's file, the path, the statement or the server's tool." }), member("sourceTypes", "Source types", (now.sourceTypes ?? []).join(", "), (text) => text.split(/[\s,]+/).filter(Boolean)),
      member("params", "Parameters, one a line", Object.entries(now.params ?? {}).map((each) => each.join(": ")).join("\n"), pair, { rows: 3, note: "name: string, number, boolean or json; with ? where it may be left out" }),
      member("returns", "Facts it states", json(now.returns ?? []), JSON.parse, { rows: 5 })],
    form(key).wrong && h("p", { class: "problem", role: "alert" }, form(key).wrong),
    h("details", {}, e("summary", "As it is written"), field(key, "raw", "Definition", { value: raw, rows: 12, class: "mono" })),
    quiet("The Worker's own rules judge it before anything is written, and the Worker reads it anew.")], { off: !now });
}

/** Look at a server; what it offers is chosen on the next page. */
const look = (key, name, body) => async () => {
  const found = await act_(key, "mcp-services/probe", body);
  if (found) { put("look", { ...found, service: name(), kinds: Object.fromEntries(found.selected.map((each) => [each.name, each.kind])) }); put(key, null); go("look", name()); }
};
const named = (key, saved) => !saved && field(key, "name", "Name", { note: "a-z 0-9 _ -; it becomes the Source's name and stays." });

function connect(act, key, saved) {
  const was = { ...saved, args: saved?.args?.join("\n") }, its = (name) => form(key)[name] ?? was[name] ?? "", web = (its("mode") || "stdio") !== "stdio", note = saved?.hasSecrets ? "Left empty, what is saved stays with this program or address." : "";
  const pair = (each) => [each.split("=")[0], each.slice(each.indexOf("=") + 1)], name = () => its("name");
  const body = () => ({ name: name(), isNew: !saved, mode: its("mode") || "stdio", ...(web ? { url: its("url"), token: its("token") }
    : { command: its("command"), args: lines(its("args")), cwd: its("cwd"), env: Object.fromEntries(lines(its("env")).map(pair)) }), ...(its("clear") && { clearSecrets: true }) });
  return formOf(key, act, its("busy") ? "Looking…" : "Look at the server", look(key, name, body), [named(key, saved),
    !saved && field(key, "mode", "It is", { options: [["stdio", "a program here"], ["streamable-http", "an address"]] }),
    web ? [field(key, "url", "Address", { type: "url", value: was.url }), field(key, "token", "Token", { type: "password", note })]
      : [field(key, "command", "Command", { value: was.command, class: "mono" }), field(key, "args", "Arguments, one a line", { value: was.args, rows: 3, class: "mono" }), field(key, "cwd", "Folder it starts in", { value: was.cwd, class: "mono" }),
        field(key, "env", "Variables, NAME=value a line", { rows: 2, class: "mono", note })],
    saved?.hasSecrets && field(key, "clear", "What is saved", { options: [["", "keep it"], ["yes", "clear it"]] }), quiet("It is started with your rights, which is no sandbox. No tool is called.")]);
}

function filesystem(act, state, saved) {
  const key = `files/${saved?.name ?? ""}`, its = () => form(key), name = () => saved?.name ?? its().name ?? "files";
  if (!state.npm.available) return quiet(state.npm.problem);
  if (!state.filesystem.installed) return [problem(key, act), button(its().busy ? "Installing…" : `Install ${state.filesystem.package}`, () => act_(key, "mcp-services/install", () => ({})), { kind: "button" })];
  return formOf(key, act, its().busy ? "Looking…" : "Look at the folder", look(key, name, () => ({ name: name(), isNew: !saved, mode: "filesystem", directory: its().directory ?? saved?.directory ?? "" })),
    [!saved && field(key, "name", "Name", { value: "files" }), field(key, "directory", "Folder", { value: saved?.directory, class: "mono", note: "A whole path. The home of this installation and what contains it are refused." })]);
}

function service(s, act, state, name) {
  const row = state.services.find((each) => each.name === name), key = `service/${inst}/${name}`;
  if (!row) return page(s, act, name, empty("There is no such service now."));
  const again = async () => look(key, () => name, () => ({ name, isNew: false, mode: "registry" }))();
  const gone = async () => await act_(`lose/${key}`, "mcp-services/remove", () => ({ name, revision: state.revision })) && go();
  const save = (words, file, value) => h("a", { class: "button", download: file, href: `data:application/json,${encodeURIComponent(json(value))}` }, words);
  return pane(s, act, "detail", name, [pairs([["It is", row.mode], ["Program", row.command && e("code", [row.command, ...(row.args ?? [])].join(" "))], ["Address", row.url], ["From", row.registry?.serverName], ["Variables", row.variables.join(", ")]]),
    section("Authorize it", h("ol", {}, e("li", "In the Console, lock the Tools that you want."), e("li", `Add the Source ${name} of the type mcp to this Worker, with the address vault; it attests ${row.definition.words.join(", ") || "nothing"}.`),
      e("li", "A locked read is an Action by itself in explorations. For names, decisions and Cases of their own, begin with the Capability below.")),
      e("div.row", toConsole("Lock Tools", "#tools"), toConsole("Add the Source", "#sources"), toConsole("Install a Capability", "#capabilities"), save("Save the Source definition", `${name}.source.json`, row.definition), row.capability && save("Save a Capability to begin with", `${name}.capability.json`, row.capability))),
    group("Chosen tools", state.tools.filter((each) => each.service === name), "None."),
    section("Look again", row.mode === "filesystem" ? filesystem(act, state, row) : row.mode === "registry" ? [problem(key, act), button("Look at the server", again, { kind: "button" })] : connect(act, key, row)),
    losing(`lose/${key}`, act, "Remove this service", name, "Its Tools, its variables and its token go from this computer. Locks and the Source stay in the Console.", gone)], { back: to() });
}

function choose(s, act, name) {
  const { probeId, service: of, tools, kinds = {}, truncated } = form("look"), chosen = Object.entries(kinds).filter(([, kind]) => kind);
  if (of !== name) return page(s, act, name, empty("Look at the server first.", link("Add tools", "add")));
  const apply = async () => { if (await act_("look", "mcp-services/apply", () => ({ probeId, tools: chosen.map(([each, kind]) => ({ name: each, kind })) }))) { put("look", null); go("service", name); } };
  const each = (row) => h("li", { key: row.name, class: "offer" }, e("div", e("strong.mono", row.name), e("p.quiet", row.unsupported ? `Cannot be used: ${row.unsupported}.` : row.description), row.groundedWriteProblem && e("p.quiet", row.groundedWriteProblem)),
    !row.unsupported && h("select", { "aria-label": row.name, value: kinds[row.name] ?? "", onchange: ({ target }) => put("look", { kinds: { ...form("look").kinds, [row.name]: target.value } }) },
      [["", "leave out"], ...(row.groundedWriteProblem ? KINDS.slice(0, 1) : KINDS)].map(([value, words]) => h("option", { key: value, value }, words))));
  return page(s, act, `Tools of ${name}`, quiet("Say read only where nothing changes. All that is chosen is kept, or nothing; nothing is locked by it."), truncated && quiet("It offers more than 200; these are the first."),
    formOf("look", act, `Keep ${chosen.length} tools`, apply, e("ul.case-list", tools.map(each)), { off: chosen.length === 0 }));
}

function registry(s, act, state) {
  const { search } = s.route.query, cursor = s.route.query.cursor ?? "";
  const find = (text, after = "") => { location.hash = `${to("add")}?${new URLSearchParams({ search: text, ...(after && { cursor: after }) })}`; };
  const row = (each) => h("li", { key: each.name }, h("a", { class: "case-row", "data-row": true, href: to("entry", each.name, each.version) }, e("span.case-key", each.title), e("span.quiet", each.version), e("span.wide", each.description), e("span.wide.quiet", each.formats.join(", "))));
  return section("MCP Registry", formOf("search", act, "Search", () => find(form("search").text ?? search ?? ""), field("search", "text", "Words of a server's name", { value: search, type: "search", maxlength: 150, note: `Asks ${state.registry}, and nobody else, when you press it.` })),
    search !== undefined && known(act, "MCP Registry", read("mcp-services/search", { search, cursor }), (found) => (found.servers.length ? [e("ul.case-list", found.servers.map(row)), found.nextCursor && button("Show more", () => find(search, found.nextCursor), { kind: "button" })] : empty("No server of that name."))));
}

function entry(s, act, name, version) {
  return known(act, "entry", read("mcp-services/detail", { name, version }), (found) => page(s, act, found.title, e("p", found.description), pairs([["Version", version], ["State", found.status], ["Repository", found.repository], ["Website", found.website]]),
    found.options.map((option) => section(option.label, option.unsupported ? quiet(option.unsupported) : use(act, found, option)))));
}

function use(act, found, option) {
  const key = `use/${found.name}/${option.id}`, its = () => form(key), count = option.npmPackage && read("mcp-services/downloads", { package: option.npmPackage }).value;
  const values = () => Object.fromEntries(option.fields.filter((each) => its()[each.id]).map((each) => [each.id, each.repeated ? lines(its()[each.id]) : its()[each.id]]));
  const send = async () => {
    const made = await act_(key, "mcp-services/prepare", () => ({ serverName: found.name, version: found.version, optionId: option.id, reviewToken: found.reviewToken, values: values() }));
    if (made) await look(key, () => its().name, () => ({ name: its().name ?? "", isNew: true, mode: "registry", preparationId: made.preparationId }))();
  };
  return formOf(key, act, its().busy ? "Working…" : option.npmPackage ? "Install and look" : "Look at the server", send, [count && quiet(count.available ? `${count.monthly.toLocaleString("en")} downloads last month, says npm.` : "How often it is downloaded is not known."), named(key),
    option.fields.filter((each) => each.fixed === undefined).map((each) => field(key, each.id, each.label + (each.required ? "" : ", if wanted"), { note: each.description, value: each.default, type: each.secret ? "password" : "text", rows: each.repeated && 2, options: each.choices && ["", ...each.choices].map((one) => [one, one || "choose"]) }))]);
}

function add(s, act, state) {
  return page(s, act, "Add tools", section("Files of a folder", filesystem(act, state)), section("Connect an MCP server", connect(act, "connect")), registry(s, act, state),
    section("Declare a Tool", e("ul.plain", state.presets.map((each) => h("li", { key: each.id }, link(each.title, "new", each.id))))));
}

function detail(s, act, state) {
  const [, what = "", name = "", more = ""] = s.route.at;
  if (what === "tool") return tool(s, act, state, name);
  if (what === "service") return service(s, act, state, name);
  if (what === "look") return choose(s, act, name);
  if (what === "entry") return entry(s, act, name, more);
  if (what === "new") return page(s, act, "Declare a Tool", edit(s, act, state, `new/${inst}/${name}`, "", state.presets.find((each) => each.id === name)?.definition ?? {}));
  return add(s, act, state);
}

export function view(s, act) {
  inst = s.route.at[0] ?? "";
  const agent = s.bench?.instances.find((row) => row.id === inst)?.name ?? "";
  return screenOf(s, "tools", s.route.at.length > 1, known(act, "Tools", read("worker-tools/state"), (state) => [
    pane(s, act, "list", `Tools of ${agent}`, list(s, act, state)), detail(s, act, state)]));
}

export function up(s) {
  if (s.route.at.length < 2) return false;
  go();
  return true;
}
