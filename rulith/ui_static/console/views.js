// Draws what it is given; fetches nothing. Text stays text: nothing here sets innerHTML.

/** h("button", {onclick}, "Stop") makes an element. */
export function h(tag, props = {}, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) el.setAttribute(name, value === true ? "" : value);
  }
  el.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return el;
}

/** A moment as "14:02 · 3 min ago", the full stamp on hover. `now` is the gateway's own clock. */
export function when(stamp, now) {
  const then = new Date(stamp);
  const minutes = Math.round((new Date(now) - then) / 60000);
  const far = Math.abs(minutes);
  const span = far < 1 ? "now" : far < 60 ? `${far} min` : far < 48 * 60 ? `${Math.round(far / 60)} h` : `${Math.round(far / 1440)} days`;
  const words = span === "now" ? span : minutes > 0 ? `${span} ago` : `in ${span}`;
  const clock = then.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return h("time", { datetime: stamp, title: stamp }, `${clock} · ${words}`);
}

export const nameOf = (rows, id) => (rows.find((row) => row.id === id) || { name: id }).name;

function values(argsText) {
  let found;
  try { found = Object.entries(JSON.parse(argsText)); } catch { found = [["arguments", argsText]]; }
  return h("dl", { class: "values" }, found.map(([name, value]) => [h("dt", {}, name), h("dd", {}, typeof value === "string" ? value : JSON.stringify(value))]));
}

const BY = {
  rule: (by) => `by rule “${by.label || by.id}”`,
  receipt: (by) => `read by ${by.tool} from Source ${by.source || "none"}`,
  agent: () => "claimed by the Agent",
  law: (by) => `by law (${by.what})`,
  action: (by) => `effect of ${by.action}`,
};

const leavesOf = (node) => (node.premises && node.premises.length ? node.premises.flatMap(leavesOf) : [node]);

/** The weakest premise is worth a mark only where premises differ. */
const differ = (nodes) => new Set(nodes.flatMap(leavesOf).map((leaf) => leaf.tier)).size > 1;

function premise(node, mark) {
  const weakest = mark && node.witness;
  const from = node.by && BY[node.by.kind] ? BY[node.by.kind](node.by) : "";
  return h("li", {},
    h("span", { class: weakest ? "mono weak" : "mono" }, node.text), " ",
    h("span", { class: "tier" }, `${node.tier}${from ? ", " + from : ""}${weakest ? " (weakest premise)" : ""}`),
    node.premises && node.premises.length ? h("ul", {}, node.premises.map((each) => premise(each, mark))) : null);
}

export function field(id, label, props, hint) {
  return h("div", {}, h("label", { for: id }, label), h(props.rows ? "textarea" : "input", { id, name: id, ...props }), hint ? h("p", { class: "hint" }, hint) : null);
}

/** Sign in, or choose the passphrase where none exists. `submit(route, body)`. */
export function signIn(passphraseSet, submit) {
  if (passphraseSet) {
    return h("form", { class: "sign", onsubmit: (event) => { event.preventDefault(); submit("sign-in", { passphrase: event.target.passphrase.value }); } },
      h("h2", {}, "Sign in"),
      h("p", {}, "Decisions and everything that sets this gateway up need your approval passphrase. A sign-in lasts 15 minutes."),
      field("passphrase", "Approval passphrase", { type: "password", autocomplete: "current-password", required: true, autofocus: true }),
      h("div", { class: "buttons" }, h("button", { class: "primary" }, "Sign in")));
  }
  return h("form", { class: "sign", onsubmit: (event) => { event.preventDefault(); submit("setup", { code: event.target.code.value, passphrase: event.target.passphrase.value }); } },
    h("h2", {}, "Choose an approval passphrase"),
    h("p", {}, "Nobody has chosen one on this gateway yet. It is asked for whenever a person must decide; only its hash is kept, and no Agent or Worker ever sees it."),
    field("code", "Setup code", { autocomplete: "one-time-code", required: true, autofocus: true, spellcheck: "false", class: "mono" },
      "Eight characters, shown by the page that rulith start opened, or on the terminal of rulith gateway."),
    field("passphrase", "New passphrase", { type: "password", autocomplete: "new-password", minlength: "8", required: true }, "At least 8 characters; several words are easier to keep than symbols."),
    h("div", { class: "buttons" }, h("button", { class: "primary" }, "Choose this passphrase")));
}

