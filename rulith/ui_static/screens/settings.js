/** Settings of this computer, #/settings/<part>: the gateway, models, budgets, how it looks, notifications, the check, logs, a backup, what lies where. */

import { act } from "../actions.js";
import { get, post } from "../api.js";
import { asked, stale } from "../asks.js";
import { check, field, form, formOf, problem, put, submit, sure } from "../components/forms.js";
import { button, pairs, quiet, toConsole } from "../components/parts.js";
import { pane, screenOf } from "../components/screen.js";
import { known, loading, marked } from "../components/states.js";
import { e, h } from "../lib/dom.js";
import { ago, when } from "../lib/time.js";
import { isOn, wish } from "../notices.js";
import { change, keep } from "../store.js";
import { listeners, loadBench } from "../sync.js";
import { talkState, workerState } from "../words.js";

const THEMES = [["auto", "as the system"], ["light", "light"], ["dark", "dark"]];
const PERIODS = [["day", "each day"], ["month", "each month"], ["run", "each run"]];
const SIGNS = { ok: ["ok", "done", "done"], note: ["note", "waiting", "waiting"], wrong: ["wrong", "bad", "failed"] };
const CAPS = ["tokens", "rounds", "money"];
const MIB = 2 ** 20;

document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("settings.css", import.meta.url).href }));

const path = (part) => `/api/settings${part}`;
const old = () => stale(({ settings }) => settings);
listeners.settings = old;
const kept = () => asked("settings", () => get(path("")), { settings: true });
const withSettings = (draw) => known(act, "settings", kept(), draw);
const section = (title, ...body) => h("section", { key: title, "aria-label": title }, e("h3", title), body);
const size = (bytes) => (bytes < MIB ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / MIB).toFixed(1)} MiB`);

async function does(key, part, body, said) {
  const answer = await submit(key, () => post(path(part), body));
  old();
  if (answer && said) act.tell(said);
  return answer;
}

function account(s) {
  const { gateway, council, instances, version, startedAt } = s.bench, words = gateway.state.replaceAll("_", " ");
  const restart = async () => { if (await does("gateway", "/gateway", { operation: "restart" }, "The gateway starts anew")) put("gateway", null); loadBench(); };
  return [section("Account", e("p", "You are signed in on this computer, by the address that ", e("code", "rulith start"), " printed. Decisions need your passphrase, in the Console."), e("div.row", toConsole("People and sign-ins"), h("a", { class: "button", href: "#/account" }, gateway.elsewhere ? "Account" : "Another gateway"))),
    section("Gateway", e("p", marked(words, gateway.state === "online" ? "done" : "waiting", gateway.state === "online" ? "done" : "waiting"), " ", gateway.detail),
      pairs([["Address", gateway.url], ["Started by", gateway.elsewhere ? "others, elsewhere" : gateway.owned ? "this workbench" : "another program of this home"], ["Process", gateway.pid], ["Last heard", gateway.heardAt && ago(gateway.heardAt, s.now)]]),
      gateway.owned ? sure("gateway", act, "Restart the gateway", "Agents and Workers wait until it answers again. What was under way stays known: nothing runs twice.", "Restart it", restart) : quiet("Restart it where it was started.")),
    section("What runs", pairs([["Rulith", version], ["Workbench since", when(startedAt, s.now)], ["Council", council.state.replaceAll("_", " ")],
      ...instances.flatMap((row) => [[`${row.name}: Worker`, marked(...Object.values(workerState(row.worker)))], row.mode === "local_agent" && [`${row.name}: Agent`, marked(...Object.values(talkState(row.agent.talk)))]].filter(Boolean))]))];
}

const models = (s) => {
  const { modelDefault: model, instances } = s.bench;
  return [section("Default model", e("p", model.configured ? `${model.name} at ${model.url}` : "None is set: an Agent without a model of its own works by rule alone."), model.reason && e("p.problem", model.reason), h("a", { class: "button", href: "#/agents/default" }, "Set and test the default model")),
    section("By Agent", h("ul", { class: "case-list" }, instances.map((row) => h("li", { key: row.id }, h("a", { class: "case-row", "data-row": true, href: `#/agents/${encodeURIComponent(row.id)}` }, e("span.case-key", row.name), e("span.quiet", row.mode === "local_agent" ? row.model.name || "no model" : "brings its own"))))), quiet("There an Agent is also saved to a file without its secrets, and taken in from one."))];
};

