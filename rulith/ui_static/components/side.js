/** The right column: what needs a person, the Cases, the Board, the Worker. A sheet on a narrow page. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { link } from "../route.js";
import { waitingFor } from "../words.js";
import { board } from "./board.js";
import { cases } from "./cases.js";
import { now } from "./now.js";
import { loading, refused, stale } from "./states.js";
import { worker } from "./worker.js";

const PANELS = { now: ["Now", now], cases: ["Cases", cases], board: ["Board", board], worker: ["Worker", worker] };

export function side(s, instance, act) {
  if (!s.ui.side && s.ui.sheet !== "side") return null;
  const tab = s.route.tab;
  const entry = instance && s.boards[instance.id];
  const waiting = waitingFor(entry?.board);
  return h("aside", { class: "side", id: "side", "aria-label": "Cases and activity", "data-open": s.ui.sheet === "side", inert: s.ui.sheet === "rail", key: "side" },
    h("div", { class: "grip", role: "separator", tabindex: 0, "aria-orientation": "vertical", "aria-label": "Width of this column", "aria-valuenow": s.ui.sideWidth, "aria-valuemin": 300, "aria-valuemax": 760, onpointerdown: (event) => act.grip(event), onkeydown: (event) => act.gripKey(event) }),
    h("nav", { class: "tabs", "aria-label": "Side panel" },
      Object.entries(PANELS).map(([name, [words]]) => h("a", { key: name, href: link(s.route, { instance: instance?.id ?? "", tab: name, case: name === "board" ? s.route.case : "", fact: "" }), "aria-current": tab === name ? "page" : false },
        words, name === "now" && waiting > 0 && h("span", { class: "count", "aria-label": `${waiting} waiting` }, waiting))),
      h("button", { type: "button", class: "bare only-sheet", "data-close": true, onclick: () => act.sheet(""), "aria-label": "Close the side panel" }, icon("close"))),
    h("div", { class: "side-scroll", id: "panel", tabindex: -1, key: `${tab}/${s.route.case}` },
      entry?.error && entry.board && s.now - entry.heardAt > 2000 && stale(entry.heardAt, s.now),
      !instance ? loading("this Agent") : entry?.error && !entry.board ? refused(entry.error, act, "The gateway could not be read") : PANELS[tab][1](s, instance, act)));
}
