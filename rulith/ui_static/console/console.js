// The person's Console: one state, drawn whole. The token that proves a sign-in lives in this page's memory only.
import { SECTIONS, section } from "./admin.js";
import { asked, cases, readOf } from "./cases.js";
import { console_, h, problem, signIn } from "./views.js";

const REFRESH_MS = 5000;
const CASE_ACTS = { "close-case": true, "hold-case": true, "lift-hold": true, "withdraw-call": true };     // they use up the reason that was typed
const KEPT = "textarea, select, input:not([type=password]):not([type=file])";
const main = document.getElementById("main");
const session = document.getElementById("session");
const said = document.getElementById("said");
const out = document.getElementById("sign-out");
const nav = document.getElementById("sections");
let state = { passphraseSet: false, signedIn: false };
let work = {};                                        // what the person has begun: a checked file, a secret shown once
let token = "";
let drawn = "";

async function call(route, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json", "x-rulith-console": token }, body: JSON.stringify(body) };
  const answer = await fetch(`api/${route}`, { ...options, credentials: "same-origin", cache: "no-store" });
  return answer.json();
}

const parts = () => window.location.hash.slice(1).split("/").filter(Boolean).map((part) => { try { return decodeURIComponent(part); } catch { return part; } });

/** The section that the address names. */
function place() {
  const [named] = parts();
  return SECTIONS.some((row) => row.id === named) ? named : "decisions";
}

/** Which Cases, or which one, the address names below #cases. */
const askedCases = () => asked(parts().slice(1));

function drawSections() {
  const waiting = state.signedIn ? state.decisions.filter((row) => row.state === "pending").length + state.needsPerson.length : 0;
  nav.hidden = !state.signedIn;
  nav.replaceChildren(...SECTIONS.map((row) => h("a", { href: `#${row.id}`, "aria-current": place() === row.id ? "page" : null },
    row.words, row.id === "decisions" && waiting ? h("span", { class: "count" }, ` ${waiting}`) : null)));
}

/** Without what only moves with time: a lease that is renewed changes nothing on the page. */
const still = (admin) => admin && { ...admin, connections: admin.connections.map((row) => ({ ...row, line: row.line.state })) };

function shown() {
  if (!state.signedIn) return `out${state.passphraseSet}`;
  if (place() === "cases") return JSON.stringify([askedCases(), state.caseList, state.caseDetail, state.caseProblem]);
  if (place() !== "decisions") return JSON.stringify([place(), still(state.admin)]);
  return JSON.stringify([state.decisions, state.needsPerson, state.connections.map((row) => [row.id, row.line.state, row.leaseLeftS > 0])]);
}

function content() {
  if (!state.signedIn) return signIn(state.passphraseSet, act);
  if (place() === "cases") return cases(askedCases(), state, work, set, act);
  return place() === "decisions" ? console_(state, act) : section(place(), state, work, set, act);
}

/** A person who is typing keeps what they typed: the page is drawn again only when what it shows changed. */
function draw(force = false, blank = []) {
  session.textContent = state.signedIn ? `Signed in for ${Math.max(1, Math.ceil(state.freshForS / 60))} more min` : "Not signed in";
  out.hidden = !state.signedIn;
  drawSections();
  const now = shown();
  if (!force && now === drawn) return;
  drawn = now;
  const typed = new Map([...main.querySelectorAll(KEPT)].filter((el) => !blank.includes(el.id)).map((el) => [el.id, [el.value, el.checked]]));
  const unfolded = new Map([...main.querySelectorAll("details[id]")].map((el) => [el.id, el.open]));
  const focused = document.activeElement && document.activeElement.id;
  main.replaceChildren(...[content()].flat(Infinity).filter(Boolean));
  for (const [id, [value, checked]] of typed) {
    const el = id && document.getElementById(id);
    if (el && el.type === "checkbox") el.checked = checked;
    else if (el && value) el.value = value;
  }
  for (const [id, open] of unfolded) { const el = document.getElementById(id); if (el) el.open = open; }
  const again = focused && document.getElementById(focused);
  if (again) again.focus(); else if (!state.signedIn) { const first = main.querySelector("[autofocus]"); if (first) first.focus(); }
}

/** Change what the person has begun, and draw; fields named in `blank` lose what was typed; `again` reads it anew. */
function set(changes, blank = [], again = false) {
  const leaves = "source" in changes && changes.source !== work.source;      // another Source, another form
  work = { ...work, ...changes };
  draw(true, leaves ? [...main.querySelectorAll(KEPT)].map((el) => el.id) : blank);
  if (again) load().catch(() => {});
}

function take(answer) {
  state = { ...state, ...answer };
  if (answer.token) token = answer.token;
}

/** The answer of one act, or null after saying why it was refused. */
async function act(route, body, words = "") {
  said.textContent = "";
  main.querySelector(".problem")?.remove();
  let answer;
  try { answer = await call(route, body); } catch { answer = { ok: false, errorCode: "unreachable", teaching: "The gateway does not answer. Nothing is known to have been recorded; look again when it does." }; }
  if (answer.ok) {
    take(answer);
    if (place() === "cases") await read().catch(() => {});
    draw(true, route in CASE_ACTS ? [...main.querySelectorAll("textarea")].map((el) => el.id) : []);
    said.textContent = answer.result && answer.result.warning ? answer.result.warning : words;
    if (route === "sign-in" || route === "setup") load();
    return answer;
  }
  if (answer.errorCode === "sign_in_required") { state = { ...state, signedIn: false }; draw(true); }
  const why = problem(answer.errorCode, answer.teaching);
  main.prepend(why);
  why.scrollIntoView({ block: "nearest" });
  return null;
}

/** What only the section on the page needs. */
async function read() {
  if (!state.signedIn || place() === "decisions") return;
  const wanted = askedCases();
  const answer = await call(place() === "cases" ? readOf(wanted, work) : "admin");
  if (answer.ok) take({ ...answer, caseProblem: null });
  else if (place() === "cases") take({ caseProblem: { ...answer, id: wanted.id } });
}

async function load() {
  take(await call("state"));
  await read();
  draw();
}

async function refresh() {
  try { await load(); } catch { session.textContent = "The gateway does not answer; trying again"; }
  window.setTimeout(refresh, REFRESH_MS);
}

window.addEventListener("hashchange", () => { said.textContent = ""; draw(true); main.focus({ preventScroll: true }); load().catch(() => {}); });
out.addEventListener("click", async () => { await call("sign-out", {}); token = ""; work = {}; state = { passphraseSet: state.passphraseSet, signedIn: false }; draw(true); });
refresh();
