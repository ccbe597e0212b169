/** What floats: the keys, and where a model is configured. */

import { h } from "../lib/dom.js";
import { button, iconButton } from "./parts.js";
import { refused } from "./states.js";

const KEYS = [
  ["/", "to the message field; while it is off, to the calculation's numbers"],
  ["g a", "to the Agents"], ["g n", "what needs you"], ["g c", "Cases"], ["g b", "Board"], ["g w", "Worker"], ["g t", "the Council"],
  ["j  k", "down and up in a list"], ["Enter", "opens what has the focus"],
  ["← → ↑ ↓", "walk a proof tree"], ["Esc", "closes the topmost layer, never a draft"], ["n  x", "in the Council: a new thread; leave the one that is open"], ["?", "this list"],
];
const THINKING = [["standard", "provider's default"], ["enabled", "on"], ["disabled", "off"]];

export const frame = (id, title, act, close, ...body) =>
  h("dialog", { key: id, "aria-labelledby": `${id}-title`, class: id, hook: (element) => act.show(element, close) },
    h("header", { class: "dialog-head" }, h("h2", { id: `${id}-title` }, title), iconButton("close", "Close", close)),
    body);

const keyRow = ([keys, words]) => [
  h("dt", { key: keys }, keys.split(" ").filter(Boolean).map((part) => h("kbd", { key: part }, part))),
  h("dd", { key: `${keys}=` }, words),
];

const keys = (act) => frame("keys", "Keys", act, () => act.dialog(""),
  h("div", { class: "dialog-body" }, h("dl", { class: "keys-list" }, KEYS.map(keyRow))));

/** One text field of the model's form, with its problem or its note below. */
function textField(form, act, name, words, props, note) {
  const problem = form.refusal?.facts?.field === name ? form.refusal.happened : null;
  const id = `model-${name}`;
  return h("div", { class: "field", key: name },
    h("label", { for: id }, words),
    h("input", {
      id, name, value: form[name] ?? "", autocomplete: "off", spellcheck: "false",
      "aria-invalid": problem ? "true" : false, "aria-describedby": `${id}-note`,
      oninput: (event) => act.modelField(name, event.target.value), ...props,
    }),
    h("p", { id: `${id}-note`, class: problem ? "problem" : "quiet" }, problem ?? note));
}

function thinking(form, act) {
  const problem = form.refusal?.facts?.field === "thinking" && form.refusal.happened;
  return h("div", { class: "field", key: "thinking" },
    h("label", { for: "model-thinking" }, "Thinking"),
    h("select", { id: "model-thinking", value: form.thinking ?? "standard", onchange: (event) => act.modelField("thinking", event.target.value) },
      THINKING.map(([value, words]) => h("option", { key: value, value }, words))),
    problem && h("p", { class: "problem" }, problem));
}

function modelDialog(s, instance, act) {
  const form = s.model;
  const keyNote = form.keyConfigured
    ? "One is saved. Leave this empty to keep it for the same scheme, host and port."
    : "Needed unless the endpoint is on this computer. It is never shown again.";
  const endpoint = { type: "url", placeholder: "https://…/v1/messages or …/v1/chat/completions" };
  const endpointNote = "HTTPS, or HTTP on this computer. The path names the wire: …/messages or …/chat/completions.";
  return frame("model", `Model of ${instance.name}`, act, () => act.dialog(""),
    h("form", { novalidate: true, class: "dialog-form", onsubmit: (event) => { event.preventDefault(); act.saveModel(instance.id); } },
      h("div", { class: "dialog-body" },
        h("p", {}, "The model proposes; it never decides, and the verified calculation runs without one. ",
          "These settings stay in this profile on this computer and are used by ", h("code", {}, "rulith agent"), "."),
        textField(form, act, "url", "Endpoint", endpoint, endpointNote),
        textField(form, act, "name", "Model name", { maxlength: 256 }, "As the endpoint calls it."),
        textField(form, act, "key", "API key", { type: "password", maxlength: 4096 }, keyNote),
        form.keyConfigured && h("label", { class: "check" },
          h("input", { type: "checkbox", checked: Boolean(form.clearKey), onchange: (event) => act.modelField("clearKey", event.target.checked) }),
          "Remove the saved API key"),
        h("div", { class: "fields" },
          thinking(form, act),
          textField(form, act, "maxOutputTokens", "Output tokens", { inputmode: "numeric", class: "number" }, "256 to 65,536")),
        h("label", { class: "check" },
          h("input", { type: "checkbox", checked: Boolean(form.toolsAsText), "aria-describedby": "model-toolsAsText-note",
            onchange: (event) => act.modelField("toolsAsText", event.target.checked) }),
          "Tools as text"),
        h("p", { id: "model-toolsAsText-note", class: "quiet" }, "For a service that takes no tools, or a very small model that calls one whatever you say: ",
          "the tools stand in the prompt, and its calls are read from its words."),
        form.refusal && !form.refusal.facts?.field && refused(form.refusal, act, "The settings were not saved")),
      h("footer", { class: "dialog-foot" },
        button("Leave without saving", () => act.dialog("")),
        h("button", { type: "submit", class: "primary", disabled: Boolean(form.busy) }, "Save the model settings"))));
}

export function dialogs(s, instance, act) {
  if (s.ui.dialog === "keys") return keys(act);
  if (s.ui.dialog === "model" && instance) return modelDialog(s, instance, act);
  return null;
}
