/** The left rail: the Agents of this home, and what belongs to the computer rather than to one of them. */

import { h } from "../lib/dom.js";
import { icon } from "../lib/icons.js";
import { link } from "../route.js";
import { waitingFor, workerState } from "../words.js";
import { empty, loading, mark } from "./states.js";

/** What an Agent is doing, in one mark. */
function doing(row, board) {
  const waiting = waitingFor(board);
  if (waiting > 0) return { words: waiting === 1 ? "1 thing needs you" : `${waiting} things need you`, meaning: "waiting", mark: "waiting" };
  if (row.agent.state === "running") return { words: "working", meaning: "running", mark: "running" };
  const worker = workerState(row.worker);
  return { ...worker, words: `Worker ${worker.words}` };
}

export function rail(s, instance, act) {
  const rows = s.bench?.instances;
  return h("nav", { class: "rail", id: "rail", "aria-label": "Agents", "data-open": s.ui.sheet === "rail", inert: s.ui.sheet === "side" },
    h("header", { class: "rail-head" },
      h("h1", {}, "Rulith"),
      h("button", { type: "button", class: "bare only-narrow", "data-close": true, onclick: () => act.sheet(""), "aria-label": "Close the list of Agents" }, icon("close"))),
    h("h2", { class: "over" }, "Agents"),
    !rows ? loading("Agents", 2)
      : rows.length === 0 ? empty("No Agent in this home yet.", "A new home gets one when the gateway writes its ledger.")
        : h("ul", { class: "agents", "data-list": true },
          rows.map((row) => h("li", { key: row.id },
            h("a", { href: link(s.route, { instance: row.id, case: "", fact: "" }), class: "agent", "data-row": true, "data-agent": true,
              "aria-current": row.id === instance?.id ? "page" : false, onclick: () => act.sheet("") },
            h("span", { class: "agent-name" }, row.name),
            mark(doing(row, s.boards[row.id]?.board), "small"))))),
    h("footer", { class: "rail-foot" },
      h("p", { class: "quiet", title: s.bench?.home }, "This computer · signed in"),
      h("div", { class: "rail-tools" },
        h("button", { type: "button", class: "plain", onclick: () => act.openModel(instance?.id), disabled: !instance }, icon("gear"), "Model settings"),
        h("a", { class: "plain", href: "/console/", target: "_blank", rel: "noopener" }, icon("away"), "Console"),
        h("label", { class: "theme" }, h("span", {}, "Theme"),
          h("select", { value: s.ui.theme, onchange: (event) => act.theme(event.target.value) },
            [["auto", "as the system"], ["light", "light"], ["dark", "dark"]].map(([value, words]) => h("option", { value, key: value }, words)))),
        h("button", { type: "button", class: "plain", onclick: () => act.dialog("keys") }, h("kbd", {}, "?"), "Keys"))));
}
