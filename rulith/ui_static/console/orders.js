// What people asked Sources about running Cases, and a form to ask. Draws what it is given; fetches nothing.
import { h, may, only, when } from "./views.js";

const MARK = {
  open: ["quiet", "○ not taken yet"], claimed: ["is-waiting", "◐ at a Worker"], satisfied: ["is-done", "● it is so"], not_satisfied: ["is-bad", "✕ it is not so"],
  answered: ["is-done", "● answered"], error: ["is-bad", "✕ no answer that counts"], withdrawn: ["quiet", "– withdrawn"],
};
const NUMBER = /^-?(0|[1-9]\d{0,15})(\.\d+)?$/;
const of = (id) => document.getElementById(id);
const short = (name) => String(name).split(".").pop();

/** A value as it is meant: a number or truth value where it is written exactly like one. */
const scalar = (text) => (text === "true" || text === "false" ? text === "true" : NUMBER.test(text) && String(Number(text)) === text ? Number(text) : text);

const given = (args) => Object.entries(args).map(([name, value]) => `${name}=${value}`).join(", ");

/** The answer of the read, by Agent; the address names the Agent. */
export const ordersRead = (query) => `orders?${new URLSearchParams({ agent: query.get("agent") || "" })}`;

export function orders(query, state, work, set, act) {
  const found = state.asking;
  if (state.problem) return h("div", { class: "problem", role: "alert" }, h("p", {}, state.problem.teaching), h("p", { class: "mono quiet" }, state.problem.errorCode));
  if (!found || (query.get("agent") && found.agentId !== query.get("agent"))) return h("p", { class: "quiet", role: "status" }, "Loading the orders…");
  const rows = state.orders;
  return [
    h("section", { "aria-labelledby": "orders" }, h("h2", { id: "orders" }, "Orders"),
      h("p", { class: "intro" }, "You ask a Source about a running Case, without any model: whether one fact is so, or what the Source holds. A Worker reads, and what it says becomes facts by the same rules as its receipts."),
      state.agents.length > 1 ? h("div", { class: "filter", role: "group", "aria-label": "Which Agent" }, state.agents.map((each) => h("a", { href: `#orders?${new URLSearchParams({ agent: each.id })}`, "aria-current": each.id === found.agentId ? "page" : null }, each.name))) : null,
      rows.length ? h("ul", {}, rows.map((row) => order(row, found, state, act))) : h("p", { class: "quiet" }, "None yet.")),
    h("section", { class: "stack", "aria-labelledby": "ask" }, h("h2", { id: "ask" }, "Ask a Source"),
      found.cases.length === 0 ? h("p", { class: "quiet" }, "Orders are about running Cases, and none runs.")
        : found.ways.length === 0 ? h("p", { class: "quiet" }, "No locked read Tool returns facts from a bound Source. ", h("a", { href: "#tools" }, "Lock one under Tools"), ", whose Manifest entry says what it handles.")
          : only(state, "operator", form(found, work, set, act))),
  ];
}

function order(row, found, state, act) {
  const [mood, words] = MARK[row.state] || ["quiet", row.state];
  const about = found.cases.find((each) => each.caseId === row.caseId), id = `withdraw-${row.id}`;
  return h("li", { class: "item" },
    h("p", {}, row.claim ? [h("strong", {}, "Is it so? "), h("code", { title: row.claim.predicate }, `${short(row.claim.predicate)}(${given(row.claim.args)})`)] : [h("strong", {}, "What is there of "), h("code", {}, row.material), h("strong", {}, "?")]),
    h("p", {}, h("span", { class: mood }, words), row.reason ? `: ${row.reason}` : ""),
    h("p", { class: "quiet" }, "Case ", h("a", { href: `#cases/${encodeURIComponent(found.agentId)}/${encodeURIComponent(row.caseId)}` }, about ? about.key : row.caseId), ` · Source ${row.source} · `, h("code", {}, row.tool), ` · asked by ${row.by}, `, when(row.at, state.now)),
    ["open", "claimed"].includes(row.state) && may(state, "operator") ? h("details", { id: `more-${row.id}` }, h("summary", {}, "Withdraw it"),
      h("div", {}, h("label", { for: id }, "Why it is withdrawn"), h("textarea", { id, rows: "2", maxlength: "500" })),
      h("div", { class: "buttons" }, h("button", { type: "button", onclick: () => act("order-withdraw", { agentId: found.agentId, orderId: row.id, reason: of(id).value }, "Withdrawn. An answer that still comes lands nothing.") }, "Withdraw this order"))) : null);
}

const choice = (id, label, rows, chosen, onchange) => h("div", {}, h("label", { for: id }, label),
  h("select", { id, onchange }, rows.map(([value, words]) => h("option", { value, selected: value === chosen }, words))));

/** Which Case, which Source by which Tool, and what is asked of it. */
function form(found, work, set, act) {
  const ways = found.ways.map((row, index) => [String(index), `${row.source}: ${short(row.toolId)}`]);
  const way = found.ways[Number(work.orderWay || 0)] || found.ways[0], kind = work.orderKind || "verification";
  const claims = way.returns.filter((row) => row.may), row = claims[Number(work.orderFact || 0)] || claims[0];
  const ask = async (event) => {
    event.preventDefault();
    const about = { agentId: found.agentId, caseId: of("order-case").value, source: way.source, toolId: way.toolId };
    const done = kind === "verification"
      ? await act("order-verification", { ...about, claim: JSON.stringify({ predicate: row.predicate, args: Object.fromEntries(row.args.map((name) => [name, scalar(of(`order-arg-${name}`).value.trim())])) }) }, "Asked. The answer shows here when its Worker has looked.")
      : await act("order-evidence", { ...about, material: of("order-material").value }, "Asked. The answer shows here when its Worker has looked.");
    if (done) set({}, ["order-material", ...(row ? row.args.map((name) => `order-arg-${name}`) : [])], true);
  };
  return h("form", { onsubmit: ask },
    choice("order-case", "About the Case", found.cases.map((each) => [each.caseId, `${each.key} · ${each.title}`]), null, null),
    choice("order-way", "Source and Tool", ways, work.orderWay, (event) => set({ orderWay: event.target.value, orderFact: "0" })),
    choice("order-kind", "What is asked", [["verification", "Whether one fact is so"], ["evidence", "What the Source holds"]], kind, (event) => set({ orderKind: event.target.value })),
    kind === "evidence" ? h("div", {}, h("label", { for: "order-material" }, "Kind of material"), h("input", { id: "order-material", required: true, maxlength: "200", autocomplete: "off" }), h("p", { class: "hint" }, "A name that the Tool's Manifest entry handles, for example orders."))
      : row ? [claims.length > 1 ? choice("order-fact", "Which fact", claims.map((each, index) => [String(index), short(each.predicate)]), work.orderFact, (event) => set({ orderFact: event.target.value })) : null,
        h("fieldset", {}, h("legend", {}, "The fact: ", h("code", { title: row.predicate }, short(row.predicate))),
          row.args.map((name) => h("div", {}, h("label", { for: `order-arg-${name}` }, name), h("input", { id: `order-arg-${name}`, class: "mono", required: true, autocomplete: "off", spellcheck: "false" }))))]
        : h("p", { class: "quiet" }, "This Source may attest nothing that this Tool returns, so no single fact can be asked of it."),
    h("div", { class: "buttons" }, h("button", { class: "primary", disabled: kind === "verification" && !row }, "Ask this Source")));
}
