/** The council's screen: #/council/<list>/<id>/<what>/<id>, a list and one of its threads, or a page of its own. */

import { h } from "../lib/dom.js";
import { post } from "../api.js";
import { stale } from "../asks.js";
import { page, screenOf } from "../components/screen.js";
import { empty } from "../components/states.js";
import { ask } from "./data.js";
import { add, agent, kinds, layer as floating, project, room } from "./house.js";
import { LISTS, calibration, looks } from "./lists.js";
import { open } from "./open.js";
import { go, press, to } from "./parts.js";
import { rail as rooms, waiting as needed } from "./rail.js";
import { follow, thread } from "./thread.js";

const PAGES = { calibration, looks, add, kinds, agent, project, new: (s, act) => open(s, act, 0) };
const WHAT = { thread: (s, act, id, back) => thread(s, act, Number(s.route.at[3]), back), settings: room, new: open };

let run = "";                // which run of the council was read from

// No screen is drawn before its colours and places are here.
await new Promise((resolve) => {
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("council.css", import.meta.url).href, onload: resolve, onerror: resolve }));
});

export const rail = rooms;
export const layer = floating;
export const waiting = (s) => (s.bench?.council?.state === "online" ? needed() : 0);

/** After a draw; another run of the council may know more than what was read from the one before. */
export function drawn(s) {
  const { state, since } = s.bench?.council ?? {};
  if (run !== "" && state + since !== run) stale(() => true);
  run = state + since;
  follow();
}

function off(s, act, { state, detail }) {
  const start = () => post("/council/role", { operation: "start" }).catch((error) => act.tell(error.message));
  return page(s, act, "Council", empty(`The council is ${state.replaceAll("_", " ")}.`, detail), press("Start the council", start));
}

function body(s, act) {
  const [list = "needs", id = 0, what] = s.route.at, row = s.bench.council;
  if (["needs_setup", "failed", "restarting", "stopping"].includes(row.state) || (row.state === "stopped" && ask("list_projects").error)) return off(s, act, row);
  if (list !== "add" && ask("list_projects").value?.length === 0) return add(s, act);
  if (Object.hasOwn(PAGES, list)) return PAGES[list](s, act, Number(id));
  const back = to(list, id) + (s.route.query.query ? `?${new URLSearchParams(s.route.query)}` : "");
  return [(Object.hasOwn(LISTS, list) ? LISTS[list] : LISTS.needs)(s, act, Number(id)),
    Object.hasOwn(WHAT, what ?? "") ? WHAT[what](s, act, Number(id), back) : h("section", { class: "pane pane-detail none", key: "none" }, empty("No thread is open here.", "Choose one, or press n for a new one."))];
}

export const view = (s, act) => screenOf(s, "council", !Object.hasOwn(LISTS, s.route.at[0] ?? "needs") || s.route.at.length > 2, s.bench && body(s, act));

/** Esc goes up by one, and closes nothing that was written. */
export function up(s) {
  if (s.route.at.length < 3) return false;
  go(...s.route.at.slice(0, 2));
  return true;
}

/** n opens a new thread, in the room that is in view; x leaves the one that is open. */
export const keys = { n: (s) => go(...(s.route.at[0] === "room" ? ["room", s.route.at[1], "new"] : ["new"])), x: up };
