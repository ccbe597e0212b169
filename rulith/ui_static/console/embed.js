// The Console's own view of one thing that waits, drawn into another page of its origin. It asks this Console with the
// person's own sign-in and takes no passphrase: without a sign-in that page leads to the Console, where one is made.
import { unknown } from "./unknown.js";
import { decision, h, problem } from "./views.js";

const ROOT = new URL(".", import.meta.url).pathname;
const hosts = new Map();     // element → {asked, work, drawn, unknown}
let state = { signedIn: false };
let token = "";
let heard = () => {};

/** As console.js: the answer of the gateway, or null where there is none. */
async function call(route, body) {
  const options = body === undefined ? {} : { method: "POST", headers: { "content-type": "application/json", "x-rulith-console": token }, body: JSON.stringify(body) };
  try { return await (await fetch(`${ROOT}api/${route}`, { ...options, credentials: "same-origin", cache: "no-store" })).json(); } catch { return null; }
}

function take(answer) {
  state = { ...state, ...answer };
  if (answer.token) token = answer.token;
}

/** One question or act at this Console with the person's own sign-in: its answer, or null where nobody answers. */
export async function ask(route, body) {
  if (body !== undefined && !token) await look();
  const answer = await call(route, body);
  if (answer?.token) token = answer.token;
  return answer;
}

/** Read again what waits, and tell the page whether this browser is signed in. */
export async function look() {
  const answer = await call("state");
  if (!answer?.ok) return;
  take(answer);
  heard(state.signedIn);
  for (const host of hosts.keys()) {
    if (host.isConnected) read(host);
    else hosts.delete(host);
  }
}

/** Whether the Console still lists this unknown effect; what it no longer lists is not asked for. */
const waits = (asked) => (state.needsPerson ?? []).some((row) => row.agentId === asked.agent && row.ordinal === asked.ordinal);

async function read(host) {
  const entry = hosts.get(host);
  if (state.signedIn && entry.asked.ordinal !== undefined && waits(entry.asked)) {
    const answer = await call(`unknown?${new URLSearchParams(entry.asked)}`);
    if (!answer) return;
    entry.state = answer.ok ? { unknown: answer.unknown, problem: null } : { problem: answer };
  }
  draw(host);
}

function content(host, entry) {
  const { asked, work } = entry;
  const set = (changes) => { entry.work = { ...entry.work, ...changes }; draw(host); };
  const act = (route, body, words = "") => press(host, route, body, words);
  if (asked.ordinal !== undefined && !waits(asked)) return [h("p", { role: "status" }, entry.state.unknown ? "This is settled." : "Loading the call…")];
  if (asked.ordinal !== undefined) return unknown({ agent: asked.agent, ordinal: String(asked.ordinal) }, { ...state, ...entry.state }, work, set, act, () => look()).slice(1);
  const row = state.decisions.find((each) => each.id === asked.id);
  return row?.state === "pending" ? [...decision(row, state, act).childNodes] : [h("p", { role: "status" }, `This was ${row ? row.state : "settled"}.`)];
}

/** Drawn again only when what it shows changed, and what was typed stays. */
function draw(host, force = false) {
  const entry = hosts.get(host);
  if (!state.signedIn || !entry) return;
  const row = (state.decisions ?? []).find((each) => each.id === entry.asked.id);
  const shown = JSON.stringify([row, waits(entry.asked), state.person, state.ableToDecide, entry.state, entry.work]);
  if (!force && shown === entry.drawn) return;
  entry.drawn = shown;
  const typed = new Map([...host.querySelectorAll("textarea")].map((field) => [field.id, field.value]));
  const focused = host.contains(document.activeElement) ? document.activeElement.id : "";
  host.replaceChildren(...[content(host, entry)].flat(Infinity).filter(Boolean));
  for (const [id, value] of typed) { const field = document.getElementById(id); if (field) field.value = value; }
  for (const each of host.querySelectorAll("h2, h3")) {        // it stands among the headings of another page
    const title = h("h4", each.id ? { id: each.id } : {}, ...each.childNodes);
    each.replaceWith(title);
  }
  for (const link of host.querySelectorAll('a[href^="#"]')) Object.assign(link, { href: ROOT + link.getAttribute("href"), target: "_blank", rel: "noopener" });
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

/** One act of the person: the answer, or null after saying why it was refused. */
async function press(host, route, body, words) {
  host.querySelector(".problem.said, [role=status].said")?.remove();
  const answer = await call(route, body) ?? { errorCode: "unreachable", teaching: "The gateway does not answer. Nothing is known to have been recorded." };
  const says = (element) => { element.classList.add("said"); host.prepend(element); return element; };
  if (answer.ok) {
    take(answer);
    says(h("p", { role: "status" }, words || "Recorded."));
    return answer;
  }
  await look();
  const why = says(problem(answer.errorCode, answer.teaching));
  if (answer.errorCode === "sign_in_required") why.append(h("p", {}, h("a", { href: ROOT, target: "_blank", rel: "noopener" }, "Sign in again in the Console"), ", then press the button once more."));
  return null;
}

/** Draw into `element` what waits: a decision {id}, or an unknown effect {agent, ordinal}. */
export function show(element, asked) {
  hosts.set(element, { asked, work: {}, drawn: "", state: {} });
  queueMicrotask(() => read(element));
}

/** Tell `listener` whether this browser is signed in, now and whenever that changes. */
export function begin(listener) {
  heard = listener;
  new BroadcastChannel("rulith.console").onmessage = look;      // a sign-in or sign-out in another tab
  addEventListener("focus", look);
  return look();
}
