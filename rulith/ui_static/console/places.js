// The address names the place: which section, what is below it, and what has to be read to draw it. Draws nothing; fetches nothing.
import { SECTIONS } from "./admin.js";
import { ledgerRead, listRead } from "./lists.js";
import { ordersRead } from "./orders.js";

const decoded = (part) => { try { return decodeURIComponent(part); } catch { return part; } };

/** What the address names: a section, what is below it, and what it asks. */
export function place() {
  const [path, query = ""] = window.location.hash.slice(1).split("?");
  const [named, ...parts] = path.split("/").filter(Boolean).map(decoded);
  const known = SECTIONS.find((row) => row.id === named) || SECTIONS[0];
  return { id: known.id, needs: known.needs, parts, query: new URLSearchParams(query), isInvited: named === "invitation" };
}

export const oneCase = ({ parts }) => (parts.length === 2 ? { agent: parts[0], id: parts[1] } : null);
export const shownCases = ({ parts }) => (parts[0] === "closed" ? "closed" : "live");

/** The read that a section is drawn from, or none where the state has it all. */
export function readOf(at) {
  if (at.id === "cases") return oneCase(at) ? `case?${new URLSearchParams({ agent: at.parts[0], case: at.parts[1] })}` : listRead(shownCases(at), at.query);
  if (at.id === "unknown") return at.parts.length === 2 ? `unknown?${new URLSearchParams({ agent: at.parts[0], ordinal: at.parts[1] })}` : "";
  if (at.id === "orders") return ordersRead(at.query);
  if (at.id === "holds") return listRead("held", at.query);
  if (at.id === "receipts") return listRead("closed", at.query);
  if (at.id === "ledger") return ledgerRead(at.parts[0], at.query);
  if (at.id === "sources" && at.query.get("flow")) return `source-flow?${new URLSearchParams({ name: at.query.get("flow") })}`;
  return { decisions: "", people: "people", access: "access" }[at.id] ?? "admin";
}
