/** What the page knows of the council: each answer under what was asked, read again when the feed says that it moved. */

import { post } from "../api.js";
import { asked, stale } from "../asks.js";
import { form, put, submit } from "../components/forms.js";
import { change, keep, kept } from "../store.js";
import { listeners } from "../sync.js";

const STILL = ["list_tags", "list_profiles", "server_info", "list_project_files", "git_status", "file_preview"];   // no event moves these
const PRESENCE = ["list_connections", "awake_status"];
const HOUSE = ["list_projects", "list_agents"];      // no word in a thread moves these
let told = null;             // what waited for the person when it was last looked at

export const call = async (name, args) => (await post(`/council/api/${name}`, args)).result;

/** {value, error} of an act that only reads, as far as it is known. */
export const ask = (name, args = {}) => asked(name + JSON.stringify(args), async () => {
  const value = await call(name, args);
  if (name === "needs_you") announce(value);
  return value;
}, { name, args });

listeners.council = ({ events }) => {
  const threads = new Set(events.map((event) => event.thread_id)), house = events.some(({ kind }) => !/^(message|thread)\./.test(kind));
  stale(({ name, args }) => PRESENCE.includes(name)
    || (events.length > 0 && !STILL.includes(name) && (house || !HOUSE.includes(name)) && (name !== "get_thread" || threads.has(args.thread_id) || threads.has(null))));
};

/** Act for a form, and read again what it may have moved. The form is forgotten once it is done, but for words that were written meanwhile. */
export async function does(key, name, args) {
  const { body } = form(key), result = await submit(key, () => call(name, args));
  if (result) put(key, form(key).body === body ? null : { verdict: "", severity: "" });
  stale((entry) => !STILL.includes(entry.name) || entry.name === "list_profiles");
  return result;
}

/** An act that no form belongs to: where it is refused, that is said. */
export async function quick(act, name, args) {
  const key = `quick/${name}`, result = await does(key, name, args);
  if (!result) act.tell(form(key).refusal?.message ?? "That is under way already");
  return result;
}

export const notifies = () => globalThis.Notification?.permission === "granted" && kept("councilNotify", false);

/** Ask the browser, on a press. */
export async function notify(wish, act) {
  const may = wish && await globalThis.Notification?.requestPermission();
  if (wish && may !== "granted") act.tell("The browser does not allow notifications from this page");
  change(() => keep("councilNotify", may === "granted"));
  return notifies() === wish;
}

/** A notification for what began to wait while the person looks elsewhere; every tab names it alike, so it shows once. */
function announce(rows) {
  const now = new Map(rows.map((row) => [`${row.id} ${row.last_reply_at ?? row.created_at}`, row]));
  for (const [key, row] of now) {
    if (!told || told.has(key) || document.hasFocus() || !notifies()) continue;
    try {
      const shown = new Notification(`#${row.id} needs you`, { body: `${row.title}\n#${row.room_name}`, tag: `council ${key}` });
      shown.onclick = () => { focus(); location.hash = `#/council/needs/0/thread/${row.id}`; shown.close(); };
    } catch {
      // a browser that allows them and takes none from a page: the count still stands in the title
    }
  }
  told = now;
}

export const dialog = (about) => change((s) => { s.ui.council = about; });
