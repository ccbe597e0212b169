/** The first steps of a new home: each is ticked by what is true, none by a press; put away, that is kept in the home. */

import { post } from "../api.js";
import { button } from "../components/parts.js";
import { marked } from "../components/states.js";
import { e, h } from "../lib/dom.js";
import { keep, kept } from "../store.js";
import { loadBench } from "../sync.js";

/** Whether a proof was opened in this browser. */
function hasSeen(s) {
  const seen = kept("proof", false) || Object.values(s.proofs).some(({ proof }) => proof);
  if (seen) keep("proof", true);
  return seen;
}

/** The list, while something in it is still to be done and all of it is known. */
export function steps(s, instance, act) {
  const board = s.boards[instance.id]?.board;
  if (!board || instance.mode !== "local_agent") return null;
  const list = [
    [hasSeen(s), "See a proof", "Press the button of the calculation below, then any Why. It takes no model."],
    [instance.model.ready, "Give it a model", h("a", { href: `#/agents/${encodeURIComponent(instance.id)}` }, "Set one up and test it"), ": the test shows what the service answered. One on this computer needs no key."],
    [Boolean(board.connection?.files?.read), "Give it a file", "Once it has a model, add one with the button below the message field and ask about it. This is done when the Worker has read it for the model."]];
  if (list.every(([done]) => done)) return null;
  const away = () => post("/api/settings/steps", { away: true }).then(loadBench, (error) => act.tell(error.message));
  return h("section", { key: "steps", class: "box quiet-box", "aria-label": "First steps" }, e("h3", "First steps"),
    e("ol.plain-list", list.map(([done, words, ...how]) => h("li", { key: words, class: "line" }, done ? marked("done", "done", "done") : marked("to do", "quiet", "open"), e("div.grow", h("strong", {}, words), !done && e("p.quiet", how))))),
    e("div.row", button("Put these away", away)));
}
