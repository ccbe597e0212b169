/**
 * Conversations in the store: stretches of turns by their number, what the feed tells of them, and the drafts,
 * which the workbench keeps so that every tab has the same ones.
 */

import { at, get, post } from "./api.js";
import { NEW, newestOf, sessionOf } from "./components/talk.js";
import { change, instanceOf, state } from "./store.js";
import { listeners, read, reading } from "./sync.js";

const KEEP_MS = 300;
const AGAIN_MS = 5_000;      // after a failed read
const LEAVING_CHARS_MAX = 10_000;    // of what a browser still sends while its page is left: 64 KiB in all
const KEPT = ["text", "requestId", "files", "target"];
const TAB = crypto.randomUUID();
const dirty = new Set();     // drafts that the workbench does not have as they are here
const timers = new Map();

const entryOf = (s, id) => (s.talks[id] ??= { by: {} });
const heldOf = (s, id, session) => ((entryOf(s, id).by ??= {})[session] ??= { turns: new Map(), numbers: new Map(), open: new Map(), total: 0, sequence: 0, arrived: 0, told: null });

export const loadTalks = (id) => read(`talks ${id}`, async () => {
  try {
    const { conversations, total } = await get(at(id, "conversations"));
    change((s) => Object.assign(entryOf(s, id), { list: conversations, total, error: null }));
  } catch (error) {
    change((s) => Object.assign(entryOf(s, id), { error }));
    throw error;
  } finally {
    change((s) => join(s, id));
  }
});

function put(held, number, turn) {
  held.turns.set(number, turn);
  held.numbers.set(turn.id, number);
  if (turn.state === "ended") held.open.delete(turn.id);
  else held.open.set(turn.id, number);
}

const flight = (id, session, before) => `talk ${id}/${session}/${before ?? ""}`;

/** The stretch of turns that ends before number `before`, or the newest: then what the feed tells meanwhile waits for it. */
export const loadTalk = (id, session, before) => read(flight(id, session, before), async () => {
  try {
    if (before === undefined) heldOf(state, id, session).told ??= [];
    const page = await get(at(id, "conversation", before === undefined ? { session } : { session, before }));
    change((s) => {
      const held = heldOf(s, id, session);
      page.turns.forEach((turn, index) => {
        const known = held.turns.get(page.first + index);
        if (!known || known.id !== turn.id || known.heard <= page.sequence) put(held, page.first + index, { ...turn, heard: page.sequence });
      });
      Object.assign(held, { isRead: true, error: null, archived: page.archived, total: Math.max(held.total, page.total), sequence: Math.max(held.sequence, page.sequence) });
      const rows = before === undefined && held.told;
      if (rows) held.told = null;
      for (const row of rows || []) listeners.turn(row);
    });
  } catch (error) {
    change((s) => Object.assign(heldOf(s, id, session), { error, failedAt: Date.now(), ...(before === undefined && { told: null, isRead: false }) }));
    throw error;
  }
});

/** A row about one turn: its head, one of its parts, or more words of one. What does not fit is read again. */
listeners.turn = (row) => change((s) => {
  const { instanceId: id, session } = row;
  if (!entryOf(s, id).list?.some((each) => each.sessionKey === session)) loadTalks(id);
  const held = heldOf(s, id, session);
  if (held.told) held.told.push(row);
  else if (held.isRead) hear(held, row);
});

function hear(held, row) {
  const { sequence, instanceId: id, session, id: turnId, turn, part, words, n, from } = row;
  const number = held.numbers.get(turnId), before = held.turns.get(number);
  if (sequence <= (before?.heard ?? held.sequence)) return;
  if (!before && turn?.state === "queued") {
    put(held, held.total, { ...turn, parts: [], heard: sequence });
    held.total += 1;
    held.arrived += 1;
    return;
  }
  const said = before?.parts.find((each) => each.n === n)?.text;
  if (!before || (words !== undefined && (said ?? "").length !== from)) {
    held.told = [];
    loadTalk(id, session);
    return;
  }
  const now = part ?? (words !== undefined && { n, kind: "said", text: (said ?? "") + words });
  if (now && now.kind === "said" && said === undefined) held.arrived += 1;
  const parts = now ? [...before.parts.filter((row) => row.n !== now.n), now].sort((a, b) => a.n - b.n) : before.parts;
  put(held, number, { ...before, ...turn, parts, heard: sequence });
}

listeners.archived = ({ instanceId: id, session, archived }) => {
  change((s) => { heldOf(s, id, session).archived = archived; });
  loadTalks(id);
};

/** Read what the conversation in view needs: the newest turns, and of those in the window the ones that are not here. */
export function needTalk(from, to) {
  const s = state;
  const instance = s.phase === "ready" ? instanceOf(s) : null;
  if (!instance) return;
  const { id } = instance;
  const entry = s.talks[id];
  if (!entry?.list && !entry?.error && !reading(`talks ${id}`)) loadTalks(id);
  if (!entry?.drafts && !reading(`drafts ${id}`)) loadDrafts(id);
  const session = sessionOf(s, instance);
  const held = entry?.by?.[session];
  if (session === NEW || (held?.error && Date.now() - held.failedAt < AGAIN_MS)) return;
  if (!held?.isRead) {
    if (!reading(flight(id, session))) loadTalk(id, session);
    return;
  }
  for (let number = Math.min(to, held.total) - 1; number >= from; number -= 1) {
    if (held.turns.has(number)) continue;
    if (!reading(flight(id, session, number + 1))) loadTalk(id, session, number + 1);
    return;
  }
}

