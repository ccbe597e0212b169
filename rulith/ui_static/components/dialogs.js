/** What floats: the keys, and where a model is configured. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { refused } from "./states.js";

const KEYS = [
  ["/", "to the message field; while it is off, to the calculation's numbers"],
  ["g a", "to the Agents"], ["g n", "what needs you"], ["g c", "Cases"], ["g b", "Board"], ["g w", "Worker"],
  ["j  k", "down and up in a list"], ["Enter", "opens what has the focus"],
  ["← → ↑ ↓", "walk a proof tree"], ["Esc", "closes the topmost layer, never a draft"], ["?", "this list"],
];

const frame = (id, title, act, close, ...body) =>
  h("dialog", { key: id, "aria-labelledby": `${id}-title`, class: id, hook: (element) => act.show(element, close) },
    h("header", { class: "dialog-head" }, h("h2", { id: `${id}-title` }, title), h("button", { type: "button", class: "bare", onclick: close, "aria-label": "Close" }, icon("close"))),
    body);

const keys = (act) => frame("keys", "Keys", act, () => act.dialog(""),
  h("div", { class: "dialog-body" }, h("dl", { class: "keys-list" }, KEYS.map(([key, words]) => [h("dt", { key }, key.split(" ").filter(Boolean).map((part) => h("kbd", { key: part }, part))), h("dd", { key: `${key}=` }, words)]))));

function modelDialog(s, instance, act) {
  const form = s.model;
  const set = (name) => (event) => act.modelField(name, event.target.type === "checkbox" ? event.target.checked : event.target.value);
  const problem = (name) => (form.refusal?.facts?.field === name ? form.refusal.happened : null);
  const row = (name, words, props, note) => h("div", { class: "field", key: name },
    h("label", { for: `model-${name}` }, words),
    h("input", { id: `model-${name}`, name, value: form[name] ?? "", oninput: set(name), autocomplete: "off", spellcheck: "false", "aria-invalid": problem(name) ? "true" : false, "aria-describedby": `model-${name}-note`, ...props }),
    h("p", { id: `model-${name}-note`, class: problem(name) ? "problem" : "quiet" }, problem(name) ?? note));
  return frame("model", `Model of ${instance.name}`, act, () => act.dialog(""),
    h("form", { novalidate: true, class: "dialog-form", onsubmit: (event) => { event.preventDefault(); act.saveModel(instance.id); } },
      h("div", { class: "dialog-body" },
        h("p", {}, "The model proposes; it never decides, and the verified calculation runs without one. These settings stay in this profile on this computer and are used by ", h("code", {}, "rulith agent"), "."),
        row("url", "Endpoint", { type: "url", placeholder: "https://…/v1/messages or …/v1/chat/completions" }, "HTTPS, or HTTP on this computer. The path names the wire: …/messages or …/chat/completions."),
        row("name", "Model name", { maxlength: 256 }, "As the endpoint calls it."),
        row("key", "API key", { type: "password", maxlength: 4096 }, form.keyConfigured ? "One is saved. Leave this empty to keep it for the same scheme, host and port." : "Needed unless the endpoint is on this computer. It is never shown again."),
        form.keyConfigured && h("label", { class: "check" }, h("input", { type: "checkbox", checked: Boolean(form.clearKey), onchange: set("clearKey") }), "Remove the saved API key"),
        h("div", { class: "fields" },
          h("div", { class: "field" }, h("label", { for: "model-thinking" }, "Thinking"),
            h("select", { id: "model-thinking", value: form.thinking ?? "standard", onchange: set("thinking") }, [["standard", "provider's default"], ["enabled", "on"], ["disabled", "off"]].map(([value, words]) => h("option", { key: value, value }, words))),
            problem("thinking") && h("p", { class: "problem" }, problem("thinking"))),
          row("maxOutputTokens", "Output tokens", { inputmode: "numeric", class: "number" }, "256 to 65,536")),
        form.refusal && !form.refusal.facts?.field && refused(form.refusal, act, "The settings were not saved")),
      h("footer", { class: "dialog-foot" },
        h("button", { type: "button", class: "plain", onclick: () => act.dialog("") }, "Leave without saving"),
        h("button", { type: "submit", class: "primary", disabled: Boolean(form.busy) }, "Save the model settings"))));
}

export function dialogs(s, instance, act) {
  if (s.ui.dialog === "keys") return keys(act);
  if (s.ui.dialog === "model" && instance) return modelDialog(s, instance, act);
  return null;
}
