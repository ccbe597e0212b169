/**
 * Decisions and unknown effects answered where they stand: the Console's own view from the Console's own address, with
 * the sign-in that the person made there. The workbench adds no credential, and without a sign-in it leads there.
 */

import { h } from "../lib/dom.js";
import { change, state } from "../store.js";
import { waitingFor } from "../words.js";

const VIEW = "/console/embed.js";       // the gateway's own, as old or new as it is
let seen = 0;                           // the picture of the Board that the Console was last asked after

// Nothing is drawn before its places are here.
await new Promise((resolve) => {
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL("answer.css", import.meta.url).href, onload: resolve, onerror: resolve }));
});
const view = state.bench?.gateway.elsewhere ? null : await import(VIEW).catch(() => null);       // a gateway elsewhere, or of an older release, has none here: then its Console is led to
view?.begin((signedIn) => { if (signedIn !== state.ui.signedIn) change((s) => { s.ui.signedIn = signedIn; }); });

const host = (key, asked) => h("li", { class: "box needs answer", key, "data-answer": key, "data-row": true, tabindex: -1, foreign: true, hook: (element) => view.show(element, asked) });

export const decision = (row) => host(`here ${row.id}`, { id: row.id });
export const unknown = (op) => host(`here op${op.ordinal}`, { agent: op.agentId, ordinal: op.ordinal });

/** After a draw: whatever moved the Board may have moved what waits in the Console. */
export function drawn(s) {
  const waiting = Object.values(s.boards).filter(({ board }) => waitingFor(board) > 0);
  const newest = Math.max(0, ...waiting.map((entry) => entry.heardAt ?? 0));
  if (newest === seen || newest === 0) return;
  seen = newest;
  view?.look();
}
