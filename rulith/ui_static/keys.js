/** The keyboard of the page. Keys never act while a person types, and Esc closes one layer at a time. */

import { screen } from "./screens.js";
import { change, state, watch } from "./store.js";

const PLACES = { n: "now", c: "cases", b: "board", w: "worker" };
const CHORD_MS = 4000;      // slow hands, and slow machines
let chord = 0;               // when `g` was pressed
let awaited = "";            // the tab whose panel takes the focus once it is drawn

const typing = (element) => element instanceof HTMLElement && element.matches("input:not([type=checkbox]), textarea, select");

/** Down or up in the list that has the focus; without one, into the first list of the panel. */
function step(by) {
  const first = (selector) => document.querySelector(selector);
  const list = document.activeElement?.closest("[data-list]") ?? first("#panel [data-list], .pane-list [data-list]") ?? first("[data-list]");
  const rows = [...(list?.querySelectorAll("[data-row]") ?? [])];
  const at = rows.indexOf(document.activeElement?.closest("[data-row]"));
  rows[at < 0 ? 0 : Math.min(rows.length - 1, Math.max(0, at + by))]?.focus();
}

/** The screen that is in view, once it is loaded. */
const here = () => state.route.screen && screen(state.route.screen);

function closeTopmost(act) {
  const open = document.querySelector("dialog[open]");
  if (open) return false; // its own cancel event closes it
  if (state.ui.sheet) act.sheet("");
  else if (here()?.up?.(state)) return true;
  else if (state.route.case) act.go({ case: "", fact: "" });
  else return false;
  return true;
}

function place(key, act) {
  if (key === "a") {
    if (matchMedia("(max-width: 599px)").matches) act.sheet("rail");
    requestAnimationFrame(() => document.querySelector("[data-agent]")?.focus());
    return true;
  }
  if (key === "t" || key === "s") {
    document.getElementById("main")?.focus();      // and the screen takes it over
    location.hash = key === "t" ? "#/council" : "#/settings";
    return true;
  }
  if (!PLACES[key]) return false;
  if (matchMedia("(max-width: 899px)").matches) act.sheet("side");
  else if (!state.ui.side) act.toggleSide();
  awaited = PLACES[key];
  act.go({ tab: awaited, case: "", fact: "" });
  change(() => {}); // the address may be there already: then nothing else draws
  return true;
}

/** After a draw: the panel a person went to by key gets the focus, unless another key came first. */
function arrive(s) {
  if (awaited === "" || s.route.tab !== awaited) return;
  const panel = document.getElementById("panel"), row = panel?.querySelector("[data-row]");
  (row ?? panel)?.focus();
  if (row || !panel?.querySelector(".skeleton")) awaited = "";      // what is still loading may bring a row
}

export function listen(act) {
  watch(arrive);
  document.addEventListener("pointerdown", () => { awaited = ""; });
  document.addEventListener("keydown", (event) => {
    awaited = "";
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "Escape") {
      if (typing(event.target) && !state.ui.sheet) event.target.blur();
      else if (closeTopmost(act)) event.preventDefault();
      return;
    }
    if (typing(event.target) || document.querySelector("dialog[open]")) return;
    const second = chord > 0 && performance.now() - chord < CHORD_MS;
    chord = 0;
    if (second && place(event.key, act)) event.preventDefault();
    else if (event.key === "g") chord = performance.now();
    else if (event.key === "/") {
      event.preventDefault();
      const message = document.getElementById("message");
      (message && !message.disabled ? message : document.querySelector("#field-job_id, .council .asking textarea"))?.focus();
    } else if (event.key === "?") act.dialog("keys");
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (Object.hasOwn(here()?.keys ?? {}, event.key)) here().keys[event.key](state);
  });
  document.querySelector("[data-skip]")?.addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("main")?.focus();
  });
}
