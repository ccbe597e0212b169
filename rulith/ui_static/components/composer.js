/** Where a person writes to the Agent; what is written belongs to one conversation and survives a reload and a refusal. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { caseName } from "../words.js";
import { button, iconButton, quiet, toConsole } from "./parts.js";
import { refused } from "./states.js";
import { saying } from "../talks.js";
import { openTurn, sessionOf, silence, talkOf, workerOff } from "./talk.js";

/** The message goes with Enter; Shift and Enter is a new line. A word that is still being composed is not sent. */
function keyed(event, send) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
}

function refusal(session, instance, act, said) {
  if (!said.refusal) return null;
  const service = said.refusal.facts?.modelService;
  return h("div", { class: "wide" }, refused(said.refusal, act, said.refusal.title ?? "The message was not taken"),
    service && button(`Send this conversation to ${service}`, () => act.send(instance.id, session, service)),
    said.refusal.code === "request_interrupted" && button("Send as a new message", () => act.send(instance.id, session, "", true)));
}

const fileState = (row) => row.error || (row.id ? "Ready" : "Adding…");

/** The files that go with the message; one that could not be added says why and holds the message back. */
const files = (instance, session, act, rows) => rows.length > 0 && h("ul", { class: "wide chips", "aria-label": "Files of this message" }, rows.map((row) => h("li", { key: row.key, class: row.error ? "problem" : false },
  icon("file"), `${row.name}: ${fileState(row)}`,
  row.error && row.file && button("Add again", () => act.addAgain(instance.id, session, row), { kind: "inline" }),
  iconButton("close", `Leave out ${row.name}`, () => act.dropFile(instance.id, session, row.key)))));

/** Where the files go, or why the model cannot read them now and what to do. */
function reading(s, instance, act, rows) {
  const found = s.boards[instance.id]?.board?.connection?.files;
  if (rows.length === 0 || !found) return null;
  const off = workerOff(instance, act, "A file is read when it runs.");
  if (off) return off;
  return h("div", { class: "wide" }, found.problem
    ? [quiet("The model is told their names and cannot read them now. ", found.problem), toConsole("Open the Tools in the Console", "#tools")]
    : quiet(`Kept on this computer. What the model asks to read goes to ${instance.model.url}, through the Worker.`));
}

/** The live Cases of this conversation, and whether the last one is not live any more. */
function casesOf(s, instance) {
  const ids = new Set([...talkOf(s, instance)?.turns.values() ?? []].map((turn) => turn.caseId).filter(Boolean));
  const live = (s.boards[instance.id]?.board?.cases ?? []).filter((row) => ids.has(row.caseId) && row.status !== "closed");
  return { live, isUnclear: live.length > 1 || (ids.size > 0 && live.length === 0) };
}

/** Which Case the message is about: this conversation's, or a new one of a type and key. */
function target(s, instance, session, act, said, { live, isUnclear }, mustChoose) {
  const { caseId = "", caseType = "", businessKey = "" } = said.target ?? {};
  const set = (changes) => act.target(instance.id, session, changes);
  const usual = isUnclear ? "Choose a Case" : live.length === 1 ? `This conversation's: ${caseName(live[0])}` : "As the Agent sees fit";
  return h("details", { key: "target", class: "wide target", ...(mustChoose || caseId ? { open: true } : {}) },
    h("summary", {}, "Advanced · Case"),
    h("div", { class: "fields" },
      h("label", { class: "field" }, "Case of this message", h("select", { value: caseId, "aria-invalid": String(mustChoose), onchange: (event) => set({ caseId: event.target.value }) },
        h("option", { value: "" }, usual),
        (isUnclear || live.length > 1) && live.map((row) => h("option", { key: row.caseId, value: row.caseId }, caseName(row))),
        h("option", { value: "new" }, "A new Case"))),
      caseId === "new" && h("label", { class: "field" }, "Case type", h("input", { value: caseType, maxlength: 64, placeholder: "any", oninput: (event) => set({ caseType: event.target.value }) })),
      caseId === "new" && h("label", { class: "field" }, "Business key", h("textarea", { rows: 2, value: businessKey, maxlength: 400, placeholder: "job_id=calc-002", oninput: (event) => set({ businessKey: event.target.value }) }))));
}

