/** Document to Capability, #/authoring/<agent>/<draft>: a model drafts, the checker judges, a person reviews, keeps and installs. */

import { at, get, post } from "../api.js";
import { asked, stale } from "../asks.js";
import { field, form, formOf, problem, put, submit, sure } from "../components/forms.js";
import { button, quiet, section, toConsole } from "../components/parts.js";
import { page, pane, screenOf } from "../components/screen.js";
import { empty, known, marked } from "../components/states.js";
import { e, h } from "../lib/dom.js";
import { listeners } from "../sync.js";
import { argsText } from "../words.js";

const STATE = { writing: ["being written", "running", "running"], ready: ["sound", "done", "done"], questions: ["has questions", "waiting", "waiting"], unfinished: ["not sound", "bad", "failed"],
  failed: ["failed", "bad", "failed"], stopped: ["stopped", "unknown", "stop"], interrupted: ["interrupted", "unknown", "unknown"], damaged: ["damaged", "bad", "failed"] };
const BYTES_MAX = 262_144;
let inst = "";

await new Promise((done) => {
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("authoring.css", import.meta.url).href, onload: done, onerror: done }));
});
const old = () => stale(({ authoring }) => authoring), hello = listeners.hello;
listeners.authoring = old;
listeners.hello = () => { hello?.(); old(); };

const to = (id = "") => `#/authoring/${encodeURIComponent(inst)}${id && `/${id}`}`;
const rows = (list) => (Array.isArray(list) ? list.filter((row) => row && typeof row === "object") : []);
const OPS = { lt: "<", lte: "≤", gt: ">", gte: "≥", eq: "=", neq: "≠" };
const literal = (row) => (OPS[row.predicate] && row.args ? `${row.args.left} ${OPS[row.predicate]} ${row.args.right}` : `${row.naf || row.negated ? "not " : ""}${row.predicate} ${argsText(row.args)}`);
const all = (list) => rows(list).map(literal).join("; ");
const does = async (key, path, body) => {
  const answer = await submit(key, () => post(at(inst, path), body));
  old();
  return answer;
};

/** One request for one file: pressed again after a lost answer it begins nothing twice. */
async function begin(list, path = "authoring", more = null) {
  const key = more ? "again" : "document", { file, requestId = crypto.randomUUID() } = form(key);
  put(key, { requestId });
  const answer = await submit(key, async () => {
    if (!more && file.size > BYTES_MAX) throw new Error(`${file.name} has ${file.size} bytes; ${BYTES_MAX} are the limit.`);
    const bytes = more ? "" : btoa(Array.from(new Uint8Array(await file.arrayBuffer()), (byte) => String.fromCharCode(byte)).join(""));
    return post(at(inst, path), { requestId, modelDestination: list.modelDestination, ...(more ?? { name: file.name, bytes }) });
  });
  old();
  if (answer) { put(key, null); location.hash = to(answer.draft.id); }
}

const upload = (act, list) => (list.model.ready && list.model.source !== "external" ? formOf("document", act, "Draft a Capability", () => begin(list), [
  e("div.field", h("label", { for: "document-file" }, "Document (.txt or .md, at most 256 KiB)"), h("input", { type: "file", id: "document-file", accept: ".txt,.md", onchange: (event) => put("document", { file: event.target.files[0], requestId: undefined }) })),
  quiet(`The whole document goes to the model ${list.model.name} at ${list.modelDestination}, a few times over.`)], { off: !form("document").file })
  : empty("No model can draft for this Agent.", list.model.reason || "Configure one in the model settings."));

const list = (s, act, found) => [upload(act, found), e("section", e("h3", "Drafts"), found.drafts.length ? h("ul", { class: "case-list", "data-list": true }, found.drafts.map((row) => h("li", { key: row.id },
  h("a", { class: "case-row", "data-row": true, href: to(row.id), "aria-current": s.route.at[1] === row.id ? "page" : false }, e("span.case-key", row.name), row.saved && quiet("saved"), marked(...STATE[row.state] ?? STATE.damaged))))) : quiet("None yet."))];