// Drafts

const keyOf = (id, session) => `${id}/${session}`;
const draft = (id, session) => {
  const { text = "", requestId = "", files = [], target = {} } = state.says[keyOf(id, session)] ?? {};
  return { sessionKey: session, text: text.toWellFormed?.() ?? text, requestId, target, files: files.filter((row) => row.id).map((row) => ({ id: row.id, name: row.name })), tab: TAB };
};

const isKnown = ({ list, error, kept }) => kept && (list || error);

/** Change a message that is being written; what of it is kept goes to the workbench in a moment. `early`: begun before it was known what was here. */
export function saying(id, session, changes) {
  const key = keyOf(id, session);
  change((s) => {
    const { text = "", early = !text && !isKnown(entryOf(s, id)) && (s.route.talk ? "named" : "open") } = s.says[key] ?? {};
    s.says[key] = { text, ...s.says[key], ...changes, early };
  });
  if (!KEPT.some((name) => name in changes)) return;
  dirty.add(key);
  clearTimeout(timers.get(key));
  timers.set(key, setTimeout(() => keepDraft(id, session), KEEP_MS));
}

/** Have the workbench keep this draft as it is now. */
export function keepDraft(id, session) {
  const key = keyOf(id, session);
  return read(`draft ${key}`, async () => {
    if (state.says[key]?.early || !dirty.delete(key)) return;
    try {
      const body = draft(id, session);
      await post(at(id, "draft"), body, body.text.length < LEAVING_CHARS_MAX);
      change((s) => { if (s.says[key]?.unkept) s.says[key].unkept = ""; });
    } catch (error) {
      dirty.add(key);
      change((s) => { s.says[key] = { text: "", ...s.says[key], unkept: error.message }; });
      throw error;
    }
  });
}

function flush() {
  for (const key of dirty) {
    if (state.says[key].early) continue;         // what was kept stays
    const cut = key.indexOf("/");
    post(at(key.slice(0, cut), "draft"), draft(key.slice(0, cut), key.slice(cut + 1)), true).then(() => dirty.delete(key), () => {});
  }
}
addEventListener("pagehide", flush);
document.addEventListener("visibilitychange", () => { if (document.hidden) flush(); });

/** Another tab's words, or what was kept before; never over what was written here since it was asked for (`before`). */
function take(s, id, session, kept, before) {
  const key = keyOf(id, session);
  const here = s.says[key];
  if (here !== before[key] || dirty.has(key) || here?.busy || here?.files?.some((row) => !row.id)) return;
  s.says[key] = { ...said(kept), refusal: here?.text === (kept?.text ?? "") ? here.refusal : null };
}

function said(kept) {
  const { text = "", requestId = "", files = [], target = {} } = kept ?? {};
  return { text, requestId, target, files: files.map((row) => ({ ...row, key: row.id })) };
}

/** Early words go below those that were kept, into the conversation in view; with files they stay. */
function join(s, id) {
  const entry = entryOf(s, id);
  if (!isKnown(entry)) return;
  for (const [key, { early, ...here }] of Object.entries(s.says)) {
    if (!early || !key.startsWith(`${id}/`)) continue;
    const session = key.slice(id.length + 1), to = early === "open" && !here.files ? newestOf(entry) : session;
    s.says[key] = said(entry.kept.get(session));
    dirty.delete(key);
    const { text, files = [] } = s.says[keyOf(id, to)] ?? {};
    saying(id, to, { ...here, text: [text, here.text].filter(Boolean).join("\n"), files: [...files, ...here.files ?? []], requestId: "" });
  }
}

const loadDrafts = (id) => read(`drafts ${id}`, async () => {
  const entry = entryOf(state, id), before = { ...state.says };
  entry.drafts = true;          // asked for once: without them the page goes on
  try {
    const { drafts } = await get(at(id, "drafts"));
    change((s) => {
      const kept = entry.kept = new Map(drafts.map((row) => [row.sessionKey, row]));
      for (const key of Object.keys(s.says)) if (key.startsWith(`${id}/`) && !kept.has(key.slice(id.length + 1))) take(s, id, key.slice(id.length + 1), null, before);
      for (const [session, row] of kept) take(s, id, session, row, before);
    });
  } finally {
    entry.kept ??= new Map();
    change((s) => join(s, id));
  }
  for (const key of dirty) if (key.startsWith(`${id}/`)) keepDraft(id, key.slice(id.length + 1));
});

listeners.draft = ({ instanceId: id, session, tab }) => {
  if (tab === TAB) return;
  read(`draft of ${keyOf(id, session)}`, async () => {
    const before = { ...state.says };
    const { draft: kept } = await get(at(id, "draft", { session }));
    change((s) => take(s, id, session, kept, before));
  });
};
