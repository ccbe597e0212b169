// The person's Console: one state, drawn whole. The token that proves a sign-in lives in this page's memory only.
import { console_, problem, signIn } from "./views.js";

const REFRESH_MS = 5000;
const main = document.getElementById("main");
const session = document.getElementById("session");
const said = document.getElementById("said");
const out = document.getElementById("sign-out");
let state = { passphraseSet: false, signedIn: false };
let token = "";
let drawn = "";

async function call(route, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json", "x-rulith-console": token }, body: JSON.stringify(body) };
  const answer = await fetch(`api/${route}`, { ...options, credentials: "same-origin", cache: "no-store" });
  return answer.json();
}

/** A person who is typing keeps what they typed: the page is drawn again only when what it shows changed. */
function draw(force = false) {
  const shown = state.signedIn ? JSON.stringify([state.decisions, state.needsPerson, state.connections.map((row) => [row.id, row.line.state, row.leaseLeftS > 0])]) : `out${state.passphraseSet}`;
  session.textContent = state.signedIn ? `Signed in for ${Math.max(1, Math.ceil(state.freshForS / 60))} more min` : "Not signed in";
  out.hidden = !state.signedIn;
  if (!force && shown === drawn) return;
  drawn = shown;
  const typed = new Map([...main.querySelectorAll("textarea, input:not([type=password])")].map((el) => [el.id, el.value]));
  const focused = document.activeElement && document.activeElement.id;
  main.replaceChildren(...[state.signedIn ? console_(state, act) : signIn(state.passphraseSet, act)].flat());
  for (const [id, value] of typed) { const el = id && document.getElementById(id); if (el && value) el.value = value; }
  const again = focused && document.getElementById(focused);
  if (again) again.focus(); else if (!state.signedIn) { const first = main.querySelector("[autofocus]"); if (first) first.focus(); }
}

function take(answer) {
  state = { ...state, ...answer };
  if (answer.token) token = answer.token;
}

async function act(route, body, words = "") {
  said.textContent = "";
  main.querySelector(".problem")?.remove();
  let answer;
  try { answer = await call(route, body); } catch { answer = { ok: false, errorCode: "unreachable", teaching: "The gateway does not answer. Nothing is known to have been recorded; look again when it does." }; }
  if (answer.ok) { take(answer); draw(true); said.textContent = words; return; }
  if (answer.errorCode === "sign_in_required") { state = { ...state, signedIn: false }; draw(true); }
  main.prepend(problem(answer.errorCode, answer.teaching));
}

async function refresh() {
  try {
    take(await call("state"));
    draw();
  } catch {
    session.textContent = "The gateway does not answer; trying again";
  }
  window.setTimeout(refresh, REFRESH_MS);
}

out.addEventListener("click", async () => { await call("sign-out", {}); token = ""; state = { passphraseSet: state.passphraseSet, signedIn: false }; draw(true); });
refresh();
