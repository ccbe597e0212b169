/** The page: draws the store, follows the address, starts the rest. */

import { act } from "./actions.js";
import { settle } from "./asks.js";
import { banner } from "./components/banner.js";
import { conversation } from "./components/conversation.js";
import { dialogs } from "./components/dialogs.js";
import { proof } from "./components/proof.js";
import { rail } from "./components/rail.js";
import { side } from "./components/side.js";
import { loading } from "./components/states.js";
import { listen } from "./keys.js";
import { h, patch } from "./lib/dom.js";
import { look } from "./notices.js";
import { read } from "./route.js";
import { screen, screens } from "./screens.js";
import { change, instanceOf, state, watch } from "./store.js";
import { begin, loadWork, need } from "./sync.js";
import { waitingFor } from "./words.js";

const SLOW_TICK_MS = 10_000;
const FIRST_WAIT_MS = 200;
let sheet = "";              // the sheet that was drawn last, and what had the focus before it
let sheetOpener = null;
let left = "";               // the place that was left last

/** Instead of the workbench: why this page may not show it. */
const closed = (s) => h("main", { class: "bare-page", id: "main", tabindex: -1 },
  h("h1", {}, "This page is locked"),
  h("p", {}, s.lock?.happened ?? "The workbench does not know this page."),
  h("p", {}, "Start it with ", h("code", {}, "rulith start"), ", or, while it runs, open the address it printed in its terminal: ",
    "the one that ends in ", h("code", {}, "/?k=…"), "."));

/** A screen of its own beside the rail. */
const screenOf = (s) => screen(s.route.screen)?.view(s, act) ?? h("main", { key: "coming", class: "talk-scroll", id: "main", tabindex: -1 }, loading("this screen"));

function layout(s, instance) {
  if (s.phase === "locked") return closed(s);
  const named = s.route.screen;
  return h("div", { class: "columns", "data-side": !named && s.ui.side, "data-screen": named || false, "data-sheet": s.ui.sheet },
    h("header", { class: "sr" }, h("h1", {}, "Rulith")),
    banner(s),
    rail(s, instance, act),
    named ? screenOf(s) : [conversation(s, instance, act), side(s, instance, act)],
    s.ui.sheet && h("button", { class: "veil", type: "button", tabindex: -1, "aria-label": "Close the sheet", onclick: () => act.sheet("") }),
    s.ui.said && h("p", { class: "toast", "aria-hidden": "true" }, s.ui.said));
}

/** A sheet takes the focus when it opens and gives it back when it closes; what lies behind it is inert. */
function sheetFocus(s, before) {
  if (s.ui.sheet === sheet) return;
  const opened = sheet === "";
  sheet = s.ui.sheet;
  if (sheet !== "") {
    if (opened) sheetOpener = before;
    document.querySelector(`#${sheet} [data-close]`)?.focus();
  } else if (sheetOpener?.isConnected && (document.activeElement === document.body || !document.activeElement?.checkVisibility())) {
    sheetOpener.focus();
  }
}

const find = (selector) => [...document.querySelectorAll(selector)];

/** What had the focus is gone: whoever goes on by keyboard goes on at the row of what was left, where it was, or in what is shown instead. */
function keepFocus(home) {
  if (document.activeElement !== document.body && document.activeElement.checkVisibility()) return;
  const row = find("[data-row]").filter((each) => each.hash && each.hash === left && !each.closest(".rail"));
  [...row, home, ...find(home.id ? `#${home.id}` : ".pane-scroll"), ...find("#main")].find((each) => each.checkVisibility() && !each.closest("[inert]"))?.focus();
}

function draw(s) {
  const before = document.activeElement;
  const home = before?.closest(".pane-scroll, #panel, #main");
  const instance = instanceOf(s);
  need();
  const waiting = (instance ? waitingFor(s.boards[instance.id]?.board) : 0) + screens().reduce((sum, each) => sum + (each.waiting?.(s) ?? 0), 0);
  document.title = [waiting > 0 ? `(${waiting})` : "", instance ? `${instance.name} · Rulith` : "Rulith"].filter(Boolean).join(" ");
  if (s.ui.theme === "auto") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset.theme = s.ui.theme;
  document.documentElement.toggleAttribute("data-still", s.ui.still);
  document.documentElement.style.setProperty("--side", `${s.ui.sideWidth}px`);
  for (const each of screens()) each.before?.(s);
  patch(document.getElementById("page"), layout(s, instance));
  patch(document.getElementById("layer"), [proof(s, instance, act), dialogs(s, instance, act), screens().map((each) => each.layer?.(s, act))]);
  sheetFocus(s, before);
  act.restoreFocus();
  if (home) keepFocus(home);
  settle();
  for (const each of screens()) each.drawn?.(s);
  look(s);
}

function follow(s) {
  const place = read(location.hash);
  const opens = place.case !== "" && place.case !== s.route.case;
  s.route = place;
  if (opens && matchMedia("(max-width: 899px)").matches) s.ui.sheet = "side";
  if (place.screen && s.ui.sheet === "side") s.ui.sheet = "";      // the side does not belong to a screen
}

/** Files may have changed while the person was in another window. */
function refresh() {
  const instance = instanceOf(state);
  if (state.phase === "ready" && instance) loadWork(instance.id);
}

/** Clocks move every second while something runs, else now and then. */
function tick() {
  const s = state;
  const running = Object.values(s.boards).some(({ board }) => board?.operations.some((op) => op.state === "running"))
    || s.bench?.instances.some((row) => row.agent.state === "running" || row.agent.talk.turns > 0 || row.worker.state === "restarting")
    || (s.bench && s.bench.gateway.state !== "online") || !s.feed.live;
  if (running || Date.now() - s.now > SLOW_TICK_MS) change(() => {});
}

// The key or ticket has done its work in this first request; it does not stay in the address.
if (location.search) history.replaceState(null, "", location.pathname + location.hash);
watch(draw);
listen(act);
addEventListener("hashchange", ({ oldURL }) => { left = new URL(oldURL).hash; change(follow); });
addEventListener("focus", refresh);
// A sheet exists on a narrow page only: a wider one shows both columns again.
for (const [narrow, gone] of [["(max-width: 899px)", "side"], ["(max-width: 599px)", "rail"]]) {
  matchMedia(narrow).addEventListener("change", ({ matches }) => { if (!matches && state.ui.sheet === gone) act.sheet(""); });
}
setInterval(tick, 1000);
follow(state);
begin();
// The first answer is drawn at once; without one, what is waited for.
setTimeout(() => { if (state.phase === "opening") change(() => {}); }, FIRST_WAIT_MS);
