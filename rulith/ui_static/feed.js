/**
 * One event feed per browser. The tab that holds the lock reads it and tells the others; when that
 * tab closes, the next one goes on after the last row any of them saw.
 *
 * Life signs are told too, so every tab knows how old its picture is.
 */

import { openFeed } from "./api.js";
import { events } from "./lib/sse.js";

const SILENCE_MS = 30_000;                    // the workbench sends a sign of life every 10 s
const RETRY_MS = [250, 500, 1000, 2000, 4000];

/** Start following. `feed.after()` says what was seen; `feed.row`, `feed.life`, `feed.lost` are told. */
export function follow(feed) {
  const channel = "BroadcastChannel" in globalThis ? new BroadcastChannel("rulith-feed") : null;
  channel?.addEventListener("message", ({ data }) => {
    if (data.kind === "row") feed.row(data.row);
    else if (data.kind === "life") feed.life();
    else feed.lost(null);
  });
  const tell = (kind, row) => channel?.postMessage({ kind, row });
  const lead = () => readForEver(feed, tell);
  if (navigator.locks) navigator.locks.request("rulith-feed", lead);
  else lead();
}

async function readForEver(feed, tell) {
  for (let failures = 0; ; failures += 1) {
    const quiet = new AbortController();
    let alarm = 0;
    try {
      const body = await openFeed(feed.after(), quiet.signal);
      const wind = () => {
        clearTimeout(alarm);
        alarm = setTimeout(() => quiet.abort(), SILENCE_MS);
      };
      wind();
      feed.life();
      tell("life");
      for await (const row of events(body)) {
        failures = 0;
        wind();
        if (row === null) {
          feed.life();
          tell("life");
        } else {
          feed.row(row);
          tell("row", row);
        }
      }
      feed.lost(null);
    } catch (error) {
      feed.lost(error);
    } finally {
      clearTimeout(alarm);
    }
    tell("lost");
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]));
  }
}
