/** Who stands behind a fact, in a few words; the whole of its proof is drawn by screens/proof.js, once one is asked for. */

import { screen } from "../screens.js";
import { short } from "../words.js";

/** Who or what stands behind a node, in a few words. */
export function ground(by) {
  if (!by) return "no ground told";
  if (by.kind === "rule") return `${by.law === false ? "the Agent's rule" : "rule"} ${by.label ?? by.id}`;
  if (by.kind === "receipt") return `reported by ${by.tool}${by.source ? ` from the Source ${by.source}` : ""}, operation ${by.ordinal}`;
  if (by.kind === "agent") return "asserted by the Agent";
  if (by.kind === "person") return `a person${by.name ? `, ${by.name}` : ""}`;
  if (by.kind === "action") return `effect of ${short(by.action)}${by.ordinal ? `, operation ${by.ordinal}` : ""}`;
  if (by.kind === "law") return `the Board's own law${by.what ? `: ${by.what}` : ""}`;
  return by.kind;
}

export const proof = (s, instance, act) => (s.route.fact && instance && screen("proof")?.proof(s, instance, act)) || null;
