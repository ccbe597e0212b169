/** Moments and spans as a person reads them: "14:02 · 3 min ago", the full stamp on hover. */

import { h } from "./dom.js";

const READ_MAX = 5000;
/** The first formatter of a page takes longer to make than the whole page to draw, so each is made when it is first used. */
const formatter = (options) => {
  let made;
  return (at) => (made ??= new Intl.DateTimeFormat(undefined, options)).format(at);
};
const CLOCK = formatter({ hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DAY = formatter({ day: "numeric", month: "short" });
const FULL = formatter({ dateStyle: "medium", timeStyle: "medium" });
const asRead = new Map();    // stamp → what of it does not depend on now

/** Milliseconds since the epoch of an RFC 3339 stamp, or NaN. */
export const moment = (stamp) => Date.parse(stamp ?? "");

export function ago(stamp, now) {
  const seconds = Math.max(0, Math.round((now - moment(stamp)) / 1000));
  if (Number.isNaN(seconds)) return "";
  if (seconds < 5) return "now";
  if (seconds < 60) return `${seconds} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} d ago`;
}

/** A span in milliseconds: "40 ms", "1.4 s", "12 s", "3 min 20 s". */
export function span(ms) {
  if (Number.isNaN(ms)) return "";
  if (ms < 995) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${seconds % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function read(stamp) {
  let found = asRead.get(stamp);
  if (!found) {
    const at = moment(stamp);
    found = Number.isNaN(at) ? { clock: "", full: "" } : { date: new Date(at).toDateString(), day: `${DAY(at)} `, clock: CLOCK(at), full: `${FULL(at)} (${stamp})` };
    if (asRead.size >= READ_MAX) asRead.clear();
    asRead.set(stamp, found);
  }
  return found;
}

export function clock(stamp, now) {
  const { date, day, clock } = read(stamp);
  return clock && date !== new Date(now).toDateString() ? day + clock : clock;
}

export const full = (stamp) => read(stamp).full;

/** `<time>` with clock and distance. */
export function when(stamp, now) {
  if (Number.isNaN(moment(stamp))) return null;
  return h("time", { class: "when", datetime: stamp, title: full(stamp) }, `${clock(stamp, now)} · ${ago(stamp, now)}`);
}
