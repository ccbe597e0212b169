/** Document to Capability, #/authoring/<agent>/<draft>: a model drafts, the checker judges, a person reviews, keeps and installs. */

import { at, get, post } from "../api.js";
import { asked, stale } from "../asks.js";
import { field, form, formOf, problem, put, submit, sure } from "../components/forms.js";
import { button, quiet, section, toConsole } from "../components/parts.js";
import { knownPanes, pane, screenOf } from "../components/screen.js";
import { empty, marked } from "../components/states.js";
import { NEW } from "../components/talk.js";
import { e, h } from "../lib/dom.js";
import { state as store } from "../store.js";
import { listeners } from "../sync.js";
import { argsText } from "../words.js";

const STATE = { writing: ["being written", "running", "running"], ready: ["sound", "done", "done"], questions: ["has questions", "waiting", "waiting"], unfinished: ["not sound", "bad", "failed"], stopped: ["stopped", "unknown", "stop"] };
const OPS = { lt: "<", lte: "≤", gt: ">", gte: "≥", eq: "=", neq: "≠" };
let inst = "";

await new Promise((done) => {
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("authoring.css", import.meta.url).href, onload: done, onerror: done }));
});
const old = () => stale(({ authoring }) => authoring), hello = listeners.hello;
listeners.authoring = old;
listeners.hello = () => { hello?.(); old(); };

const to = (id = "") => `#/authoring/${encodeURIComponent(inst)}${id && `/${id}`}`;
const state = (row) => marked(...STATE[row.state] ?? [row.state, "bad", "failed"]);
const rows = (list) => (Array.isArray(list) ? list.filter((row) => row && typeof row === "object") : []);
const literal = ({ predicate, args, naf, negated }) => (OPS[predicate] && args ? `${args.left} ${OPS[predicate]} ${args.right}` : `${naf || negated ? "not " : ""}${predicate} ${argsText(args)}`);
const all = (list) => rows(list).map(literal).join("; ");
const texts = (list) => [list ?? []].flat().map((words) => e("li", String(words)));
const does = async (key, path, body) => {
  const answer = await submit(key, () => post(at(inst, path), body));
  old();
  return answer;
};

/** One request for one file or answer: pressed again after a lost answer it begins nothing twice. */
async function begin(key, path, modelDestination, given) {
  const { requestId = crypto.randomUUID() } = form(key);
  put(key, { requestId });
  const answer = await does(key, path, { requestId, modelDestination, ...await given() });
  if (answer) { put(key, null); location.hash = to(answer.draft.id); }
}

const letters = async (file) => ({ name: file.name, bytes: btoa(Array.from(new Uint8Array(await file.slice(0, 270_000).arrayBuffer()), (byte) => String.fromCharCode(byte)).join("")) });

const list = (s, act, { model, modelDestination, drafts }) => [model.ready && model.source !== "external" ? formOf("document", act, "Draft a Capability", () => begin("document", "authoring", modelDestination, () => letters(form("document").file)), [
  e("div.field", h("label", { for: "document-file" }, "Document (.txt or .md, at most 256 KiB)"), h("input", { type: "file", id: "document-file", accept: ".txt,.md", onchange: ({ target }) => put("document", { file: target.files[0], requestId: undefined }) })),
  quiet(`The whole document goes to the model ${model.name} at ${modelDestination}, a few times over.`)], { off: () => !form("document").file }) : empty("No model can draft for this Agent.", model.reason, " ", h("a", { href: `#/agents/${inst}` }, "Give it a model")),
e("section", e("h3", "Drafts"), problem("remove", act), drafts.length === 0 && quiet("None yet."), h("ul", { class: "case-list", "data-list": true }, drafts.map((row) => h("li", { key: row.id }, h("a", { class: "case-row", "data-row": true, href: to(row.id), "aria-current": s.route.at[1] === row.id ? "page" : false }, e("span.case-key", row.name), row.saved && quiet("saved"), state(row))))))];

