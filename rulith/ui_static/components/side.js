/** The right column: what needs a person, the Cases, the Board, the Worker. A sheet on a narrow page. */

import { h } from "../lib/dom.js";
import { link } from "../route.js";
import { SIDE_WIDTH } from "../store.js";
import { waitingFor } from "../words.js";
import { board } from "./board.js";
import { cases } from "./cases.js";
import { now } from "./now.js";
import { iconButton, quiet } from "./parts.js";
import { loading, refused, stale } from "./states.js";
import { worker } from "./worker.js";

const PANELS = { now: ["Now", now], cases: ["Cases", cases], board: ["Board", board], worker: ["Worker", worker] };
const STALE_MS = 2000;

const grip = (s, act) => h("div", {
  class: "grip", role: "separator", tabindex: 0, "aria-orientation": "vertical", "aria-label": "Width of this column",
  "aria-valuenow": s.ui.sideWidth, "aria-valuemin": SIDE_WIDTH.min, "aria-valuemax": SIDE_WIDTH.max,
  onpointerdown: (event) => act.grip(event), onkeydown: (event) => act.gripKey(event),
});

function tabs(s, instance, entry, act) {
  const waiting = waitingFor(entry?.board);
  const to = (name) => link(s.route, { instance: instance?.id ?? "", tab: name, case: name === "board" ? s.route.case : "", fact: "" });
  return h("nav", { class: "tabs", "aria-label": "Side panel" },
    Object.entries(PANELS).map(([name, [words]]) =>
      h("a", { key: name, href: to(name), "aria-current": s.route.tab === name ? "page" : false }, words,
        name === "now" && waiting > 0 && h("span", { class: "count", "aria-label": `${waiting} waiting` }, waiting))),
    iconButton("close", "Close the side panel", () => act.sheet(""), { kind: "bare only-sheet", "data-close": true }));
}

function panel(s, instance, entry, act) {
  if (!instance) return loading("this Agent");
  if (entry?.error && !entry.board) return refused(entry.error, act, "The gateway could not be read");
  if (instance.blocked && !entry?.board && s.route.tab !== "worker") return null;
  return PANELS[s.route.tab][1](s, instance, act);
}

export function side(s, instance, act) {
  if (!s.ui.side && s.ui.sheet !== "side") return null;
  const entry = instance && s.boards[instance.id];
  const isStale = entry?.error && entry.board && s.now - entry.heardAt > STALE_MS;
  return h("aside", { class: "side", id: "side", key: "side", "aria-label": "Cases and activity",
    "data-open": s.ui.sheet === "side", inert: s.ui.sheet === "rail" },
  h("h2", { class: "sr" }, "Cases and activity"),
  grip(s, act),
  tabs(s, instance, entry, act),
  h("div", { class: "side-scroll", id: "panel", tabindex: -1, key: `${s.route.tab}/${s.route.case}` },
    isStale && stale(entry.heardAt, s.now),
    instance?.blocked && quiet(instance.blocked),
    panel(s, instance, entry, act)));
}
