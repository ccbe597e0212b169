/**
 * Answers that a screen asks for while it draws: kept under what was asked, read after the draw, read again when
 * they are said to be old, and forgotten once no draw asks for them.
 */

import { change } from "./store.js";
import { read } from "./sync.js";

const AGAIN_MS = 5_000;     // after a failure that is no refusal
const got = {};              // key → {about, value, error, at, stale}
const wanted = new Map();    // what the last draw asked for

/** {value, error} of `job`, as far as it is known; `about` is what stale() picks by. */
export function asked(key, job, about = {}) {
  wanted.set(key, { job, about });
  return got[key] ?? {};
}

/** Whatever `pick` picks is read again, if something still asks for it. */
export const stale = (pick) => change(() => { for (const entry of Object.values(got)) if (pick(entry.about)) entry.stale = true; });

/** After a draw. */
export function settle() {
  for (const [key, entry] of wanted) if (!got[key] || got[key].stale || isDueAgain(got[key])) load(key, entry);
  for (const key in got) if (!wanted.has(key)) delete got[key];
  wanted.clear();
}

const isDueAgain = ({ error, at }) => error && !(error.status < 500) && Date.now() - at > AGAIN_MS;

function load(key, { job, about }) {
  got[key] = { ...got[key], about, stale: false, at: Date.now() };
  const know = (answer) => change(() => { if (got[key]) Object.assign(got[key], { error: null }, answer); });
  read(`ask ${key}`, async () => {
    try {
      know({ value: await job() });
    } catch (error) {
      know({ error, at: Date.now() });
      throw error;
    }
  });
}
