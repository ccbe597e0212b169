/**
 * The only module that calls fetch. Every data route carries the token, which lives in this
 * variable and nowhere else; a token the server no longer knows is exchanged once and the call
 * repeated (reads and writes alike: a call without a valid token did nothing).
 */

let token = "";

/** The answer was no: what happened and what to do, in the server's words. */
export class Refusal extends Error {
  constructor(status, body) {
    super(body.teaching ?? `The workbench answered ${status}.`);
    this.status = status;
    this.code = body.errorCode ?? `http_${status}`;
    this.happened = body.happened ?? this.message;
    this.next = body.next ?? "";
    this.facts = body.facts ?? {};
  }
}

/** No answer: the workbench is not there, or stopped half-way. */
export class Silence extends Error {}

async function send(method, path, body, signal, keepalive = false) {
  const headers = { accept: "application/json" };
  if (token) headers["x-rulith-manager"] = token;
  if (body !== undefined) headers["content-type"] = "application/json";
  try {
    const text = body === undefined ? undefined : JSON.stringify(body);
    return await fetch(path, { method, headers, signal, keepalive, body: text, cache: "no-store", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Silence("The workbench does not answer.");
  }
}

async function refusal(answer) {
  let body = {};
  try {
    body = await answer.json();
  } catch {
    // Not ours to read (a proxy, a cut answer): the status alone is told.
  }
  return new Refusal(answer.status, body);
}

/** Trade the page's cookie for a token. Raises Refusal when this page was not opened by the workbench. */
async function exchange() {
  token = "";
  const answer = await send("POST", "/api/token", {});
  if (!answer.ok) throw await refusal(answer);
  token = (await answer.json()).token;
}

async function ask(method, path, body, signal, keepalive) {
  let answer = await send(method, path, body, signal, keepalive);
  if (answer.status === 401) {
    await exchange();
    answer = await send(method, path, body, signal);
  }
  if (!answer.ok) throw await refusal(answer);
  return answer;
}

export const get = async (path) => (await ask("GET", path)).json();
/** `keepalive`: it is sent though the page is being left. */
export const post = async (path, body, keepalive) => (await ask("POST", path, body, undefined, keepalive)).json();

/** The feed from `after` on, as a byte stream; with `wait`, one that ends with the next rows or after so many seconds. */
export const openFeed = async (after, signal, wait) => (await ask("GET", `/events?after=${after}${wait === undefined ? "" : `&wait=${wait}`}`, undefined, signal)).body;

/** The token and the first look at the workbench. */
export const open = async () => {
  await exchange();
  return get("/api/state");
};
/** Begun while the other modules are still on their way. */
export const opening = open();
opening.catch(() => {});     // told to whoever waits for it

/** A path under one instance, its query encoded. */
export function at(instance, path, query = {}) {
  const search = new URLSearchParams(query).toString();
  return `/i/${encodeURIComponent(instance)}/${path}${search ? `?${search}` : ""}`;
}
