/** What a person can do. Components call these; nothing else changes the store or asks the workbench to act. */

import { at, get, post } from "./api.js";
import { FIELDS, caseTypeOf, differs, fieldsOf } from "./components/calculation.js";
import { write } from "./route.js";
import { SIDE_WIDTH, change, instanceOf, keep, state } from "./store.js";
import { loadBench, loadWork } from "./sync.js";
import { short } from "./words.js";

let opener = null;           // what had the focus before a dialog opened

const sideWidth = (width) => Math.round(Math.min(SIDE_WIDTH.max, Math.max(SIDE_WIDTH.min, width)));
function setUi(changes) {
  if (Object.keys(changes).some((name) => state.ui[name] !== changes[name])) change((s) => { Object.assign(s.ui, changes); });
}

function go(changes) {
  location.hash = write({ ...state.route, instance: instanceOf(state)?.id ?? "", ...changes });
}

/** Close a dialog the element's own way first, so the focus goes back where it came from. */
function closeDialog() {
  document.querySelector("dialog[open]")?.close();
}

/** Say one line to whoever listens rather than looks. */
function say(words) {
  document.getElementById("said").textContent = words;
  setUi({ said: words });
  setTimeout(() => { if (state.ui.said === words) setUi({ said: "" }); }, 2500);
}

/** A whole number as the API takes it; anything else goes as text and is refused there, by name. */
function wholeNumber(text) {
  const trimmed = text.trim();
  return /^\d{1,16}$/.test(trimmed) && Number.isSafeInteger(Number(trimmed)) ? Number(trimmed) : trimmed;
}

function saveFile(name, text, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  say(`Saved ${name}`);
}

const working = (id, changes) => change((s) => { s.work[id] = { ...s.work[id], ...changes }; });

async function start(id, job, caseType, jobId) {
  working(id, { busy: true, refusal: null, isAwaited: true });
  try {
    await job();
    await post(at(id, "demo"), { caseType, jobId });
    dropDraft(id);
  } catch (refusal) {
    working(id, { refusal, isAwaited: false });
    const named = refusal.facts?.field && document.getElementById(`field-${refusal.facts.field}`);
    if (named) named.focus();
    if (refusal.code === "input_changed") loadWork(id);
  } finally {
    working(id, { busy: false });
  }
  loadWork(id);
  loadBench();
}

function dropDraft(id) {
  change((s) => { delete s.drafts[id]; });
  keep("drafts", state.drafts);
}