function budgets(s) {
  return withSettings((all) => {
    const one = (id, words, row) => {
      // `shown`: what stood there at the first change
      const key = `budget/${id}`, change_ = (name) => ({ target }) => put(key, { shown: form(key).shown ?? row, [name]: target.value }), of = (name) => form(key)[name] ?? row[name];
      const body = () => ({ profile: id, expected: form(key).shown ?? row, ...Object.fromEntries(Object.keys(row).map((name) => [name, String(of(name)).trim()])) });
      const follows = (name) => id && (name === "maxRounds" || CAPS.every((each) => of(each) === ""));       // one cap of its own, and no other is the home's
      const save = async () => {
        if (await does(key, "/budget", body(), "Limits saved")) put(key, null);
        else if (form(key).refusal?.code === "budget_moved") put(key, { shown: form(key).refusal.facts.now });
      };
      const whole = (name, label) => field(key, name, label, { oninput: change_(name), value: row[name], inputmode: "decimal", placeholder: (follows(name) && all.budget[name]) || (name === "maxRounds" ? "12" : "no limit") });
      return section(words, formOf(key, act, "Save the limits", save,
        e("div.fields", whole("tokens", "Tokens"), whole("rounds", "Calls of the model"), whole("money", `Money${all.prices.currency ? ` (${all.prices.currency})` : ""}`), field(key, "per", "Counted anew", { options: PERIODS, value: row.per, onchange: change_("per") }), whole("maxRounds", "Replies in one turn"))));
    };
    return [quiet("New limits count after the turn under way. A call is charged the most it can cost before it is sent, so a limit is reached early rather than passed. An Agent with a limit of its own keeps to that alone."), all.problem && e("p.box", all.problem),
      e("p", all.prices.problem ? `Money cannot be limited yet: ${all.prices.problem}.` : `Prices of ${all.prices.models} models are known. While money is limited, a model without a price is not asked.`),
      one(null, "Every Agent without limits of its own", all.budget), s.bench.instances.filter((row) => row.mode === "local_agent").map((row) => one(row.id, row.name, all.budgets[row.id] ?? all.budget))];
  });
}

const look = (s) => [section("Theme", h("label", { class: "field" }, "Colours", h("select", { value: s.ui.theme, onchange: ({ target }) => act.theme(target.value) }, THEMES.map(([value, words]) => h("option", { value, key: value }, words)))),
  check("still", "Move nothing, whatever the system says", s.ui.still, (still) => { change((now) => { now.ui.still = still; }); keep("still", still); })),
section("Notifications", check("notify", "Tell me while I look elsewhere: decisions, effects that are not known, threads that need me", isOn(), (on) => wish(on, act)), quiet("Your browser shows them and may ask you first. Nothing is sent anywhere, and this page must be open. Kept in this browser."))];

function doctor() {
  const found = form("check").found, run = async (repair) => { const answer = await does("check", "/doctor", { repair }); if (answer) put("check", { found: answer, at: Date.now() }); };
  const isBusy = Boolean(form("check").busy), left = found?.checks.some(({ name, text }) => name === "leftover" && text.includes("--repair"));
  return [quiet("What ", e("code", "rulith doctor"), " says of this computer and this home: it changes nothing and shows no secret."),
    e("div.row", button(isBusy ? "Looking…" : "Look now", () => run(false), { kind: "primary", "aria-disabled": isBusy ? "true" : false }), left && button("Remove what was left over", () => run(true), { kind: "button" }),
      found && button("Copy", () => act.copy(found.checks.map(({ state, name, text }) => `${state} ${name} ${text}`).join("\n"), "Copied"), { mark: "copy" })),
    problem("check", act), isBusy && !found && loading("the check", 6),
    found && [h("p", { role: "status" }, found.isWell ? "Nothing is wrong." : "Something is wrong: see below."), h("ul", { class: "plain-list finds" }, [...found.checks].sort((a, b) => (b.state === "wrong") - (a.state === "wrong")).map((row, at) => h("li", { key: at, class: "line" }, marked(...SIGNS[row.state]), e("span.grow", h("strong", {}, row.name), ` ${row.text}`))))]];
}

