// Lists that come by pages: Cases, holds, receipts, and the rows of the ledger. Draws what it is given; fetches nothing.
import { addressOf, holdsOf, keyText, mark, stateOf } from "./cases.js";
import { field, h, nameOf, only, when } from "./views.js";

export const PAGE_ROWS = 50;

/** An address with its questions, those that ask nothing left out. */
const addressed = (place, given) => {
  const query = new URLSearchParams(Object.entries(given).filter(([, value]) => value));
  const asks = query.toString();
  return `#${place}${asks ? `?${asks}` : ""}`;
};

/** What the address asks of a list of Cases. */
export const listRead = (show, query) => `cases?${new URLSearchParams({ show, limit: PAGE_ROWS, ...Object.fromEntries(["text", "before"].filter((name) => query.get(name)).map((name) => [name, query.get(name)])) })}`;

const pages = (place, query, next, older) => h("p", { class: "filter pages" },
  query.get("before") ? h("a", { href: addressed(place, { text: query.get("text"), kind: query.get("kind") }), id: "newest" }, "Newest") : null,
  next ? h("a", { href: addressed(place, { text: query.get("text"), kind: query.get("kind"), before: String(next) }), id: "older" }, older) : null);

const search = (place, query, label, more = null) => h("form", { class: "search", role: "search", onsubmit: (event) => {
  event.preventDefault();
  window.location.hash = addressed(place, { text: event.target.elements.find.value.trim(), kind: event.target.elements.kind ? event.target.elements.kind.value : "" });
} }, field("find", label, { value: query.get("text") || "", type: "search", autocomplete: "off" }), more, h("button", {}, "Find"));

const EMPTY = { live: "No Case is live. An Agent opens one; here it is held or ended.", closed: "No Case has closed yet.", held: "No Case is on hold. A held Case begins nothing new; hold one on its own page under Cases." };

function none(found) {
  return h("p", { class: "quiet" }, found.text ? `No such Case has “${found.text}” in its key, type, id or Agent.` : EMPTY[found.show]);
}

// --- Cases ---------------------------------------------------------------------------------

export function caseList(show, query, state) {
  const found = state.caseList;
  if (!found || found.show !== show || found.text !== (query.get("text") || "")) return h("p", { class: "quiet", role: "status" }, "Loading the Cases…");
  const place = show === "live" ? "cases" : `cases/${show}`;
  const filter = (each, words) => h("a", { href: each === "live" ? "#cases" : `#cases/${each}`, "aria-current": each === show ? "page" : null }, `${words} ${found.counts[each].toLocaleString("en")}`);
  const whole = found.text ? "" : ` of ${found.counts[show].toLocaleString("en")}`;
  return h("section", { "aria-labelledby": "cases" },
    h("h2", { id: "cases" }, "Cases"),
    h("div", { class: "filter", role: "group", "aria-label": "Which Cases" }, filter("live", "Live"), filter("closed", "Closed")),
    search(place, query, "Find by key, type, id or Agent"),
    found.rows.length ? h("ul", {}, found.rows.map((row) => listed(row, state))) : none(found),
    found.next || query.get("before") ? h("p", { class: "quiet" }, `Showing ${found.rows.length}${whole}, newest first${query.get("before") ? ", from an older one on" : ""}.`) : null,
    pages(place, query, found.next, "Older Cases"));
}

const listed = (row, state) => h("li", {}, h("a", { class: "row", href: addressOf(row), id: `case-${row.caseId}` },
  h("span", { class: "grow" }, h("strong", {}, keyText(row)), " ", h("span", { class: "quiet" }, `${row.title || row.caseType} · ${nameOf(state.agents, row.agentId)}`)),
  mark(stateOf(row)), when(row.closedAt || row.openedAt, state.now)));

export function holds(query, state, act) {
  const found = state.caseList;
  if (!found || found.show !== "held") return h("p", { class: "quiet", role: "status" }, "Loading the holds…");
  return h("section", { "aria-labelledby": "holds" }, h("h2", { id: "holds" }, "Cases on hold"),
    found.rows.length ? h("ul", {}, found.rows.map((row) => h("li", { class: "item" }, h("p", {}, h("a", { href: addressOf(row) }, keyText(row)), h("span", { class: "quiet" }, ` ${row.title || row.caseType} · ${nameOf(state.agents, row.agentId)} · opened `), when(row.openedAt, state.now)),
      only(state, "operator", holdsOf(row, state, act))))) : none(found),
    pages("holds", query, found.next, "Older Cases"));
}

// --- receipts ------------------------------------------------------------------------------

export function receipts(query, state, work, set, ask) {
  const found = state.caseList;
  if (!found || found.show !== "closed") return h("p", { class: "quiet", role: "status" }, "Loading the receipts…");
  return h("section", { "aria-labelledby": "receipts" }, h("h2", { id: "receipts" }, "Terminal Receipts"),
    h("p", { class: "intro" }, "Every closed Case has one: its rows, rules, facts, decisions and proofs in one signed file that anyone checks with rulith verify, without this gateway."),
    search("receipts", query, "Find by key, type, id or Agent"),
    found.rows.length ? h("ul", {}, found.rows.map((row) => receipt(row, state, work, set, ask))) : found.text ? none(found) : h("p", { class: "quiet" }, "None yet. The first one is written when a Case closes."),
    pages("receipts", query, found.next, "Older receipts"));
}