export const act = {
  go,
  tell: say,
  saveFile,
  sheet: (name) => setUi({ sheet: name }),
  dialog: (name) => { if (name === "") closeDialog(); setUi({ dialog: name }); },
  filter: (text) => setUi({ filter: text }),
  tier: (tier) => setUi({ tier }),
  find: (text) => setUi({ find: text, more: { ...state.ui.more, cases: undefined } }),
  more: (list, count) => setUi({ more: { ...state.ui.more, [list]: count } }),
  fold: (key, folded) => setUi({ folded: { ...state.ui.folded, [key]: folded } }),

  theme(value) {
    setUi({ theme: value });
    keep("theme", value);
  },

  toggleSide() {
    if (matchMedia("(max-width: 899px)").matches) setUi({ sheet: state.ui.sheet === "side" ? "" : "side" });
    else {
      setUi({ side: !state.ui.side });
      keep("side", state.ui.side);
    }
  },

  /** Show a dialog element once it is in the page; Esc and the backdrop close it by `close`. */
  show(element, close) {
    opener = document.activeElement;
    queueMicrotask(() => element.isConnected && !element.open && element.showModal());
    element.addEventListener("cancel", (event) => { event.preventDefault(); close(); });
    element.addEventListener("pointerdown", (event) => { if (event.target === element) close(); });
  },

  /** After a dialog left the page some other way, give the focus back, or to the page where what opened it is gone. */
  restoreFocus() {
    if (opener && !document.querySelector("dialog") && document.activeElement === document.body) (opener.checkVisibility() ? opener : document.getElementById("main"))?.focus();
    if (!document.querySelector("dialog")) opener = null;
  },

  closeFact() {
    closeDialog();
    go({ fact: "" });
  },

  /** Move the one tab stop of a tree, and the focus with it. */
  atNode(key, path, element) {
    setUi({ at: { ...state.ui.at, [key]: path } });
    element.focus();
  },

  async copy(text, said) {
    try {
      await navigator.clipboard.writeText(text);
      say(said);
    } catch {
      say("The browser did not allow copying");
    }
  },

  saveProof(node) {
    const text = JSON.stringify({ format: "rulith-proof-node/1", proof: node }, null, 2);
    saveFile(`proof-${short(node.predicate)}.json`, text, "application/json");
  },

  async saveReceipt(id, caseId) {
    try {
      const receipt = await get(at(id, "receipt", { case: caseId }));
      saveFile(`receipt-${caseId}.json`, JSON.stringify(receipt, null, 2), "application/json");
      change((s) => { s.receipts[`${id}/${caseId}`] = { error: null }; });
    } catch (error) {
      change((s) => { s.receipts[`${id}/${caseId}`] = { error }; });
    }
  },

  draft(id, name, text) {
    change((s) => {
      s.drafts[id] = { ...s.drafts[id], [name]: text };
      if (s.work[id]?.refusal) s.work[id].refusal = null;
      if (!differs(s.work[id], fieldsOf(s.work[id], s.drafts[id]))) delete s.drafts[id];
    });
    keep("drafts", state.drafts);
  },

  dropDraft,

  approve(id, asked) {
    change((s) => { s.approve[id] = asked; });
    keep("approve", state.approve);
  },

  /** Write the numbers if they differ from the file's, then have the Agent do the job. */
  runCalculation(id) {
    const work = state.work[id];
    const fields = fieldsOf(work, state.drafts[id]);
    const values = Object.fromEntries(FIELDS.map(({ name, kind }) => [name, kind === "whole" ? wholeNumber(fields[name]) : fields[name].trim()]));
    const write = async () => {
      if (differs(work, fields)) await post(at(id, "demo/input"), { values, replaces: work.input.digest ?? null });
    };
    return start(id, write, caseTypeOf(state.approve[id]), null);
  },

  /** Go on with a Case whose decision was made, or whose run ended before it could close. */
  resume: (id, caseType, jobId) => start(id, async () => {}, caseType, jobId),

  /** A run is drawn for the first time: the one that was started here comes into view. */
  runShown(id, element) {
    if (!state.work[id].isAwaited) return;
    state.work[id].isAwaited = false;
    queueMicrotask(() => element.scrollIntoView({ block: "nearest" }));
  },

  async stopRun(id) {
    try {
      await post(at(id, "demo/stop"), {});
    } catch (refusal) {
      working(id, { refusal });
    }
  },

  async agent(id, operation) {
    try {
      await post(at(id, "agent"), { operation });
      act.talkRefused?.(id, null);
    } catch (refusal) {
      act.talkRefused?.(id, Object.assign(refusal, { title: `The Agent was not ${operation === "start" ? "started" : "stopped"}` }));
    }
    loadBench();
  },

  async worker(id, operation) {
    try {
      await post(at(id, "worker"), { operation });
    } catch (error) {
      say(error.message);
    }
    loadBench();
  },

  openModel: () => setUi({ dialog: "model" }),

  grip(event) {
    const grip = event.currentTarget;
    grip.setPointerCapture(event.pointerId);
    const move = (now) => setUi({ sideWidth: sideWidth(innerWidth - now.clientX) });
    grip.addEventListener("pointermove", move);
    grip.addEventListener("lostpointercapture", () => {
      grip.removeEventListener("pointermove", move);
      keep("sideWidth", state.ui.sideWidth);
    }, { once: true });
  },

  gripKey(event) {
    const by = { ArrowLeft: 20, ArrowRight: -20 }[event.key];
    if (!by) return;
    event.preventDefault();
    setUi({ sideWidth: sideWidth(state.ui.sideWidth + by) });
    keep("sideWidth", state.ui.sideWidth);
  },
};