/** The document with the place of the citation that was pressed; places count code points. */
function source({ document: { name, text }, places }) {
  const { pick } = form("cite"), place = places[pick], points = place ? [...text] : [], part = (from, end) => points.slice(from, end).join("");
  return e("section", e("h3", name), h("pre", { tabindex: 0, role: "region", "aria-label": "The document" },
    place ? [part(0, place.start), h("mark", { key: `m${pick}`, hook: (element) => queueMicrotask(() => element.scrollIntoView({ block: "center" })) }, part(place.start, place.end)), part(place.end)] : text));
}

function drafted({ draft, report, places }) {
  const program = draft.program ?? {}, { compileErrors, examples, citations } = report, wrong = [...compileErrors, ...examples.problems, ...citations.problems];
  const cites = (of) => rows(draft.citations).map((row, index) => row.of === of && (places[index] ? button(`line ${places[index].line}`, () => put("cite", { pick: index }), { mark: "file", kind: "inline", key: `c${index}` }) : marked("not in the document", "bad", "failed")));
  const part = (of, title, ...body) => h("li", { key: of }, e("strong", title), " ", cites(of), body.map((words) => words && e("p", words)));
  const of = (name, words) => rows(program[name]).map((row) => part(`${name}/${row.id}`, row.label ?? row.description ?? row.id, ...words(row)));
  const groups = { "What is wrong": wrong.map((row) => e("li", e("code.code", row.place), ` ${row.problem}`)), Rules: of("rules", (row) => [`When ${all(row.when)}`, `then ${all(row.then)}`]), Totals: of("aggregates", () => []), Goals: of("acceptance", (row) => [all(row.when)]),
    Actions: of("actions", (row) => [row.tool && `Outside: ${row.kind} by ${row.tool}`]), "Case Types": Object.entries(draft.caseContracts ?? {}).map(([name, row]) => part(`case_types/${name}`, row?.title ?? name, Object.keys(row?.business_key ?? {}).join(", "))),
    Words: rows(program.vocabulary?.defines).map((row) => part(`predicates/${row.as}`, row.as, Object.keys(row.args ?? {}).join(", "))),
    Examples: rows(draft.examples).map((row) => e("li", e("strong", row.title), e("p", `${all(row.given)} → ${all(row.follows) || "–"}${rows(row.never).length ? `; never ${all(row.never)}` : ""}`))), Notes: texts(draft.notes) };
  return e("div", e("h3", program.title ?? "A draft without a title"), quiet(`${program.id} ${program.version} · ${program.summary ?? ""}`),
    e("p", `${report.compiled ? "Compiles" : "Does not compile"} · ${examples.passed} of ${examples.total} examples hold · ${citations.verified} of ${citations.total} citations found`),
    Object.entries(groups).map(([title, lines]) => lines.length > 0 && section(title, e("ul", lines))));
}

/** At the gateway's Console, with the sign-in that the person made there. */
const CONSOLE = "/console/embed.js";     // the gateway's own, as old or new as it is
const ask = async (route, body, take) => {
  const answer = await submit("install", async () => {
    if (store.bench.gateway.elsewhere) throw new Error("Download the file, and install it in the Console of the gateway.");
    const said = await (await import(CONSOLE)).ask(route, body);
    if (!said?.ok) throw Object.assign(new Error(said?.teaching ?? "The Console does not answer."), { code: said?.errorCode });
    return said;
  });
  if (answer) put("install", take(answer));
};

/** What an installed draft is good for: a conversation about a new Case of its type. */
function using(act, { caseContracts }) {
  const talk = (caseType, keys) => {
    act.target(inst, NEW, { caseId: "new", caseType, businessKey: keys.map((each) => `${each}=`).join("\n") });
    act.newTalk(inst);
  };
  return [e("p", marked("installed", "done", "done"), " To use it, begin a Case: fill in its key, and write what it is about."),
    e("div.row", Object.entries(caseContracts ?? {}).map(([name, row]) => button(`Begin a Case: ${row.title ?? name}`, () => talk(name, Object.keys(row.business_key ?? {})), { kind: "primary" })))];
}

