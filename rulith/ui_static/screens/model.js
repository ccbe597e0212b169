/** A model's settings: their fields, a test that shows what the endpoint answered, and the dialog of one Agent's own. */

import { act } from "../actions.js";
import { at, post } from "../api.js";
import { frame } from "../components/dialogs.js";
import { check, field, form, idOf, put, shownAt, submit } from "../components/forms.js";
import { button, quiet } from "../components/parts.js";
import { mark, refused } from "../components/states.js";
import { e, h } from "../lib/dom.js";
import { loadBench } from "../sync.js";

const THINKING = [["standard", "provider's default"], ["enabled", "on"], ["disabled", "off"]];
const SHOWN = ["url", "name", "thinking", "toolsAsText", "maxOutputTokens"];

/** One act of a form; what a moved profile refuses takes the typed secrets with it, and a refused field gets the focus. */
export async function does(key, job, said) {
  const answer = await submit(key, job), { refusal } = form(key);
  if (answer) put(key, null);
  else if (refusal?.code?.endsWith("_moved")) put(key, { key: "", token: "" });
  else if (refusal?.facts?.field) document.getElementById(idOf(key, refusal.facts.field))?.focus();
  await loadBench();
  if (answer && said) act.tell(said);
  return answer;
}

/** The model's fields; `own` says that a saved key may stay with it. */
function fields(key, model, own) {
  const wrong = form(key).refusal?.facts?.field, said = form(key).refusal?.happened, given = { ...model, ...form(key) };
  const text = (name, words, note, props) => field(key, name, words, { value: model[name], note: wrong === name ? said : note, "aria-invalid": wrong === name ? "true" : false, ...props });
  return [text("url", "Endpoint", "HTTPS, or HTTP on this computer. The path says which kind it is: …/v1 or …/chat/completions as OpenAI, …/messages as Anthropic.", { type: "url", placeholder: "https://…/v1/messages or …/v1/chat/completions" }),
    text("name", "Model name", "As the endpoint calls it.", { maxlength: 256 }),
    text("key", "API key", model.keyConfigured && own ? "One is saved. Leave this empty to keep it for the same scheme, host and port." : "Needed unless the endpoint is on this computer. It is never shown again.", { type: "password", maxlength: 4096 }),
    model.keyConfigured && own && check("clearKey", "Remove the saved API key", given.clearKey ?? false, (clearKey) => put(key, { clearKey })),
    e("div.fields", text("thinking", "Thinking", "", { options: THINKING }), text("maxOutputTokens", "Output tokens, 256 to 65,536", "", { inputmode: "numeric" })),
    check("toolsAsText", "Tools as text", given.toolsAsText ?? false, (toolsAsText) => put(key, { toolsAsText })),
    quiet("For a service without tool calls, or a very small model that calls a tool whatever you say: the prompt describes the tools, and calls are read from the answer.")];
}

function typed(key, model) {
  const { url = "", name = "", thinking, toolsAsText, maxOutputTokens, key: secret = "", clearKey = false } = { ...Object.fromEntries(SHOWN.map((each) => [each, model[each]])), ...form(key) };
  const tokens = String(maxOutputTokens).trim();
  return { url: url.trim(), name: name.trim(), key: secret, clearKey, thinking, toolsAsText: Boolean(toolsAsText), maxOutputTokens: /^\d{1,9}$/.test(tokens) ? Number(tokens) : tokens };
}

/** What the endpoint answered to a test, as it stands. */
const tested = ({ status, said, problem, ms, models, isListed, wants }) => h("div", { class: "box", role: "status", key: "tested" },
  e("p", mark(status >= 200 && status < 300 && !problem ? { words: `Answered ${status} in ${ms} ms`, meaning: "done", mark: "done" } : { words: status ? `Answered ${status}` : "No answer", meaning: "bad", mark: "failed" })),
  (said || problem) && e("p", said ? `“${said}”` : problem), wants.map((each) => quiet(`It ${each}.`)),
  models && (models.length ? e("details", e("summary", `It lists ${models.length} models${isListed ? "" : ", not this one"}`), e("p.mono", models.join(", "))) : quiet("It lists no models.")));

/** The form's body and its foot: a test, and the save with what `more` adds to it. */
export function modelForm(key, model, own, paths, more = {}, saved = () => {}) {
  const asking = typed(key, model), of = JSON.stringify(asking), { answer, busy, refusal } = form(key), off = busy ? "true" : false;
  const test = async () => { const done = await submit(key, () => post(paths.test, asking)); if (done) put(key, { answer: { ...done.answer, of } }); };
  const save = async (event) => { event.preventDefault(); if (await does(key, () => post(paths.save, { ...asking, ...more }), "Model settings saved")) saved(); };
  return { save, body: [fields(key, model, own), answer?.of === of && tested(answer), refusal && !refusal.facts?.field && refused(refusal, act, "Not done")],
    foot: [button(busy ? "Asking…" : "Test it", test, { kind: "button", "aria-disabled": off }), h("button", { type: "submit", class: "primary", "aria-disabled": off }, "Save the model settings")] };
}

export function dialog(s, instance) {
  const own = instance.model.source === "custom", model = own ? instance.model : { ...instance.model, url: "", name: "" }, path = at(instance.id, "model");
  const close = () => { document.querySelector("dialog[open]")?.close(); put("model", null); act.dialog(""); };
  const { save, body, foot } = modelForm("model", model, own, { save: path, test: `${path}/test` }, { expected: shownAt("model", instance.revision) }, close);
  return frame("model", `Model of ${instance.name}`, act, close, h("form", { novalidate: true, class: "dialog-form", onsubmit: save },
    e("div.dialog-body", e("p", "The model proposes; it never decides, and the verified calculation runs without one. These settings stay in this profile on this computer and are used by ", e("code", "rulith agent"), "."),
      !own && instance.model.configured && e("p", `It follows the default model, ${instance.model.name}. What you save here is its own instead.`), body),
    e("footer.dialog-foot", button("Leave without saving", close), foot)));
}
