/**
 * Keeps the store in step with the workbench: what the feed says has changed is read again, what
 * the place in the address needs is read once. Two reads of one thing never overlap.
 */

import { Refusal, at, get, open, opening } from "./api.js";
import { stale } from "./asks.js";
import { caseInView } from "./components/board.js";
import { follow } from "./feed.js";
import { change, instanceOf, state } from "./store.js";

const ACTIVITY_MAX = 500;
/** Rows of the feed that belong to a screen: type → who takes them. */
export const listeners = {};
const flights = new Map();   // what → "once" while it is being read, "again" when it changed meanwhile

export const reading = (what) => flights.has(what);

/** Read `what` by `job`; if asked again meanwhile, once more afterwards. */
export async function read(what, job) {
  if (flights.has(what)) {
    flights.set(what, "again");
    return;
  }
  do {
    flights.set(what, "once");
    try {
      await job();
    } catch (error) {
      locked(error);
    }
  } while (flights.get(what) === "again");
  flights.delete(what);
}

/** A 401 that the exchange could not mend means this page may read nothing more. */
function locked(error) {
  if (error instanceof Refusal && error.status === 401) change((s) => { s.phase = "locked"; s.lock = error; });
}

export const loadBench = () => read("bench", async () => {
  try {
    const bench = await get("/api/state");
    change((s) => { s.bench = bench; s.benchError = null; });
  } catch (error) {
    change((s) => { s.benchError = error; });
    throw error;
  }
});

/** Read one thing of an instance into `table[key]` as {[field]: answer}; a failed read keeps what was there. */
function into(table, key, field, path) {
  return read(`${table} ${key}`, async () => {
    try {
      const answer = await get(path);
      change((s) => { s[table][key] = { ...s[table][key], [field]: answer, error: null, heardAt: Date.now() }; });
    } catch (error) {
      change((s) => { s[table][key] = { ...s[table][key], error }; });
      throw error;
    }
  });
}

export const loadBoard = (id) => into("boards", id, "board", at(id, "state"));
export const loadCase = (id, caseId) => into("cases", `${id}/${caseId}`, "detail", at(id, "case", { case: caseId }));
export const loadProof = (id, fact) => into("proofs", `${id}/${fact}`, "proof", at(id, "proof", { id: fact }));

export const loadWork = (id) => read(`work ${id}`, async () => {
  try {
    const { input, runs } = await get(at(id, "demo"));
    change((s) => { s.work[id] = { ...s.work[id], input, runs, error: null }; });
  } catch (error) {
    change((s) => { s.work[id] = { ...s.work[id], error }; });
    throw error;
  }
});

const loadActivity = (id) => read(`activity ${id}`, async () => {
  const { rows } = await get(at(id, "activity"));
  change((s) => {
    const newer = (s.activity[id] ?? []).filter((row) => row.sequence > (rows.at(-1)?.sequence ?? 0));
    s.activity[id] = [...rows, ...newer].slice(-ACTIVITY_MAX);
  });
});

/** The Cases whose detail something on the page draws. */
function casesInView(s, instance) {
  const runs = (s.work[instance.id]?.runs ?? []).filter((run) => run.caseId).slice(-3).map((run) => run.caseId);
  return new Set([s.route.case, s.route.tab === "board" ? caseInView(s, instance) : "", ...runs].filter(Boolean));
}

/** Read what the present place needs and the store lacks. */
export function need() {
  const s = state;
  const instance = s.phase === "ready" ? instanceOf(s) : null;
  if (!instance) return;
  const id = instance.id;
  const missing = (what, entry) => entry === undefined && !flights.has(what);
  if (missing(`boards ${id}`, s.boards[id]) && s.bench.gateway.state === "online") loadBoard(id);
  if (missing(`work ${id}`, s.work[id])) loadWork(id);
  if (s.route.tab === "worker" && missing(`activity ${id}`, s.activity[id])) loadActivity(id);
  for (const caseId of casesInView(s, instance)) if (missing(`cases ${id}/${caseId}`, s.cases[`${id}/${caseId}`])) loadCase(id, caseId);
  if (s.route.fact && missing(`proofs ${id}/${s.route.fact}`, s.proofs[`${id}/${s.route.fact}`])) loadProof(id, s.route.fact);
}

/** The Board of an instance moved: read it and what of it is in view. */
function boardMoved(id) {
  loadBoard(id);
  stale(({ board }) => board);
  const instance = instanceOf(state);
  if (instance?.id !== id) return;
  for (const caseId of casesInView(state, instance)) loadCase(id, caseId);
  const open = `${id}/${state.route.fact}`;
  if (state.route.fact && state.proofs[open]?.error) loadProof(id, state.route.fact);
}

/** Everything again: another workbench answers now, or rows were missed. */
async function startOver() {
  change((s) => { s.boards = {}; s.work = {}; s.cases = {}; s.proofs = {}; s.activity = {}; s.talks = {}; });
  stale(() => true);
  await loadBench();
}

const heard = (s) => { s.feed.live = true; s.feed.heardAt = Date.now(); };

function take(row) {
  if (row.type === "hello") {
    const other = state.feed.serverId !== row.serverId;
    change((s) => { heard(s); s.feed.serverId = row.serverId; if (other || row.gap) s.feed.sequence = row.from; });
    if (other || row.gap) startOver();
    return;
  }
  if (row.sequence <= state.feed.sequence) return;
  change((s) => { heard(s); s.feed.sequence = row.sequence; });
  if (row.type === "changed") {
    if (row.what === "workbench") loadBench();
    else if (row.what === "board") boardMoved(row.instanceId);
    else if (row.what === "input") loadWork(row.instanceId);
  } else if (Object.hasOwn(listeners, row.type)) {
    listeners[row.type](row);
  } else if (row.type === "run") {
    change((s) => {
      const work = s.work[row.instanceId];
      if (!work?.runs) return;
      const others = work.runs.filter((run) => run.id !== row.run.id);
      work.runs = [...others, row.run];
    });
    if (row.run.endedAt && row.run.caseId) loadCase(row.instanceId, row.run.caseId);
  } else if (row.src === "worker" && state.activity[row.instanceId]) {
    change((s) => {
      const rows = s.activity[row.instanceId];
      rows.push(row);
      if (rows.length > 2 * ACTIVITY_MAX) rows.splice(0, ACTIVITY_MAX);
    });
  }
}

/** Open the page: token, workbench, the place's own data, then the feed. */
export async function begin(opened = opening) {
  try {
    const bench = await opened;
    change((s) => {
      s.bench = bench;
      s.phase = "ready";
      s.feed = { live: true, heardAt: Date.now(), sequence: bench.sequence, serverId: bench.serverId };
    });
  } catch (error) {
    change((s) => { s.lock = error; s.phase = error.status === 401 ? "locked" : "opening"; s.benchError = error; });
    if (error.status !== 401) setTimeout(() => begin(open()), 1000);
    return;
  }
  follow({
    after: () => state.feed.sequence,
    row: take,
    life: () => change((s) => {
      const back = !s.feed.live;
      heard(s);
      if (back) loadBench();
    }),
    lost: (error) => {
      change((s) => { s.feed.live = false; });
      if (error) locked(error);
    },
  });
}