/** The document with the place of the citation that was pressed; places count code points. */
function source({ document: { name, text }, places }) {
  const picked = form("cite").pick, place = places[picked], letters = place ? [...text] : [];
  const part = (from, to_) => letters.slice(from, to_).join("");
  return e("section", e("h3", name), h("pre", { tabindex: 0, role: "region", "aria-label": "The document" },
    place ? [part(0, place.start), h("mark", { key: `m${picked}`, hook: (element) => queueMicrotask(() => element.scrollIntoView({ block: "center" })) }, part(place.start, place.end)), part(place.end)] : text));
}

const cites = (found, of) => rows(found.draft.citations).map((row, index) => row.of === of && (found.places[index]
  ? button(`line ${found.places[index].line}`, () => put("cite", { pick: index }), { mark: "file", kind: "inline", key: `c${index}`, "aria-pressed": String(form("cite").pick === index) })
  : h("span", { key: `c${index}` }, marked("not in the document", "bad", "failed"))));

function drafted(found) {
  const { draft, report } = found, program = draft.program ?? {};
  const wrong = [...report.compileErrors, ...report.examples.problems, ...report.citations.problems];
  const part = (of, title, ...body) => h("li", { key: of }, e("strong", title), " ", cites(found, of), body.filter(Boolean).map((words) => e("p", words)));
  const group = (title, lines) => lines.length > 0 && section(title, e("ul.case-list", lines));
  const of = (name, words) => rows(program[name]).map((row) => part(`${name}/${row.id}`, row.label ?? row.description ?? row.id, ...words(row)));
  return e("div", e("h3", program.title ?? "A draft without a title"), quiet(`${program.id} ${program.version} · ${program.summary ?? ""}`),
    e("p", marked(report.compiled ? "compiles" : "does not compile", ...(report.compiled ? ["done", "done"] : ["bad", "failed"])), ` ${report.examples.passed} of ${report.examples.total} examples hold · ${report.citations.verified} of ${report.citations.total} citations found`),
    wrong.length > 0 && section("What is wrong", e("ul", wrong.map((row) => e("li", e("code.code", row.place), ` ${row.problem}`)))),
    group("Rules", of("rules", (row) => [`When ${all(row.when)}`, `then ${all(row.then)}`])), group("Totals", of("aggregates", () => [])), group("Goals", of("acceptance", (row) => [all(row.when)])),
    group("Actions", of("actions", (row) => [row.tool && `Outside: ${row.kind} by ${row.tool}`])),
    group("Case Types", Object.entries(draft.caseContracts ?? {}).map(([name, row]) => part(`case_types/${name}`, row?.title ?? name, Object.keys(row?.business_key ?? {}).join(", ")))),
    group("Words", rows(program.vocabulary?.defines).map((row) => part(`predicates/${row.as}`, row.as, Object.keys(row.args ?? {}).join(", ")))),
    group("Examples", rows(draft.examples).map((row, index) => h("li", { key: index }, e("strong", row.title ?? `${index + 1}`), e("p", `${all(row.given)} → ${all(row.follows) || "–"}${rows(row.never).length ? `; never ${all(row.never)}` : ""}`)))),
    group("Notes", [draft.notes ?? []].flat().map((words) => e("li", String(words)))));
}

const CONSOLE = "/console/embed.js";     // the gateway's own, with the sign-in that the person made there
async function ask(key, route, body, take) {
  const answer = await submit(key, async () => {
    const said = await (await import(CONSOLE)).ask(route, body);
    if (!said?.ok) throw Object.assign(new Error(said?.teaching ?? "The Console does not answer."), { code: said?.errorCode });
    return said;
  });
  if (answer) put(key, take(answer));
}

