/** What a person can do in a conversation: write, add files, send, stop, archive, take with them. Part of `act`. */

import { at, get, post } from "./api.js";
import { NEW, sessionOf } from "./components/talk.js";
import { toEnd } from "./components/turnlist.js";
import { change, instanceOf, state } from "./store.js";
import { keepDraft, loadTalks, saying } from "./talks.js";

const FILE_BYTES_MAX = 8 * 2 ** 20;
const FILES_MAX = 8;

const filesOf = (id, session) => state.says[`${id}/${session}`]?.files ?? [];
const putFile = (id, session, key, changes) => saying(id, session, { files: filesOf(id, session).map((row) => (row.key === key ? { ...row, ...changes } : row)) });

const base64 = (file) => new Promise((resolve, reject) => {
  const reader = new FileReader();
  reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
  reader.onerror = () => reject(new Error("the browser could not read it"));
  reader.readAsDataURL(file);
});

async function addFile(id, session, key, file) {
  try {
    if (file.size > FILE_BYTES_MAX) throw new Error("it is over 8 MiB");
    if (filesOf(id, session).findIndex((row) => row.key === key) >= FILES_MAX) throw new Error(`${FILES_MAX} files go with one message at most`);
    const { material } = await post(at(id, "materials"), { name: file.name, mediaType: file.type || "application/octet-stream", bytes: await base64(file) });
    putFile(id, session, key, { id: material.id, error: "", file: null });
  } catch (error) {
    putFile(id, session, key, { error: error.message });
  }
}

/** What a business key says: JSON, or a line of name=value each; a value that is a number or truth value is one. */
function businessKey(text) {
  if (text.trim().startsWith("{")) return JSON.parse(text);
  return Object.fromEntries(text.split("\n").filter((line) => line.trim()).map((line) => {
    const cut = line.indexOf("=");
    const value = line.slice(cut + 1).trim();
    return [line.slice(0, Math.max(0, cut)).trim(), /^(-?\d{1,15}|true|false)$/.test(value) ? JSON.parse(value) : value];
  }));
}

function targetOf({ caseId = "", caseType = "", businessKey: key = "" } = {}) {
  if (caseId !== "new") return caseId ? { caseId } : {};
  try {
    return { ...(caseType.trim() ? { caseType: caseType.trim() } : {}), ...(key.trim() ? { businessKey: businessKey(key) } : {}) };
  } catch {
    throw new Error("The business key is not JSON.");
  }
}

export const talkActs = {
  toEnd,

  /** The message as it is now; another text is another request. */
  say: (id, session, text) => saying(id, session, { text, requestId: "", refusal: null, wished: false }),

  target: (id, session, changes) => saying(id, session, { requestId: "", refusal: null, target: { ...state.says[`${id}/${session}`]?.target, ...changes } }),

  talkRefused(id, refusal) {
    const instance = instanceOf(state);
    if (instance?.id === id) saying(id, sessionOf(state, instance), { refusal });
  },

  /** Keep files for this Agent on this computer; they go with the message that is sent next. */
  addFiles: (id, session, files) => Promise.all(files.map((file) => {
    const key = crypto.randomUUID();
    saying(id, session, { requestId: "", files: [...filesOf(id, session), { key, name: file.name, file }] });
    return addFile(id, session, key, file);
  })),

  addAgain(id, session, { key, file }) {
    putFile(id, session, key, { error: "" });
    return addFile(id, session, key, file);
  },

  dropFile: (id, session, key) => saying(id, session, { requestId: "", files: filesOf(id, session).filter((row) => row.key !== key) }),

  newTalk(id) {
    this.go({ instance: id, talk: NEW, turn: "" });
    document.getElementById("message")?.focus();
  },

  /** Send what is written; a retry of the same message is the same request. `service`: the model that may read earlier turns. */
  async send(id, session, service = "", anew = false) {
    const { text = "", requestId, busy, files = [], target, early } = state.says[`${id}/${session}`] ?? {};
    if (busy || early || (text.trim() === "" && files.length === 0) || files.some((row) => !row.id)) return;       // a key may come before the page is drawn
    const request = anew || !requestId ? crypto.randomUUID() : requestId;
    saying(id, session, { requestId: request, busy: true, refusal: null });
    try {
      const body = { requestId: request, text, ...targetOf(target), ...(session === NEW ? {} : { sessionKey: session }), ...(service ? { historyModelDestination: service } : {}),
        ...(files.length > 0 ? { attachments: files.map((row) => row.id) } : {}) };
      await keepDraft(id, session);          // so that after a cut the same request is sent again, not another one
      const receipt = await post(at(id, "task"), body);
      const same = state.says[`${id}/${session}`].requestId === request;
      saying(id, session, { busy: false, ...(same ? { text: "", requestId: "", files: [], target: {} } : {}) });
      const instance = instanceOf(state);
      if (instance?.id === id && sessionOf(state, instance) === session) {
        if (session === NEW) this.go({ instance: id, talk: receipt.sessionKey, turn: "" });
        toEnd();
      }
    } catch (refusal) {
      saying(id, session, { busy: false, refusal });
    }
  },

  /** The words and files of a turn that was cut short, as another request. What is being written stays. */
  async sendAgain(id, turn) {
    const session = turn.sessionKey;
    try {
      const { materials = [] } = turn.attachments ? await get(at(id, "materials")) : {};
      const attachments = (turn.attachments ?? []).map((file) => materials.find((each) => each.digest === file.digest && each.name === file.name)?.id);
      if (attachments.includes(undefined)) throw new Error("A file of that message is not kept here any more. Add it to a new one.");
      await post(at(id, "task"), { requestId: crypto.randomUUID(), sessionKey: session, text: turn.text, ...(attachments.length > 0 ? { attachments } : {}) });
      toEnd();
    } catch (refusal) {
      saying(id, session, { refusal });
    }
  },

  async stopTurn(id, turn) {
    try {
      await post(at(id, "turn/stop"), { sessionKey: turn.sessionKey, id: turn.id });
    } catch (refusal) {
      saying(id, turn.sessionKey, { refusal });
    }
  },

  async archive(id, sessionKey, archived) {
    try {
      const { state: now } = await post(at(id, "conversation/archive"), { sessionKey, archived });
      this.tell(now === "pending" ? "It is archived after the turn under way" : archived ? "Archived" : "Restored");
      if (archived && state.route.screen === "") this.go({ instance: id, talk: "", turn: "" });
    } catch (error) {
      this.tell(error.message);
    }
    loadTalks(id);
  },

  /** What of the conversation this page has loaded, as a file. It is never all there is: calls are not kept for good. */
  saveTalk(instance, session) {
    const { turns, total } = state.talks[instance.id].by[session];
    const rows = [...turns].sort(([a], [b]) => a - b).map(([number, { heard, ...turn }]) => ({ number, ...turn }));
    this.saveFile(`conversation-${session}.json`, JSON.stringify({ format: "rulith-conversation-view/1", partial: true, loaded: rows.length, total,
      agent: instance.name, sessionKey: session, savedAt: new Date().toISOString(), turns: rows }, null, 2), "application/json");
  },

  /** Where decisions and unknown outcomes are answered: the side's first tab. */
  openNow() {
    change((s) => { s.ui.side = true; if (matchMedia("(max-width: 899px)").matches) s.ui.sheet = "side"; });
    this.go({ tab: "now", case: "", fact: "" });
  },
};