function hint(why, turn, said, rows, mustChoose) {
  if (said.wished) return "The Agent is starting. Your message is sent once it is ready.";
  if (said.early) return "Still reading what was here.";
  if (said.unkept) return `This draft is in this tab only: ${said.unkept}`;
  if (why) return why;
  if (rows.some((row) => row.error)) return "Add the file again or leave it out; the message waits.";
  if (rows.some((row) => !row.id)) return "The message waits for its files.";
  if (mustChoose) return "Choose which Case the files are for.";
  return turn ? "The Agent answers. What you send now waits for its turn: Enter sends it." : "Enter sends, Shift and Enter begins a new line.";
}

/** Files that are dropped or pasted; words are left to the browser. */
function given(event, items, add) {
  const found = [...items?.files ?? []];
  if (found.length === 0) return;
  event.preventDefault();
  add(found);
}

export function composer(s, instance, act) {
  const session = sessionOf(s, instance);
  const said = { text: "", ...s.says[`${instance.id}/${session}`] };
  const held = talkOf(s, instance);
  const why = held?.archived ? ["This conversation is archived. Restore it to go on with it."] : silence(s, instance, act);
  const off = !instance.model.configured;
  const turn = openTurn(s, instance);
  const rows = said.files ?? [];
  const cases = casesOf(s, instance);
  const mustChoose = rows.length > 0 && cases.isUnclear && !said.target?.caseId;
  const blocked = Boolean(why) || said.busy || said.early || mustChoose || rows.some((row) => !row.id) || (said.text.trim() === "" && rows.length === 0);
  const awaits = ["starting", "restarting"].includes(instance.agent.talk.state);
  const send = () => {
    if (why && awaits) saying(instance.id, session, { wished: true });
    else if (!why && !mustChoose) act.send(instance.id, session);
  };
  // What Enter wished for while the Agent was starting happens once it is ready, and not at all where it does not come up.
  if (said.wished && !awaits) queueMicrotask(() => { saying(instance.id, session, { wished: false }); send(); });
  const add = (found) => { if (!off) act.addFiles(instance.id, session, found); };
  return h("form", { class: "composer", "aria-label": "Message", onsubmit: (event) => { event.preventDefault(); send(); },
    ondragover: (event) => { if (event.dataTransfer.types.includes("Files")) event.preventDefault(); }, ondrop: (event) => given(event, event.dataTransfer, add) },
    refusal(session, instance, act, said),
    files(instance, session, act, rows),
    reading(s, instance, act, rows),
    h("label", { key: "of", class: "sr", for: "message" }, "Message to the Agent"),
    h("textarea", {
      key: "message", id: "message", rows: Math.min(8, said.text.split("\n").length), disabled: off, value: said.text, maxlength: 20000, "aria-describedby": "composer-why",
      placeholder: off ? "No model yet" : "Your message",
      oninput: (event) => act.say(instance.id, session, event.target.value), onkeydown: (event) => keyed(event, send), onpaste: (event) => given(event, event.clipboardData, add),
    }),
    turn
      ? button("Stop this turn", () => act.stopTurn(instance.id, turn), { key: "send", mark: "stop", disabled: turn.state === "stopping" })
      : h("button", { key: "send", type: "submit", class: "primary", "aria-disabled": blocked ? "true" : false }, icon("play"), "Send message"),
    h("p", { key: "why", class: "quiet hint", id: "composer-why" }, hint(why, turn, said, rows, mustChoose)),
    h("label", { key: "add", class: "add-files" }, h("input", { type: "file", class: "sr", multiple: true, disabled: off,
      onchange: (event) => { add([...event.target.files]); event.target.value = ""; } }), icon("file"), "Add files"),
    !off && target(s, instance, session, act, said, cases, mustChoose));
}
