// The first page, and the parts that every page uses. Draws what it is given; fetches nothing. Text stays text: nothing here sets innerHTML.
import { grounds } from "./proof.js";
import { unsettled } from "./unknown.js";

/** What is drawn where no answer came. */
export const SILENT = { ok: false, errorCode: "unreachable", teaching: "The gateway does not answer. Nothing is known to have been recorded; look again when it does." };

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
  const near = then.toDateString() === new Date(now).toDateString();
  const clock = then.toLocaleString([], { ...(near ? {} : { day: "numeric", month: "short" }), hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  return h("time", { datetime: stamp, title: stamp }, `${clock} · ${words}`);
}

export const nameOf = (rows, id) => (rows.find((row) => row.id === id) || { name: id }).name;

/** What is asked for, as people say it: kinds have the names that rules gave them. */
const kindText = (kind) => kind.replaceAll("two_people", "two people");

/** `units` may name the unit of a value. */
export function values(argsText, units = {}) {
  let found;
  try { found = Object.entries(JSON.parse(argsText)); } catch { found = [["arguments", argsText]]; }
  return h("dl", { class: "values" }, found.map(([name, value]) => [h("dt", {}, name), h("dd", {}, typeof value === "string" ? value : JSON.stringify(value), Object.hasOwn(units, name) ? h("span", { class: "quiet" }, ` ${units[name]}`) : null)]));
}

export function field(id, label, props, hint) {
  return h("div", {}, h("label", { for: id }, label), h(props.rows ? "textarea" : "input", { id, name: id, ...props }), hint ? h("p", { class: "hint" }, hint) : null);
}

/** What `children` change is for a role and every stronger one; for others it stands there and cannot be used. */
export const ROLES = ["viewer", "operator", "owner"];
export const may = (state, needs) => ROLES.indexOf(state.person.role) >= ROLES.indexOf(needs);
export const only = (state, needs, ...children) => (may(state, needs) || !children.flat(Infinity).some(Boolean) ? children
  : h("fieldset", { class: "locked", disabled: true }, h("p", { class: "quiet" }, `For ${needs === "owner" ? "owners" : "operators and owners"}; you are ${state.person.role} here.`), children));

function approvals(row, state) {
  if (row.people < 2) return null;
  const said = row.approved;
  const more = row.people - said.length;
  return [h("p", {}, `${row.people} different people must approve. ${said.length ? `${said.join(", ")} ${said.length === 1 ? "has" : "have"}; ` : ""}${more} more ${more === 1 ? "is" : "are"} needed. One rejection ends it.`),
    state.ableToDecide < row.people ? h("p", { class: "is-waiting" }, `◐ Only ${state.ableToDecide} ${state.ableToDecide === 1 ? "person" : "people"} here can decide. An owner invites another under People.`) : null];
}

export function decision(row, state, act) {
  const id = `reason-${row.id}`;
  const mine = row.by.some((each) => each.by === state.person.name);
  const send = (verdict) => act("decide", { id: row.id, verdict, argumentDigest: row.argumentDigest, reason: document.getElementById(id).value },
    verdict === "reject" ? "Rejected. Nothing was run." : row.people > row.approved.length + 1 ? "Approved. Another person has to as well." : "Approved. The Action goes to its Worker.");
  return h("li", { class: "card" },
    h("h3", {}, kindText(row.kind)[0].toUpperCase() + kindText(row.kind).slice(1)),
    h("p", {}, `${nameOf(state.agents, row.agentId)} asks to run `, h("code", {}, row.action), " with exactly these values:"),
    values(row.argsText, row.units),
    row.premises.length ? h("details", { id: `from-${row.id}`, open: true }, h("summary", {}, "Where these values come from"), grounds(row.premises))
      : h("p", { class: "quiet" }, "The values rest on no fact of the Board."),
    h("p", {}, "If you reject it, nothing runs and the Agent is told why. Asked ", when(row.requestedAt, state.now), "; expires ", when(row.expiresAt, state.now), "."),
    approvals(row, state),
    (row.reviews || []).map((each) => h("p", {}, h("strong", {}, `A reviewer says ${each.verdict.replaceAll("_", " ")}`),
      [": ", each.reason, each.citedClause ? ` (${each.citedClause})` : ""].join(""), h("span", { class: "quiet" }, " It decides nothing."))),
    h("p", { class: "quiet" }, "Your answer holds for exactly these values, ", h("code", {}, row.argumentDigest), "."),
    only(state, "operator", field(id, "Reason (needed to reject)", { rows: "2", maxlength: "500" }),
      h("div", { class: "buttons" },
        mine ? h("p", { class: "is-done" }, "● You approved it; the next approval is another person's.") : h("button", { type: "button", class: "primary", onclick: () => send("approve") }, "Approve these values"),
        h("button", { type: "button", onclick: () => send("reject") }, "Reject"))));
}

function connection(row, state, act) {
  const online = row.line.state === "online";
  const held = row.leaseLeftS > 0;
  return h("li", { class: "row" },
    h("div", { class: "grow" }, h("h3", {}, row.name), h("span", { class: "mono quiet" }, row.id)),
    h("span", { class: online ? "is-done" : "quiet" }, online ? "● Worker online" : "○ no Worker online"),
    h("button", { type: "button", disabled: held || !may(state, "operator"), title: held ? `possible in ${row.leaseLeftS} s, when the lease has lapsed` : null,
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
      state.needsPerson.length ? h("ul", {}, state.needsPerson.map((row) => unsettled(row, state))) : h("p", { class: "quiet" }, "None. A call whose Worker vanished while it ran shows here; it is never repeated by itself.")),
    h("section", { "aria-labelledby": "lines" }, h("h2", { id: "lines" }, "Connections"), h("ul", {}, state.connections.map((row) => connection(row, state, act)))),
    h("section", { "aria-labelledby": "past" }, h("h2", { id: "past" }, "Decided"),
      settled.length ? h("ul", {}, settled.map((row) => h("li", { class: "row" }, h("span", { class: "grow" }, kindText(row.kind), " ", h("code", {}, row.action), row.by.length ? h("p", { class: "quiet" }, row.by.map((each) => `${each.by}: ${each.verdict}${each.reason ? `, ${each.reason}` : ""}`).join("; ")) : null),
        h("span", { class: SETTLED[row.state] }, row.state), when(row.by.length ? row.by[row.by.length - 1].at : row.expiresAt, state.now))))
        : h("p", { class: "quiet" }, "Nothing has been decided yet."),
      settled.length ? h("p", { class: "quiet" }, "The newest fifty at most; ", h("a", { href: "#ledger/gateway?text=decide" }, "all of them are in the ledger"), ".") : null),
  ];
}

/** A refusal: its code, its sentence and its next step. */
export const problem = (code, teaching) => h("div", { class: "problem", role: "alert" }, h("p", {}, teaching), h("p", { class: "mono quiet" }, code));
