// The person's Console: one state, drawn whole. The token that proves a sign-in lives in this page's memory only.
import { SECTIONS, isUsed, once, section } from "./admin.js";
import { access } from "./access.js";
import { one } from "./cases.js";
import { caseList, holds, ledger, receipts } from "./lists.js";
import { orders } from "./orders.js";
import { people, ways } from "./people.js";
import { oneCase, place, readOf, shownCases } from "./places.js";
import { unknown } from "./unknown.js";
import { SILENT, console_, h, only, problem } from "./views.js";

const REFRESH_MS = 5000;
const USED_UP = ["close-case", "hold-case", "lift-hold", "withdraw-call", "reconcile", "order-withdraw"];      // they use up the reason that was typed
const OUTDATED = /_(as_shown|moved|mismatch|closed|expired|person)$|^unknown_|^not_/;      // what was shown is no more: it is read again
const KEPT = "textarea, select, input:not([type=password]):not([type=file])";
const [main, session, said, out, afresh, again, nav] = ["main", "session", "said", "sign-out", "afresh", "again", "sections"].map((id) => document.getElementById(id));
const others = new BroadcastChannel("rulith.console");      // whoever shows this Console in a page of its own
let state = { passphraseSet: false, signedIn: false };
let work = {};                                        // what the person has begun: a checked file, a secret shown once
let token = "", drawn = "";

/** The answer of the gateway; one of its own kind where there is none. */
async function call(route, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json", "x-rulith-console": token }, body: JSON.stringify(body) };
  return fetch(`api/${route}`, { ...options, credentials: "same-origin", cache: "no-store" }).then((answer) => answer.json()).catch(() => SILENT);
}

/** Put `content` in the place of what `root` holds. The focus stays on what is there again, and else in the page. */
function replace(root, content) {
  const had = root.contains(document.activeElement) && document.activeElement;
  root.replaceChildren(...[content].flat(Infinity).filter(Boolean));
  const same = had && [...root.querySelectorAll(had.id ? `#${CSS.escape(had.id)}` : had.localName)].find((each) => had.id || each.textContent === had.textContent);
  if (had && had !== root) (same ?? main).focus({ preventScroll: true });
}

function drawSections() {
  const waits = state.signedIn ? { decisions: state.decisions.filter((row) => row.state === "pending").length, unknown: state.needsPerson.length } : {};
  const here = place().id, groups = [...new Set(SECTIONS.map((row) => row.group))];
  nav.hidden = !state.signedIn;
  replace(nav, groups.map((group) => h("div", { class: "group" }, h("p", { class: "quiet" }, group), SECTIONS.filter((row) => row.group === group).map((row) =>
    h("a", { href: `#${row.id}`, "aria-current": here === row.id ? "page" : null }, row.words, waits[row.id] ? h("span", { class: "count" }, ` ${waits[row.id]}`) : null)))));
}

/** Without what only moves with time: a lease that is renewed changes nothing on the page. */
const still = (admin) => admin && { ...admin, connections: admin.connections.map((row) => ({ ...row, line: row.line.state })) };
const DRAWN_FROM = { cases: ["caseList", "caseDetail"], holds: ["caseList"], orders: ["asking", "orders"], receipts: ["caseList"], ledger: ["ledger"], people: ["people"], access: ["access", "agents", "devices"], unknown: ["unknown", "needsPerson"] };

function shown() {
  if (!state.signedIn) return `out${state.passphraseSet}${state.nameNeeded}${window.location.hash}`;
  const { id } = place();
  const from = id === "decisions" ? [state.decisions, state.needsPerson, state.ableToDecide, state.connections.map((row) => [row.id, row.line.state, row.leaseLeftS > 0])]
    : DRAWN_FROM[id] ? DRAWN_FROM[id].map((name) => state[name]) : [still(state.admin), state.flow];
  return JSON.stringify([window.location.hash, state.person, state.problem, from]);
}

function content() {
  const at = place();
  if (!state.signedIn) return ways(state, at.isInvited, act);
  if (work.once && isUsed(work.once, state)) work.once = null;
  const secret = work.once && work.once.place === at.id ? once(work.once, set) : null;
  if (at.id === "decisions") return console_(state, act);
  if (at.id === "cases") return oneCase(at) ? one(oneCase(at), state, work, set, act, ask) : caseList(shownCases(at), at.query, state);
  if (at.id === "unknown") return unknown({ agent: at.parts[0], ordinal: at.parts[1] }, state, work, set, act);
  if (at.id === "orders") return orders(at.query, state, work, set, act);
  if (at.id === "holds") return holds(at.query, state, act);
  if (at.id === "receipts") return receipts(at.query, state, work, set, ask);
  if (at.id === "ledger") return ledger(at.parts[0], at.query, state, work, set, ask);
  if (at.id === "access") return access(at, state, work, set, act, ask);
  if (at.id === "people") return [secret, people(state, work, set, act)];
  return [secret, only(state, at.needs, section(at.id, state, work, set, act))];
}

function drawSession() {
  const minutes = Math.max(1, Math.ceil(state.freshForS / 60));
  session.textContent = state.signedIn ? `${[...new Set([state.person.name, state.person.role])].join(" · ")} · ${state.freshForS ? `may act for ${minutes} more min` : "may read; to act, sign in again"}` : "Not signed in";
  out.hidden = !state.signedIn;
  afresh.hidden = !state.signedIn || state.freshForS > 60;
}

