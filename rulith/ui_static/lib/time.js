/** Moments and spans as a person reads them: "14:02 · 3 min ago", the full stamp on hover. */

import { h } from "./dom.js";

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

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

export function clock(stamp, now) {
  const at = moment(stamp);
  if (Number.isNaN(at)) return "";
  const sameDay = new Date(at).toDateString() === new Date(now).toDateString();
  return sameDay ? CLOCK.format(at) : `${DAY.format(at)} ${CLOCK.format(at)}`;
}

export const full = (stamp) => (Number.isNaN(moment(stamp)) ? "" : `${FULL.format(moment(stamp))} (${stamp})`);

/** `<time>` with clock and distance. */
export function when(stamp, now) {
  if (Number.isNaN(moment(stamp))) return null;
  return h("time", { class: "when", datetime: stamp, title: full(stamp) }, `${clock(stamp, now)} · ${ago(stamp, now)}`);
}
