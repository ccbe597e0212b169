/** This computer's sign-in at a gateway elsewhere, #/account: the code, the Agents of its list, the way out. What it is stands in the bench. */

import { act } from "../actions.js";
import { post } from "../api.js";
import { check, field, form, formOf, problem, put, submit, sure } from "../components/forms.js";
import { button, pairs, quiet, toConsole } from "../components/parts.js";
import { page, screenOf } from "../components/screen.js";
import { loading, marked } from "../components/states.js";
import { e, h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { ago, clock, span } from "../lib/time.js";
import { loadBench } from "../sync.js";

const STATES = { none: ["not signed in", "quiet", "offline"], pending: ["waiting for an owner", "waiting", "waiting"], approved: ["let in, finishing", "running", "running"], linked: ["signed in", "done", "done"],
  revoked: ["signed out by the gateway", "bad", "refused"], expired: ["ran out", "bad", "refused"], unusable: ["no use any more", "bad", "failed"], unreadable: ["cannot be read", "bad", "failed"] };
const MODES = [["local_agent", "an Agent on this computer, with a model"], ["existing_client", "a program that you have (an MCP client)"]];

const section = (title, ...body) => h("section", { key: title, "aria-label": title }, e("h3", title), body);
const host = (origin) => origin.replace(/^https?:\/\//, "");

/** Only https, or this computer: nothing else is led to. */
const isSafe = (address) => { try { const { protocol, hostname } = new URL(address); return protocol === "https:" || (protocol === "http:" && ["127.0.0.1", "localhost", "[::1]"].includes(hostname)); } catch { return false; } };

async function does(key, route, body, said) {
  const answer = await submit(key, () => post(`/api/account/${route}`, body));
  await loadBench();
  if (answer && said) act.tell(typeof said === "function" ? said(answer) : said);
  return answer;
}

const LEFT = { not_issued: "", confirmed: " The gateway signed it out.", already_revoked: " The gateway had signed it out before.", unconfirmed: " The gateway could not be told: have an owner sign this computer out there.", unreadable: " The gateway could not be told: have an owner sign this computer out there." };
const forget = (words, warning) => sure("forget", act, words, warning, words, async () => { if (await does("forget", "forget", {}, ({ revoke }) => `Forgotten.${LEFT[revoke]}`)) put("forget", null); });
const leave = (words) => sure("leave", act, words, "Its Agents and Workers end here, the gateway signs this computer out, and their keys are removed. Models, Tools, files and conversations stay.", "Sign out and stop them",
  async () => { const done = await does("leave", "signout", {}, ({ state }) => (state === "signed_out" ? "Signed out" : "Not signed out yet: see why")); if (done) put("leave", null); });

function begin(account) {
  const name = () => form("sign-in").name ?? account.name;
  return section("Sign in", account.teaching && e("p.box", account.teaching), e("p", "You get a code. An owner of ", e("code", account.gateway), " lets this computer in with it; then its Agents can be set up here."),
    formOf("sign-in", act, "Get a code", () => does("sign-in", "start", { name: name() }), field("sign-in", "name", "This computer's name there", { value: account.name, maxlength: 64, required: true })));
}

function code(account, s) {
  const left = new Date(account.codeExpiresAt) - s.now;
  return section("Let this computer in", h("p", { class: "box needs" }, h("span", {}, "The code is ", h("strong", { class: "mono" }, account.code), left > 0 ? `. It counts for ${span(left)} more.` : ". It has run out.")),
    e("p", `An owner signs in to the Console there, opens Access and finds ${account.name} by this code. This page goes on by itself.`),
    e("div.row", isSafe(account.consoleUrl) ? h("a", { class: "button", href: account.consoleUrl, target: "_blank", rel: "noopener noreferrer" }, icon("away"), "Open the sign-in page") : e("code", account.consoleUrl),
      left <= 0 && button("Get another code", () => does("sign-in", "start", { name: account.name }), { kind: "primary" })), problem("sign-in", act), forget("Give the sign-in up", "The code is forgotten."));
}

/** What one Agent of the list is on this computer, and the way to set it up. */
function agent(account, s, row) {
  const key = `set-up/${row.id}`, here = s.bench.instances.find((each) => each.origin === account.origin && each.agentId === row.id && !each.pairing), waits = s.bench.instances.find((each) => each.pairing?.agentId === row.id);
  const into = waits ?? s.bench.instances.find((each) => each.id === s.route.query.for && !each.attached), mode = into?.mode ?? form(key).mode ?? MODES[0][0], isLocal = mode === "local_agent", agreed = () => !isLocal || Boolean(form(key).agreed);
  const send = () => does(key, "attach", { agentId: row.id, mode, replaceAgentToken: isLocal, ...(into ? { instanceId: into.id } : {}) }, ({ agentName }) => `${agentName} is set up here`);
  if (here) return h("li", { key: row.id }, h("a", { class: "case-row", "data-row": true, href: `#/agents/${here.id}` }, e("span.case-key", row.name), e("span.quiet", `here as ${here.name}`), here.blocked ? marked("needs attention", "waiting", "waiting") : marked("set up", "done", "done")));
  return h("li", { key: row.id }, h("details", { key: "open", open: Boolean(waits) }, e("summary", row.name, " ", waits ? marked("finishing setup", "waiting", "waiting") : e("span.quiet", "not set up on this computer")),
    waits?.pairing.lastError && e("p.box", waits.pairing.lastError.teaching),
    formOf(key, act, waits ? "Try again" : "Set it up on this computer", send, [into ? !waits && quiet(`For ${into.name}.`) : field(key, "mode", "Who works", { options: MODES }),
      isLocal ? check("agreed", "Its present token stops working: whatever works as this Agent now is let go", agreed(), (value) => put(key, { agreed: value }))
        : quiet("This computer runs its Worker. The program signs in by itself at ", e("code", `${account.origin}/mcp`), ".")], { off: () => !agreed() }),
    waits && !waits.agentId && button("Give it up", () => does(key, "cancel", { instanceId: waits.id }, "Given up"), { kind: "button" })));
}

function linked(account, s) {
  const { agents, checkedAt, error, stale } = account;
  return [section("This sign-in", pairs([["Gateway", account.origin], ["This computer", account.name], ["Let in by", account.account.name], ["Counts until", `${clock(account.expiresAt, s.now)}, and on while it is used`], ["Agents read", checkedAt && ago(checkedAt, s.now)]]),
    error && e("p.box", stale ? "The gateway has not answered for a while: " : "The gateway did not answer: ", error, ". What was last heard stays."),
    e("div.row", button("Read the Agents again", () => does("refresh", "refresh", {}), { kind: "button" }), toConsole("Console")), problem("refresh", act)),
  section("Agents", agents.length === 0 ? quiet("None yet. An owner makes one in the Console.") : h("ul", { class: "case-list" }, agents.map((row) => agent(account, s, row))),
    quiet("A Worker has no Tool at that gateway before an owner locks one and adds its Source, in the Console."))];
}

function body(account, s) {
  const { state, gateway, origin, isHere } = account, isIn = ["approved", "linked"].includes(state), isOver = ["revoked", "expired", "unusable"].includes(state);
  return [(gateway || state !== "none") && e("p", marked(...STATES[state]), origin && ` · ${host(origin)}`),
    account.signOut && h("p", { class: "box needs", role: "status" }, account.signOut.step === "stop" ? "Not signed out yet. " : "Everything has ended here, and the gateway could not be told yet. ", account.signOut.teaching, " Sign out again."),
    isIn && account.signOut?.step === "revoke" && forget("Forget it without the gateway", "If that gateway is gone for good. Otherwise have an owner sign this computer out there: its keys are removed here, and count there until then."),
    account.stopWarning && !account.signOut && e("p.box", account.stopWarning),
    isIn && !isHere && e("p", "This computer is signed in at ", e("code", origin), ". To work there: ", e("code", `rulith start --gateway ${origin}`)),
    !gateway && state === "none" && [e("p", "This workbench runs a gateway of its own: your Agents, their Cases and the decisions are on this computer, and no sign-in is needed."), e("p", "To work at another gateway, start it with ", e("code", "rulith start --gateway URL"), ".")],
    gateway && state === "none" && begin(account), state === "pending" && code(account, s), isIn && isHere && state === "linked" && linked(account, s),
    isOver && section("What now", e("p.box", account.teaching), e("p", "Its Agents have ended on this computer. Forget this sign-in, then sign in again."), forget("Forget this sign-in", "Keys of its Agents are removed from this computer. Models, Tools, files and conversations stay.")),
    state === "unreadable" && section("What now", e("p.box", account.teaching), forget("Forget this sign-in", "The file is removed, with the keys of Agents at other gateways.")),
    isIn && section("Leave", leave("Sign out and stop this computer"))];
}

export const view = (s) => screenOf(s, "account", true, s.bench ? page(s, act, "Account", body(s.bench.account, s)) : loading("the account"));

export function up() {
  location.hash = "#/settings";
  return true;
}
