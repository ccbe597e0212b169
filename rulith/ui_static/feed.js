/**
 * One event feed per browser. The tab that holds the lock reads it and tells the others; when that
 * tab closes, the next one goes on after the last row any of them saw, and when it falls silent (frozen,
 * or its connection hangs) a tab that is looked at takes the lock from it.
 *
 * Rows are numbered without a hole: a tab that hears of a row beyond the next one fetches what lies between.
 * Life signs are told too, so every tab knows how old its picture is. Where streams are cut or held up on the
 * way, and where tabs cannot speak to each other, the same rows are asked for in answers that end.
 */

import { openFeed } from "./api.js";
import { events } from "./lib/sse.js";

const NAME = "rulith-feed";
const SILENCE_MS = 30_000;                    // the workbench sends a sign of life every 10 s
const RETRY_MS = [250, 500, 1000, 2000, 4000];
const TICK_MS = 5000;
const SILENT_TICKS = 9;                       // ticks, not time: a computer that slept has missed nothing yet
const MUTE_MAX = 2;                           // streams in a row that said nothing: none gets through here
const POLL_S = 10;

/** Start following. `feed.after()` says what was seen; `feed.row`, `feed.life`, `feed.lost` are told. */
export function follow(feed) {
  if (!navigator.locks || !("BroadcastChannel" in globalThis)) {
    readForEver(feed, () => {}, new AbortController().signal, true);
    return;
  }
  const channel = new BroadcastChannel(NAME);
  const tell = (kind, row) => channel.postMessage({ kind, row, seen: feed.after() });
  const catchUp = catcher(feed);
  let leads = false;
  let silent = 0;
  channel.addEventListener("message", ({ data }) => {
    if (data.kind === "ask") {
      if (leads) tell("here");
      return;
    }
    silent = 0;
    if (data.kind === "lost") feed.lost(null);
    else if (data.kind === "life") feed.life();
    const row = data.kind === "row" ? data.row : null;
    if (row && (row.type === "hello" || row.sequence === feed.after() + 1)) feed.row(row);
    if (data.seen > feed.after()) catchUp(data.seen);
  });
  let turn = null;                            // this tab's place in the queue
  async function lead(steal) {
    const ends = new AbortController();
    turn?.abort();
    turn = ends;
    const job = async () => {
      leads = true;
      await readForEver(feed, tell, ends.signal, false);
    };
    await navigator.locks.request(NAME, steal ? { steal } : { signal: ends.signal }, job).catch(() => {});
    ends.abort();
    if (turn !== ends) return;
    leads = false;                            // another tab took it: back into the queue
    silent = 0;
    lead(false);
  }
  setInterval(() => {
    silent = leads || document.hidden ? 0 : silent + 1;
    if (silent < SILENT_TICKS) return;
    silent = 0;
    lead(true);
  }, TICK_MS);
  lead(false);
  tell("ask");                                // rows told before this tab listened
}

/** Fetches the rows up to one that was heard of; one fetch at a time. */
function catcher(feed) {
  let wanted = 0;
  let busy = false;
  return async (to) => {
    wanted = Math.max(wanted, to);
    if (busy) return;
    busy = true;
    try {
      for (let before = -1; feed.after() < wanted && feed.after() !== before;) {
        before = feed.after();
        for await (const row of events(await openFeed(before, undefined, 0))) if (row) feed.row(row);
      }
    } catch {
      // The next thing heard tries again.
    }
    wanted = 0;
    busy = false;
  };
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function readForEver(feed, tell, ends, alone) {
  for (let failures = 0, mute = 0; !ends.aborted; failures += 1) {
    const quiet = new AbortController();
    const polls = alone || mute >= MUTE_MAX;
    let alarm = 0;
    let problem = null;
    let spoke = false;
    const wind = () => {
      clearTimeout(alarm);
      alarm = setTimeout(() => quiet.abort(), SILENCE_MS);
    };
    try {
      wind();
      const wait = alone && document.hidden ? 0 : POLL_S;     // six connections are all that a browser has for us
      for await (const row of events(await openFeed(feed.after(), AbortSignal.any([quiet.signal, ends]), polls ? wait : undefined))) {
        if (ends.aborted) return;
        spoke = true;
        failures = 0;
        wind();
        if (row === null) feed.life();
        else feed.row(row);
        tell(row === null ? "life" : "row", row);
      }
    } catch (error) {
      problem = error;
    } finally {
      clearTimeout(alarm);
    }
    if (ends.aborted) return;
    mute = spoke ? (polls ? mute : 0) : mute + (quiet.signal.aborted ? 1 : 0);
    if (polls && spoke && !problem) {
      failures = -1;
      if (alone && document.hidden) await pause(TICK_MS);
      continue;
    }
    feed.lost(problem);
    tell("lost");
    await pause(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]);
  }
}