function decision(row, state, act) {
  const id = `reason-${row.id}`;
  const send = (verdict) => act("decide", { id: row.id, verdict, argumentDigest: row.argumentDigest, reason: document.getElementById(id).value },
    verdict === "approve" ? "Approved. The Action goes to its Worker." : "Rejected. Nothing was run.");
  return h("li", { class: "card" },
    h("h3", {}, row.kind[0].toUpperCase() + row.kind.slice(1)),
    h("p", {}, `${nameOf(state.agents, row.agentId)} asks to run `, h("code", {}, row.action), " with exactly these values:"),
    values(row.argsText),
    row.premises.length ? h("details", { open: true }, h("summary", {}, "Where these values come from"), h("ul", { class: "tree" }, row.premises.map((each) => premise(each, differ([each])))))
      : h("p", { class: "quiet" }, "The values rest on no fact of the Board."),
    h("p", {}, "If you reject it, nothing runs and the Agent is told why. Asked ", when(row.requestedAt, state.now), "; expires ", when(row.expiresAt, state.now), "."),
    row.people > 1 ? h("p", {}, `${row.by.length} of ${row.people} people have approved.`) : null,
    field(id, "Reason (needed to reject)", { rows: "2" }),
    h("div", { class: "buttons" },
      h("button", { type: "button", class: "primary", onclick: () => send("approve") }, "Approve these values"),
      h("button", { type: "button", onclick: () => send("reject") }, "Reject")));
}

const OUTCOMES = [["happened", "It happened"], ["did_not", "It did not happen"], ["cannot_tell", "It cannot be told"]];

function reconciliation(row, state, act) {
  const id = `looked-${row.agentId}-${row.ordinal}`;
  return h("li", { class: "card unknown" },
    h("h3", {}, h("span", { class: "is-unknown" }, "? "), row.label),
    h("p", {}, row.reason || "Whether this call took effect is not known."),
    h("p", {}, "Look at the target yourself, then say what you found. This records the Action's own effects only, never a Worker's facts, and cannot be taken back."),
    row.argsText ? values(row.argsText) : null,
    field(id, "What you saw", { rows: "2" }),
    h("div", { class: "buttons" }, OUTCOMES.map(([outcome, words]) => h("button", {
      type: "button", onclick: () => act("reconcile", { agentId: row.agentId, ordinal: row.ordinal, outcome, reason: document.getElementById(id).value }, "Recorded."),
    }, words))));
}

function connection(row, act) {
  const online = row.line.state === "online";
  const held = row.leaseLeftS > 0;
  return h("li", { class: "row" },
    h("div", { class: "grow" }, h("h3", {}, row.name), h("span", { class: "mono quiet" }, row.id)),
    h("span", { class: online ? "is-done" : "quiet" }, online ? "● a Worker is on the line" : "○ nobody is on the line"),
    h("button", { type: "button", disabled: held, title: held ? `possible in ${row.leaseLeftS} s, when the lease has lapsed` : null,
      onclick: () => { if (window.prompt(`Isolating ends the claim of a Worker that is gone; its running calls will need reconciling. Type the Connection's id to isolate it:\n${row.id}`) === row.id) act("isolate", { connectionId: row.id }, "Isolated."); } }, "Isolate"));
}

const SETTLED = { approved: "is-done", rejected: "is-bad", expired: "quiet", withdrawn: "quiet" };

/** The signed-in page: what needs the person first, then the lines, then what was decided. */
export function console_(state, act) {
  const pending = state.decisions.filter((row) => row.state === "pending");
  const settled = state.decisions.filter((row) => row.state !== "pending");
  return [
    h("section", { "aria-labelledby": "decisions" }, h("h2", { id: "decisions" }, "Decisions that wait for you"),
      pending.length ? h("ul", {}, pending.map((row) => decision(row, state, act))) : h("p", { class: "quiet" }, "None. An Action whose Capability asks for a person shows here before anything runs.")),
    h("section", { "aria-labelledby": "unknown" }, h("h2", { id: "unknown" }, "Calls whose effect is not known"),
      state.needsPerson.length ? h("ul", {}, state.needsPerson.map((row) => reconciliation(row, state, act))) : h("p", { class: "quiet" }, "None. A call whose Worker vanished while it ran shows here; it is never repeated by itself.")),
    h("section", { "aria-labelledby": "lines" }, h("h2", { id: "lines" }, "Connections"), h("ul", {}, state.connections.map((row) => connection(row, act)))),
    h("section", { "aria-labelledby": "past" }, h("h2", { id: "past" }, "Decided"),
      settled.length ? h("ul", {}, settled.map((row) => h("li", { class: "row" }, h("span", { class: "grow" }, row.kind, " ", h("code", {}, row.action)),
        h("span", { class: SETTLED[row.state] }, row.state), when(row.by.length ? row.by[row.by.length - 1].at : row.expiresAt, state.now))))
        : h("p", { class: "quiet" }, "Nothing has been decided yet.")),
  ];
}

/** A refusal: its code, its sentence and its next step. */
export const problem = (code, teaching) => h("div", { class: "problem", role: "alert" }, h("p", {}, teaching), h("p", { class: "mono quiet" }, code));