/** A person who is typing keeps what they typed: the page is drawn again only when what it shows changed. */
function draw(force = false, blank = []) {
  drawSession();
  drawSections();
  const now = shown();
  if (!force && now === drawn) return;
  drawn = now;
  const typed = new Map([...main.querySelectorAll(KEPT)].filter((el) => !blank.includes(el.id)).map((el) => [el.id, [el.value, el.checked]]));
  const unfolded = new Map([...main.querySelectorAll("details[id]")].map((el) => [el.id, el.open]));
  replace(main, content());
  for (const [id, [value, checked]] of typed) {
    const el = id && document.getElementById(id);
    if (el && el.type === "checkbox") el.checked = checked;
    else if (el && value) el.value = value;
  }
  for (const [id, open] of unfolded) { const el = document.getElementById(id); if (el) el.open = open; }
  if (!state.signedIn && [document.body, main].includes(document.activeElement)) main.querySelector("[autofocus]")?.focus();
}

/** Change what the person has begun, and draw; fields named in `blank` lose what was typed; `again` reads it anew. */
function set(changes, blank = [], again = false) {
  const leaves = "source" in changes && changes.source !== work.source;      // another Source, another form
  work = { ...work, ...changes, ...(changes.once ? { once: { ...changes.once, place: place().id } } : {}) };
  draw(true, leaves ? [...main.querySelectorAll(KEPT)].map((el) => el.id) : blank);
  if (again) load();
}

function take(answer) {
  state = { ...state, ...answer };
  if (!answer.token) return;
  if (answer.token !== token) others.postMessage("signed in");
  token = answer.token;
}

/** Why something was refused, above the page. */
function refused(answer) {
  main.querySelector(".problem.said")?.remove();
  const why = problem(answer.errorCode, answer.teaching);
  why.classList.add("said");
  main.prepend(why);
  why.scrollIntoView({ block: "nearest" });
  return null;
}

/** The answer of one act, or null after saying why it was refused. */
async function act(route, body, words = "") {
  said.textContent = "";
  main.querySelector(".problem.said")?.remove();
  const answer = await call(route, body);
  if (answer.ok) {
    take(answer);
    await read();
    draw(true, USED_UP.includes(route) ? [...main.querySelectorAll("textarea")].map((el) => el.id) : []);
    said.textContent = answer.result && answer.result.warning ? answer.result.warning : words;
    if (["sign-in", "setup", "accept"].includes(route)) { if (place().isInvited) window.location.hash = ""; load(); }
    return answer;
  }
  if (answer.errorCode === "sign_in_required" && state.signedIn) { ask("state"); return openAgain(); }
  if (state.signedIn && OUTDATED.test(answer.errorCode)) await load();
  return refused(answer);
}

/** The answer of one read, or null after saying why there is none. */
async function ask(route) {
  const answer = await call(route);
  if (!answer.ok) return refused(answer);
  if (route === "state") { take(answer); draw(); }
  return answer;
}

/** Fifteen minutes are over: the passphrase again, and what was typed on the page stays. */
function openAgain() {
  again.querySelector(".problem")?.remove();
  if (!again.open) again.showModal();
  again.querySelector("input").focus();
  return null;
}

again.querySelector("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  const answer = await call("sign-in", { name: state.person.name, passphrase: event.target.elements["again-passphrase"].value });
  event.target.reset();
  again.querySelector(".problem")?.remove();
  if (!answer.ok) { again.querySelector("form").prepend(problem(answer.errorCode, answer.teaching)); return; }
  take(answer);
  again.close();
  draw();
  said.textContent = "Signed in again. Press the button once more: nothing has been done yet.";
});
again.querySelector("button[type=button]").addEventListener("click", () => again.close());

/** What only the section on the page needs. */
async function read() {
  const route = state.signedIn ? readOf(place()) : "";
  if (!route) { state.problem = null; return; }
  const answer = await call(route);
  if (route !== readOf(place())) return;               // the person has gone on meanwhile
  if (answer.ok) take({ ...answer, problem: null });
  else if (answer !== SILENT) take({ problem: { errorCode: answer.errorCode, teaching: answer.teaching } });
}

async function load() {
  const answer = await call("state");
  if (!answer.ok) { session.textContent = "The gateway does not answer; trying again"; return; }
  take(answer);
  await read();
  draw();
}

const refresh = () => load().finally(() => window.setTimeout(refresh, REFRESH_MS));

window.addEventListener("hashchange", () => {
  [said.textContent, work.tell] = [work.tell || "", ""];      // what was done on the place that was left
  state = { ...state, problem: null, flow: null };
  draw(true, [...main.querySelectorAll(KEPT)].map((el) => el.id));
  main.focus({ preventScroll: true });
  load();
});
afresh.addEventListener("click", openAgain);
out.addEventListener("click", async () => { await call("sign-out", {}); others.postMessage("signed out"); token = ""; work = {}; state = { passphraseSet: state.passphraseSet, nameNeeded: state.nameNeeded, signedIn: false }; draw(true); });
refresh();
