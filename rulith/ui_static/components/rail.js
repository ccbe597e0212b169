/** The left rail: the Agents of this home, and what belongs to the computer rather than to one of them. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { screen } from "../screens.js";
import { talkState, waitingFor, workerState } from "../words.js";
import { button, iconButton, place } from "./parts.js";
import { empty, loading, mark } from "./states.js";

const THEMES = [["auto", "as the system"], ["light", "light"], ["dark", "dark"]];

/** What an Agent is doing, in one mark. */
function doing(row, board) {
  const waiting = waitingFor(board);
  if (!row.attached) return { words: "not attached", meaning: "waiting", mark: "waiting" };
  if (waiting > 0) return { words: waiting === 1 ? "1 thing needs you" : `${waiting} things need you`, meaning: "waiting", mark: "waiting" };
  if (row.agent.state === "running") return { words: "working", meaning: "running", mark: "running" };
  if (row.agent.talk.turns > 0) return talkState(row.agent.talk);
  const worker = workerState(row.worker);
  return { ...worker, words: `Worker ${worker.words}` };
}

const agent = (row, s, instance, act) => h("li", { key: row.id },
  h("a", { href: place(s, row, {}), class: "agent", "data-row": true, "data-agent": true,
    "aria-current": row.id === instance?.id && !s.route.screen ? "page" : false, onclick: () => act.sheet("") },
  h("span", { class: "agent-name" }, row.name),
  mark(doing(row, s.boards[row.id]?.board), "small")));

function list(s, instance, act) {
  const rows = s.bench?.instances;
  if (!rows) return loading("Agents", 2);
  if (rows.length === 0) {
    return empty("No Agent in this home yet.", s.bench.gateway.elsewhere ? h("a", { href: "#/account" }, "Set one of your account up") : "A new home gets one when the gateway writes its ledger.");
  }
  return h("ul", { class: "agents", "data-list": true }, rows.map((row) => agent(row, s, instance, act)));
}

/** The council's rooms; of a home that never used one, the way to begin. Its module comes with the first use. */
function council(s, act) {
  const row = s.bench?.council;
  if (!row) return null;
  const wanted = row.state !== "stopped" || s.route.screen === "council";
  return (wanted && screen("council")?.rail(s, act)) || h("h2", { class: "over" }, h("a", { href: "#/council", onclick: () => act.sheet("") }, "Council"));
}

export const rail = (s, instance, act) =>
  h("nav", { class: "rail", id: "rail", "aria-label": "Agents", "data-open": s.ui.sheet === "rail", inert: s.ui.sheet === "side" },
    h("header", { class: "rail-head" },
      h("strong", { class: "brand", "aria-hidden": "true" }, "Rulith"),
      iconButton("close", "Close the list of Agents", () => act.sheet(""), { kind: "bare only-narrow", "data-close": true })),
    h("h2", { class: "over" }, h("a", { href: "#/agents", onclick: () => act.sheet("") }, "Agents")),
    list(s, instance, act),
    council(s, act),
    h("footer", { class: "rail-foot" },
      h("p", { class: "quiet", title: s.bench?.home }, h("a", { href: "#/account", onclick: () => act.sheet("") }, s.bench?.gateway.state === "signed_out" ? "Not signed in" : s.bench?.gateway.elsewhere ? "This computer · signed in" : "This computer")),
      h("div", { class: "rail-tools" },
        button("Model settings", () => act.openModel(instance?.id), { mark: "gear", disabled: !instance }),
        h("a", { class: "plain", href: "#/settings", onclick: () => act.sheet("") }, icon("gear"), "Settings"),
        h("a", { class: "plain", href: "/console/", target: "_blank", rel: "noopener" }, icon("away"), "Console"),
        h("label", { class: "theme" }, h("span", {}, "Theme"),
          h("select", { value: s.ui.theme, onchange: (event) => act.theme(event.target.value) },
            THEMES.map(([value, words]) => h("option", { value, key: value }, words)))),
        h("button", { type: "button", class: "plain", onclick: () => act.dialog("keys") }, h("kbd", {}, "?"), "Keys"))));
