/** A dozen drawings of our own: 16 px grid, 1.5 px stroke. Each stands beside a word, so none is read aloud. */

import { h } from "./dom.js";

const PATHS = {
  online: ["M8 8m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0"],
  offline: ["M8 8m-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0"],
  running: ["M8 2.5a5.5 5.5 0 1 1-5.2 3.7", "M8 5v3l2 1.5"],
  waiting: ["M5.5 3.5v9", "M10.5 3.5v9"],
  done: ["M3 8.5l3.2 3.2L13 4.8"],
  failed: ["M4 4l8 8", "M12 4l-8 8"],
  refused: ["M8 8m-5.5 0a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0", "M4.2 4.2l7.6 7.6"],
  unknown: ["M8 1.8L14.2 8L8 14.2L1.8 8Z", "M6.6 6.6a1.5 1.5 0 1 1 2 1.4c-.4.2-.6.5-.6 1", "M8 10.9v.2"],
  open: ["M8 8m-5.5 0a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0"],
  gear: ["M3 5h7", "M13 5h.1", "M3 11h.1", "M6 11h7", "M11.5 3.4v3.2", "M4.5 9.4v3.2"],
  plus: ["M8 3.5v9", "M3.5 8h9"],
  close: ["M4 4l8 8", "M12 4l-8 8"],
  back: ["M9.5 3.5L5 8l4.5 4.5"],
  menu: ["M2.5 4.5h11", "M2.5 8h11", "M2.5 11.5h11"],
  panel: ["M2.5 3h11v10h-11Z", "M9.5 3v10"],
  away: ["M6 3.5H3.5v9h9V10", "M9 3.5h3.5V7", "M12.5 3.5L7.5 8.5"],
  proof: ["M8 2.5v4", "M8 6.5H4v3", "M8 6.5h4v3", "M2.5 9.5h3v3h-3Z", "M10.5 9.5h3v3h-3Z"],
  file: ["M4 2.5h5l3 3v8H4Z", "M9 2.5v3h3"],
  copy: ["M5.5 5.5h7v7h-7Z", "M3.5 10.5v-7h7"],
  play: ["M5 3.5l7 4.5l-7 4.5Z"],
  stop: ["M4.5 4.5h7v7h-7Z"],
  note: ["M8 8m-5.5 0a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0", "M8 7.2v3.6", "M8 5v.1"],
  person: ["M8 5.5m-2.2 0a2.2 2.2 0 1 0 4.4 0a2.2 2.2 0 1 0-4.4 0", "M3.5 13c.6-2.4 2.3-3.6 4.5-3.6s3.9 1.2 4.5 3.6"],
};
const FILLED = new Set(["online", "waiting"]);

const made = {};             // the same description each time is one that a draw need not compare

export function icon(name, extra = "") {
  return made[`${name} ${extra}`] ??= h("svg", { class: `icon icon-${name} ${extra}`.trim(), viewBox: "0 0 16 16", width: 16, height: 16, "aria-hidden": "true", focusable: "false" },
    PATHS[name].map((d) => h("path", { d, class: FILLED.has(name) ? "solid" : false })));
}
