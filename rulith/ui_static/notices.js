/** Notifications while the person looks elsewhere: a decision or an effect that is not known. Off until asked for; the council announces its own threads. */

import { change, instanceOf, keep, kept } from "./store.js";

const WISH = "notify", COUNCIL = "councilNotify";     // kept in this browser
const seen = new Set(), looked = new Set();           // what waited at some look, and whose Board was looked at

export const isOn = () => globalThis.Notification?.permission === "granted" && kept(WISH, false);

/** Ask the browser, on a press; whether it is as wished. */
export async function wish(on, act) {
  const may = on && await globalThis.Notification?.requestPermission();
  if (on && may !== "granted") act.tell("The browser does not allow notifications from this page");
  change(() => { for (const name of [WISH, COUNCIL]) keep(name, may === "granted"); });
  return isOn() === on;
}

const waiting = (board) => [...board.decisions.filter((each) => each.state === "pending").map((each) => [each.id, "A decision waits for you"]),
  ...board.operations.filter((each) => each.state === "needs_person").map((each) => [`op${each.ordinal}`, "Say whether a call happened"])];

function tell(row, tag, words) {
  try {
    const shown = new Notification(words, { body: row.name, tag });
    shown.onclick = () => { focus(); location.hash = `#/${encodeURIComponent(row.id)}/now`; shown.close(); };
  } catch {
    // a browser that allows them and takes none from a page: the count still stands in the title
  }
}

/** After a draw. What waited when the page was opened is no news. Every tab names a notification alike, so it shows once. */
export function look(s) {
  for (const row of s.bench?.instances ?? []) {
    const board = s.boards[row.id]?.board;
    if (!board) continue;
    const isOpening = !looked.has(row.id) && row === instanceOf(s);
    looked.add(row.id);
    for (const [name, words] of waiting(board)) {
      const tag = `rulith ${row.id} ${name}`;
      if (seen.has(tag)) continue;
      seen.add(tag);
      if (!isOpening && !document.hasFocus() && isOn()) tell(row, tag, words);
    }
  }
}