const logs = (s) => withSettings((all) => {
  const name = all.logs.some((each) => each.name === s.route.at[1]) ? s.route.at[1] : "", about = { settings: true };
  return [all.logs.length === 0 ? quiet("Nothing was written yet.") : h("ul", { class: "case-list", "data-list": true }, all.logs.map((each) => h("li", { key: each.name }, h("a", { class: "case-row", "data-row": true, href: `#/settings/logs/${each.name}`, "aria-current": each.name === name ? "true" : false }, e("span.case-key", each.words), e("span.quiet", size(each.bytes)))))),
    name && section(name, known(act, "log", asked(`log ${name}`, () => get(`${path("/log")}?name=${encodeURIComponent(name)}`), about), ({ text, bytes, shown }) => [shown < bytes && quiet(`The last ${size(shown)} of ${size(bytes)}.`), text ? h("pre", { tabindex: 0, "aria-label": name, class: "log", hook: (element) => requestAnimationFrame(() => { element.scrollTop = element.scrollHeight; }) }, text) : quiet("It is empty."),
      e("div.row", button("Read again", old), button("Copy", () => act.copy(text, "Log copied"), { mark: "copy" }))])), quiet("Credentials of this home are hidden.")];
});

const backup = (s) => withSettings((all) => {
  const key = "backup", done = form(key).done, name = `ledger-${new Date(s.now).toISOString().slice(0, 10)}.db`;
  const send = async () => { const answer = await does(key, "/backup", { name: (form(key).name ?? name).trim() }, "Backup made"); if (answer) put(key, { done: answer }); };
  return [section("Copy the ledger", quiet("All that the Boards hold and why, as of now; the gateway goes on. It holds no credential in clear. A copy on another disk is the one that helps."), formOf(key, act, form(key).busy ? "Copying…" : "Make a backup", send, field(key, "name", "File name", { value: name, note: `In ${all.places.find((each) => each.name === "Backups").path}` })),
    done && h("div", { class: "box", role: "status" }, pairs([["File", done.file], ["Rows", done.rows], ["Digest", done.digest]]), quiet("Bring it back with the gateway stopped: ", h("code", {}, `rulith gateway restore ${done.file}`)))),
  section("What is kept where", pairs(all.places.map(({ name: what, path: where }) => [what, where])), quiet("Theme, widths, drafts of forms and notifications are kept in this browser; everything else lies in the home.")),
  section("First steps", check("steps", "Show the first steps beside the work", !all.stepsAway, (on) => does("steps", "/steps", { away: !on })), problem("steps", act))];
});

const PARTS = {
  gateway: ["Account and gateway", account], models: ["Models", models], budgets: ["Budgets", budgets], look: ["Look and notifications", look], check: ["Check", doctor], logs: ["Logs", logs], backup: ["Backup and files", backup] };

export const view = (s) => {
  const part = Object.hasOwn(PARTS, s.route.at[0] ?? "") ? s.route.at[0] : "", [title, draw] = PARTS[part || "gateway"];
  return screenOf(s, "settings", part !== "", pane(s, act, "list", "Settings", h("ul", { class: "case-list", "data-list": true }, Object.entries(PARTS).map(([name, [words]]) => h("li", { key: name }, h("a", { class: "case-row", "data-row": true, href: `#/settings/${name}`, "aria-current": name === (part || "gateway") ? "true" : false }, e("span.case-key", words)))))),
    s.bench ? pane(s, act, "detail", title, draw(s), { back: "#/settings" }) : loading("settings"));
};

export function up(s) {
  if (!s.route.at.length) return false;
  location.hash = s.route.at.length > 1 ? `#/settings/${s.route.at[0]}` : "#/settings";
  return true;
}