function install(act, found) {
  const { shown, done } = form("install"), text = found.savedText;
  if (done) return e("p", marked("installed", "done", "done"), " ", toConsole("Bind its Sources and lock its Tools", "#capabilities"));
  return e("div.box", e("h4", "Install it"), quiet("With your own sign-in in the Console. From a terminal: ", e("code", `rulith capability install ${found.saved.path}`)), problem("install", act),
    shown && [e("p", `${shown.release.title} ${shown.release.version} ${shown.installed ? `replaces ${shown.installed.version}` : "is new"}.`), e("ul", shown.changes.map((row) => e("li", `${row.part} ${row.name} ${row.change}`))), shown.conflicts.map((words) => e("p.is-bad", words))],
    e("div.row", shown && !shown.conflicts.length ? button("Install for every Agent", () => ask("install", "capability-install", { text, digest: shown.release.digest, replaces: shown.installed?.digest ?? "" }, () => ({ done: true })), { kind: "primary" })
      : button("Show what installing changes", () => ask("install", "capability-check", { text }, ({ result }) => ({ shown: result })), { kind: "button" }),
    button("Download the file", () => act.saveFile(found.saved.file, text, "application/json"), { kind: "button" }), toConsole("Console", "#capabilities")));
}

function after(act, found, known_) {
  const { id, resultId, draft, proposalDigest } = found, open = [draft?.questions ?? []].flat();
  return [open.length > 0 && section("Open questions", e("ul", open.map((words) => e("li", String(words))))),
    found.state !== "writing" && draft && !found.ready && formOf("again", act, "Draft again", () => begin(known_, "authoring/again", { id, resultId, answers: form("again").answers ?? "" }), field("again", "answers", open.length ? "Your answers" : "What to do differently", { rows: 4 })),
    found.ready && !found.saved && e("div", problem("save", act), button("Save as a private draft", () => does("save", "authoring/save", { id, resultId, proposalDigest }), { kind: "primary" })),
    found.saved && (found.savedEntryCurrent ? [quiet(`Saved on this computer: ${found.saved.path}`), install(act, found)] : e("p", marked("the saved file was changed or is gone", "waiting", "waiting"))),
    found.state !== "writing" && sure("remove", act, "Remove this draft", "The document and its drafts go; a file that was saved stays.", "Remove", async () => { if (await does("remove", "authoring/remove", { id })) { put("remove", null); location.hash = to(); } })];
}

const detail = (s, act, found, known_) => pane(s, act, "detail", found.name, [
  found.documentChanged && e("p.box", marked("the document changed", "waiting", "waiting"), " Another text of this name was drafted from later; this draft speaks of the earlier one."), e("p", marked(...STATE[found.state] ?? STATE.damaged), found.round > 0 && ` draft ${found.round}, corrected until it is sound, six at most `, found.state === "writing" && button("Stop", () => does("stop", "authoring/stop", { id: found.id }), { mark: "stop", kind: "button" })),
  found.problem && e("p.box", found.problem), problem("stop", act), e("div.sides-by", source(found), found.draft ? drafted(found) : quiet("Nothing was drafted yet.")), after(act, found, known_)], { back: to() });

export function view(s, act) {
  const [agent, id] = s.route.at;
  if (inst !== agent || form("cite").of !== id) { inst = agent; queueMicrotask(() => { put("cite", { of: id, pick: undefined }); for (const key of ["install", "again", "save", "remove", "stop"]) put(key, null); }); }
  const found = asked(`${agent} authoring`, () => get(at(agent, "authoring")), { authoring: true });
  return screenOf(s, "authoring", Boolean(id), known(act, "drafts", found, (all_) => [pane(s, act, "list", "Document to Capability", list(s, act, all_)),
    id ? known(act, "draft", asked(`${agent} draft ${id}`, () => get(at(agent, "authoring/review", { id })), { authoring: true }), (each) => detail(s, act, each, all_))
      : page(s, act, "A draft", empty("Choose a document on the left.", "A model drafts rules, examples and citations from it; a checker compiles, runs and looks for them. Nothing is installed before you have read it."))]));
}
