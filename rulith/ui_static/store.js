/**
 * One store. Components are functions of what it holds; only change() moves it, and every change
 * is drawn before the next frame, or with it where something was drawn for that frame already.
 *
 * Lasting things of this browser (drafts, theme, widths) are kept by keep() in localStorage; what
 * the server knows is never kept there, and neither is the token.
 */

export const SIDE_WIDTH = { min: 300, max: 760 };
const KEPT = "rulith.";

export const state = {
  phase: "opening",          // opening · ready · locked
  lock: null,                // why the page may not read anything
  bench: null,               // /api/state
  benchError: null,
  boards: {},                // instance → { board, error, heardAt, since }
  work: {},                  // instance → { input, runs, error, refusal, busy }
  cases: {},                 // instance/case → { detail, error }
  proofs: {},                // instance/fact → { proof, error }
  receipts: {},              // instance/case → { receipt, error }
  talks: {},                 // instance → { list, total, drafts, by: { conversation → its turns by number }, error }
  activity: {},              // instance → newest last
  feed: { live: false, heardAt: 0, sequence: 0, serverId: "" },
  route: { instance: "", tab: "now", case: "", fact: "", talk: "", screen: "", at: [], query: {} },
  ui: {
    side: kept("side", true), sideWidth: kept("sideWidth", 400), theme: kept("theme", "auto"), still: kept("still", false),
    sheet: "", dialog: "", filter: "", tier: "", find: "", signedIn: false, more: {}, folded: {}, said: "", openRuns: {},
  },
  drafts: kept("drafts", {}),   // instance → { job_id, … }
  says: {},                     // instance/conversation → { text, requestId, files, target, busy, refusal }: the message being written
  approve: kept("approve", {}), // instance → ask before writing
  forms: kept("forms", {}),     // key → half-filled fields; those of "draft/…" outlive the page
  now: Date.now(),
};

const watchers = new Set();
const soon = new MessageChannel();
let due = false;
let drawn = false;           // since the last frame

/** Change the store in `move`; it is drawn after what runs now, and once per frame at most. */
export function change(move) {
  state.now = Date.now();
  move(state);
  if (due) return;
  due = true;
  if (!drawn) soon.port2.postMessage(0);
  else requestAnimationFrame(draw);
  // A hidden page gets no frames, and its title must still tell the truth.
  if (drawn && document.hidden) setTimeout(draw, 100);
}

function draw() {
  if (!due) return;
  due = false;
  drawn = true;
  requestAnimationFrame(() => { drawn = false; });
  for (const watcher of watchers) watcher(state);
}
soon.port1.onmessage = draw;

export const watch = (watcher) => watchers.add(watcher);

/** What this browser kept under `name`, or `otherwise`. */
export function kept(name, otherwise) {
  try {
    const text = localStorage.getItem(KEPT + name);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise; // storage switched off, or not ours: the page works without it
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(KEPT + name, JSON.stringify(value));
  } catch {
    // Full or switched off: the draft lives as long as the page.
  }
}

/** The instance the address names, or the first. */
export function instanceOf(s) {
  const rows = s.bench?.instances ?? [];
  return rows.find((row) => row.id === s.route.instance) ?? rows[0] ?? null;
}
