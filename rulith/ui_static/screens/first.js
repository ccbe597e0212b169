/** The first steps of a new home: each is ticked by what is true, none by a press; put away, that is kept in the home. */

import { at, get, post } from "../api.js";
import { asked } from "../asks.js";
import { button } from "../components/parts.js";
import { marked } from "../components/states.js";
import { e, h } from "../lib/dom.js";
import { loadBench } from "../sync.js";

const isDone = (row) => row.caseType.startsWith("verified_calculation") && row.disposition === "completed";

/** The list, while something in it is still to be done and all of it is known. */
export function steps(s, instance, act) {
  const cases = s.boards[instance.id]?.board?.cases, files = asked(`steps ${instance.id}`, () => get(at(instance.id, "materials")), { board: true }).value?.materials;
  if (!cases || !files || instance.mode !== "local_agent") return null;
  const added = Object.entries(s.says).some(([key, { files: now = [] }]) => key.startsWith(`${instance.id}/`) && now.length > 0);
  const list = [
    [cases.some(isDone), "See a proof", "Press the button of the calculation below, then any Why. It takes no model."],
    [instance.model.ready, "Give it a model", h("a", { href: `#/agents/${encodeURIComponent(instance.id)}` }, "Set one up and test it"), ": the test shows what the service answered. One on this computer needs no key."],
    [files.length > 0 || added, "Give it a file", "Once it has a model, with the button below the message field. It stays on this computer; the model is told its name, and reads it by an Action alone."]];
  if (list.every(([done]) => done)) return null;
  const away = () => post("/api/settings/steps", { away: true }).then(loadBench, (error) => act.tell(error.message));
  return h("section", { key: "steps", class: "box quiet-box", "aria-label": "First steps" }, e("h3", "First steps"),
    e("ol.plain-list", list.map(([done, words, ...how]) => h("li", { key: words, class: "line" }, done ? marked("done", "done", "done") : marked("to do", "quiet", "open"), e("div.grow", h("strong", {}, words), !done && e("p.quiet", how))))),
    e("div.row", button("Put these away", away)));
}
