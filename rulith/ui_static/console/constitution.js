// The Constitution in force, and a file that would replace it. Draws what it is given; fetches nothing.
import { h, when } from "./views.js";

const FILE_BYTES_MAX = 512 * 1024;
const short = (digest) => digest.replace("sha256:", "").slice(0, 12);

/** `lines` draws the lines of a difference. */
export function constitution(admin, state, work, set, act, lines) {
  const now = admin.constitution;
  return [
    h("section", { "aria-labelledby": "in-force" }, h("h2", { id: "in-force" }, "In force"),
      now ? inForce(now, state) : h("p", { class: "quiet" }, "No Constitution is in force: Actions are bound by their Capabilities alone. A Constitution forbids Actions, or has people decide them first, for every Agent of this gateway.")),
    h("section", { "aria-labelledby": "amend" }, h("h2", { id: "amend" }, now ? "Replace it" : "Put one in force"),
      h("p", {}, "Choose a Constitution file. It is checked, its examples are run, and you see what it changes before it is in force."),
      h("form", { onsubmit: (event) => { event.preventDefault(); choose(event.target.elements["constitution-file"].files[0], set, act); } },
        h("div", {}, h("label", { for: "constitution-file" }, "Constitution file (JSON)"), h("input", { id: "constitution-file", type: "file", accept: ".json,application/json", required: true })),
        h("div", { class: "buttons" }, h("button", {}, "Check this file"))),
      work.law ? checked(work.law, set, act, lines) : null),
  ];
}

function inForce(now, state) {
  return h("div", { class: "item" },
    h("h3", {}, now.title),
    h("p", { class: "mono quiet" }, `${now.version} · ${short(now.digest)}`),
    now.summary ? h("p", {}, now.summary) : null,
    h("p", { class: "quiet" }, `Put in force by ${now.by}, `, when(now.at, state.now)),
    now.rules.length ? h("ul", { class: "inner" }, now.rules.map((rule) => h("li", {}, h("details", { id: `law-${rule.id}` },
      h("summary", {}, h("code", {}, rule.id), " ", rule.label), h("ol", { class: "diff" }, rule.lines.map((text) => h("li", {}, text)))))))
      : h("p", { class: "quiet" }, "It has no rules, so it forbids nothing."));
}

async function choose(file, set, act) {
  if (file.size > FILE_BYTES_MAX) {
    set({ law: { name: file.name, problems: [{ line: 1, place: "the file", problem: `it has ${file.size} bytes, more than ${FILE_BYTES_MAX}` }] } });
    return;
  }
  const text = await file.text();
  const answer = await act("constitution-check", { text });
  if (answer) set({ law: { name: file.name, text, ...answer.result } });
}

function checked(law, set, act, lines) {
  const drop = h("button", { type: "button", onclick: () => set({ law: null }) }, "Put it away");
  if (law.problems.length) {
    return h("div", { class: "problem", role: "alert" },
      h("h3", {}, `${law.name} has ${law.problems.length} ${law.problems.length === 1 ? "error" : "errors"}`),
      h("ul", { class: "inner" }, law.problems.map((row) => h("li", {}, h("span", { class: "mono" }, `line ${row.line} · ${row.place}`), h("br"), row.problem))),
      h("p", {}, "Correct the file and check it again; nothing was changed."), h("div", { class: "buttons" }, drop));
  }
  const { constitution: found, installed: before, changes } = law;
  const same = before && before.digest === found.digest;
  return h("section", { class: "card", "aria-labelledby": "law-changes" },
    h("h3", { id: "law-changes" }, `${found.title} · ${before ? `${before.version} → ` : ""}${found.version}`),
    h("p", { class: "mono quiet" }, short(found.digest)),
    h("p", {}, same ? "This very Constitution is in force already." : before ? `${changes.length} ${changes.length === 1 ? "item changes" : "items change"}.` : "None is in force yet; all of it is new."),
    changes.map((row) => h("details", { open: row.part !== "example" }, h("summary", {}, `${row.part} `, row.name ? h("code", {}, row.name) : null, ` ${row.change}`), lines(row.lines))),
    h("div", { class: "buttons" },
      same ? null : h("button", { type: "button", class: "primary", onclick: async () => {
        const done = await act("constitution-install", { text: law.text, digest: found.digest, replaces: before ? before.digest : "" }, `Constitution ${found.version} is in force; calls that wait are judged by it too.`);
        if (done) set({ law: null });
      } }, `Put ${found.version} in force`), drop));
}
