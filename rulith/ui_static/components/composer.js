/** Where a person writes to the Agent; what is written survives a reload and a refusal. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { button, iconButton } from "./parts.js";
import { refused } from "./states.js";
import { openTurn, sessionOf, silence } from "./talk.js";

/** The message goes with Enter; Shift and Enter is a new line. A word that is still being composed is not sent. */
function keyed(event, send) {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
}

function refusal(s, instance, act, said) {
  if (!said.refusal) return null;
  const service = said.refusal.facts?.modelService;
  return h("div", { class: "wide" }, refused(said.refusal, act, "The message was not taken"),
    service && button(`Send this conversation to ${service}`, () => act.send(instance.id, sessionOf(s, instance), service)),
    said.refusal.code === "request_interrupted" && button("Send as a new message", () => act.send(instance.id, sessionOf(s, instance), "", true)));
}

/** The files that go with the message; one that could not be added says why and is not sent. */
const files = (instance, act, rows) => rows.length > 0 && h("ul", { class: "wide chips" }, rows.map((row) => h("li", { key: row.key, class: row.error ? "problem" : false },
  icon("file"), row.name, row.error ? `: ${row.error}` : row.id ? "" : ": adding…",
  iconButton("close", `Leave out ${row.name}`, () => act.dropFile(instance.id, row.key)))));

export function composer(s, instance, act) {
  const said = s.says[instance.id] ?? { text: "" };
  const why = silence(s, instance, act);
  const off = !instance.model.configured;
  const turn = openTurn(s, instance);
  const rows = said.files ?? [];
  const blocked = Boolean(why) || said.busy || rows.some((row) => !row.id) || said.text.trim() === "";
  const send = () => { if (!why) act.send(instance.id, sessionOf(s, instance)); };
  return h("form", { class: "composer", "aria-label": "Message", onsubmit: (event) => { event.preventDefault(); send(); } },
    refusal(s, instance, act, said),
    files(instance, act, rows),
    h("label", { class: "sr", for: "message" }, "Message to the Agent"),
    h("textarea", {
      id: "message", rows: Math.min(8, said.text.split("\n").length), disabled: off, value: said.text, maxlength: 20000, "aria-describedby": "composer-why",
      placeholder: off ? "Nobody answers without a model" : "Your message",
      oninput: (event) => act.say(instance.id, event.target.value), onkeydown: (event) => keyed(event, send),
    }),
    turn
      ? button("Stop this turn", () => act.stopTurn(instance.id, turn), { mark: "stop", disabled: turn.state === "stopping" })
      : h("button", { type: "submit", class: "primary", disabled: blocked }, icon("play"), "Send message"),
    h("p", { class: "quiet hint", id: "composer-why" }, why ?? (turn
      ? "The Agent answers. What you send now waits for its turn: Enter sends it."
      : "Enter sends, Shift and Enter begins a new line.")),
    h("label", { class: "add-files" }, h("input", { type: "file", class: "sr", multiple: true, disabled: off,
      onchange: (event) => { act.addFiles(instance.id, [...event.target.files]); event.target.value = ""; } }), icon("file"), "Add files"));
}