function install(act, { draft, savedText: text, saved: { file, path } }) {
  const { shown, done } = form("install"), before = shown?.installed, same = before?.digest === shown?.release.digest;
  return e("div.box", e("h4", "Install it"), quiet("With your own sign-in in the Console, or in a terminal: ", e("code", `rulith capability install ${path}`)), problem("install", act), done ? using(act, draft) : [
    shown && [e("p", `${shown.release.title} ${shown.release.version} ${!before ? "is new" : same ? "is installed already" : `replaces ${before.version}`}.`), e("ul", shown.changes.map((row) => e("li", `${row.part} ${row.name} ${row.change}`)), texts(shown.conflicts))],
    shown && !same && !shown.conflicts.length ? button("Install for every Agent", () => ask("capability-install", { text, digest: shown.release.digest, replaces: before?.digest ?? "" }, () => ({ done: true })), { kind: "primary" })
      : button("Show what installing changes", () => ask("capability-check", { text }, ({ result }) => ({ shown: result })), { kind: "button" })],
  button("Download the file", () => act.saveFile(file, text, "application/json"), { kind: "button" }), toConsole("Its Sources, in the Console", "#sources"), toConsole("Its Tools, in the Console", "#tools"));
}

function after(act, found, modelDestination) {
  const { id, resultId, draft, proposalDigest, saved } = found, open = texts(draft?.questions);
  return [open.length > 0 && section("Open questions", e("ul", open)),
    found.state !== "writing" && [draft && !found.ready && formOf("again", act, "Draft again", () => begin("again", "authoring/again", modelDestination, () => ({ id, resultId, answers: form("again").answers ?? "" })),
      field("again", "answers", open.length ? "Your answers" : "What to do differently", { rows: 4, oninput: ({ target }) => put("again", { answers: target.value, requestId: undefined }) })),
    found.ready && !saved && [problem("save", act), button("Save as a private draft", () => does("save", "authoring/save", { id, resultId, proposalDigest }), { kind: "primary" })],
    saved && (found.savedEntryCurrent ? install(act, found) : e("p.box", "The saved file was changed or is gone.")),
    sure("remove", act, "Remove this draft", "The document and its drafts go; a file that was saved stays.", "Remove", () => { location.hash = to(); does("remove", "authoring/remove", { id }); })]];
}

const detail = (s, act, found, modelDestination) => pane(s, act, "detail", found.name, [
  found.documentChanged && e("p.box", "Another text of this name was drafted from later; this draft speaks of the earlier one."),
  e("p", state(found), found.state === "writing" && [` draft ${found.round || 1}, corrected until it is sound, six at most `, button("Stop", () => does("stop", "authoring/stop", { id: found.id }), { mark: "stop", kind: "button" })]),
  found.problem && e("p.box", found.problem), problem("stop", act), e("div.sides-by", source(found), found.draft ? drafted(found) : quiet("Nothing was drafted yet.")), after(act, found, modelDestination)], { back: to() });

export function view(s, act) {
  const [agent, id] = s.route.at;
  if (inst !== agent || form("cite").of !== id) { inst = agent; queueMicrotask(() => { for (const key of ["install", "again", "save", "remove", "stop"]) put(key, null); put("cite", { of: id, pick: undefined }); }); }
  return screenOf(s, "authoring", Boolean(id), knownPanes(s, act, "drafts", asked(`${agent} authoring`, () => get(at(agent, "authoring")), { authoring: true }), (found) => [pane(s, act, "list", "Document to Capability", list(s, act, found)),
    id ? knownPanes(s, act, "draft", asked(`${agent} draft ${id}`, () => get(at(agent, "authoring/review", { id })), { authoring: true }), (each) => detail(s, act, each, found.modelDestination), to())
      : pane(s, act, "detail", "A draft", empty("Choose a document, or a draft.", "A model drafts rules with examples and citations. A checker compiles the rules, runs the examples and finds each citation in the document. Nothing is installed before you have read it."))]));
}