function receipt(row, state, work, set, ask) {
  const file = new URLSearchParams({ agent: row.agentId, case: row.caseId });
  const verdict = (work.verdicts || {})[row.caseId];
  const check = async () => { const answer = await ask(`receipt-check?${file}`); if (answer) set({ verdicts: { ...work.verdicts, [row.caseId]: answer.check } }); };
  return h("li", { class: "item" },
    h("p", {}, h("a", { href: addressOf(row) }, keyText(row)), h("span", { class: "quiet" }, ` ${row.title || row.caseType} · ${nameOf(state.agents, row.agentId)} · `), mark(stateOf(row)), " · ", when(row.closedAt, state.now), row.closedBy ? h("span", { class: "quiet" }, ` by ${row.closedBy}`) : null),
    row.receipt ? h("div", { class: "buttons" }, h("a", { class: "button", href: `api/receipt?${file}`, download: `receipt-${row.caseId}.json`, "aria-label": `Save the receipt of ${keyText(row)}` }, "Save"),
      h("button", { type: "button", "aria-label": `Verify the receipt of ${keyText(row)}`, onclick: check }, "Verify")) : h("p", { class: "quiet" }, "This Case closed without one."),
    verdict ? h("div", { role: "status" }, verdict.sound ? h("p", { class: "is-done" }, `● It holds together: ${Object.entries(verdict.checked).map(([what, count]) => `${count} ${what}`).join(", ")}.`)
      : [h("p", { class: "is-bad" }, "✕ It does not hold together."), h("ul", { class: "inner" }, verdict.problems.map((each) => h("li", {}, h("code", {}, each.place), ` ${each.text}`)))],
      h("p", { class: "mono quiet" }, `signed by key ${verdict.key || "none"}`)) : null);
}

// --- the ledger ----------------------------------------------------------------------------

const KINDS = ["", "registry", "board", "operation", "receipt", "audit", "probe"];

export const ledgerRead = (chain, query) => `ledger?${new URLSearchParams({ limit: PAGE_ROWS, ...(chain ? { chain } : {}), ...Object.fromEntries(["text", "kind", "before"].filter((name) => query.get(name)).map((name) => [name, query.get(name)])) })}`;

export function ledger(chain, query, state, work, set, ask) {
  const found = state.ledger;
  if (state.problem) return h("div", { class: "problem", role: "alert" }, h("p", {}, state.problem.teaching), h("p", { class: "mono quiet" }, state.problem.errorCode));
  if (!found || (chain && found.chain !== chain)) return h("p", { class: "quiet", role: "status" }, "Loading the ledger…");
  const place = `ledger/${encodeURIComponent(found.chain)}`;
  const kinds = h("div", {}, h("label", { for: "kind" }, "Kind"), h("select", { id: "kind", name: "kind" }, KINDS.map((kind) => h("option", { value: kind, selected: kind === (query.get("kind") || "") }, kind || "every kind"))));
  return h("section", { "aria-labelledby": "ledger" }, h("h2", { id: "ledger" }, "Ledger"),
    h("p", { class: "intro" }, "Everything that changed anything, in rows that are only ever added. Each row's hash covers the one before it, one chain for the gateway and one for each Agent."),
    checkAll(work, set, ask, state),
    h("div", { class: "filter", role: "group", "aria-label": "Which chain" }, found.chains.map((each) => h("a", { href: `#ledger/${encodeURIComponent(each.name)}`, "aria-current": each.name === found.chain ? "page" : null }, `${each.words} ${each.rows.toLocaleString("en")}`))),
    search(place, query, "Find in the rows, or by hash", kinds),
    found.rows.length ? h("ol", { class: "ledger" }, found.rows.map((row) => ledgerRow(row, state, found.chain))) : h("p", { class: "quiet" }, "No row here fits."),
    h("p", { class: "quiet" }, `Showing ${found.rows.length} of ${found.total.toLocaleString("en")} rows, newest first${query.get("text") || query.get("kind") ? found.next ? `; searched down to row ${found.next.toLocaleString("en")}` : "; searched to the first row" : ""}.`),
    pages(place, query, found.next, "Older rows"));
}

const ledgerRow = (row, state, chain) => h("li", {}, h("details", { id: `row-${chain}-${row.seq}` },
  h("summary", {}, h("span", { class: "mono seq" }, String(row.seq)), h("span", { class: "grow" }, h("strong", {}, row.what || row.kind), h("span", { class: "quiet" }, ` ${row.kind}${row.by ? ` · ${row.by}` : ""}`)), when(row.at, state.now), h("code", { class: "quiet", title: row.hash }, row.hash.slice(0, 12))),
  h("dl", { class: "values" }, h("dt", {}, "hash"), h("dd", {}, row.hash), h("dt", {}, "follows"), h("dd", {}, row.prev || "nothing; it is the first"), h("dt", {}, "at"), h("dd", {}, row.at)),
  h("pre", { class: "mono", tabindex: "0" }, row.body, row.cut ? "\n… the rest is in the ledger file" : "")));

function checkAll(work, set, ask, state) {
  const run = async () => {
    set({ hashes: "running" });
    const answer = await ask("ledger-check");
    set({ hashes: answer ? { ...answer.check, at: answer.now } : null });
  };
  const done = work.hashes && work.hashes !== "running" ? work.hashes : null;
  const rows = done ? Object.values(done.chains).reduce((sum, each) => sum + each, 0) : 0;
  return [h("div", { class: "buttons" }, h("button", { type: "button", onclick: run, disabled: work.hashes === "running" }, work.hashes === "running" ? "Computing every hash…" : "Verify every hash now")),
    done ? h("div", { role: "status" }, done.problems.length ? [h("p", { class: "is-bad" }, "✕ The ledger does not hold together."), h("ul", { class: "inner" }, done.problems.map((text) => h("li", {}, text)))]
      : h("p", { class: "is-done" }, `● Every hash of ${rows.toLocaleString("en")} rows in ${Object.keys(done.chains).length} chains is as it must be, `, when(done.at, state.now))) : null];
}
