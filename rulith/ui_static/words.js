/** Every state in words, and the mark and meaning that go with it. Nothing is told by colour alone. */

// state: [words, meaning, icon]; meanings are the colour tokens of theme.css
const OPERATION = {
  running: ["running", "running", "running"],
  waiting_for_decision: ["waiting for a person", "waiting", "waiting"],
  done: ["done", "done", "done"],
  failed: ["failed", "bad", "failed"],
  refused: ["refused", "bad", "refused"],
  unknown: ["outcome unknown", "unknown", "unknown"],
  needs_person: ["needs a person", "waiting", "person"],
  not_sent: ["not sent", "bad", "refused"],
  not_executed: ["not executed", "bad", "refused"],
  unobserved: ["observation unavailable", "unknown", "unknown"],
  shown_earlier: ["shown an earlier outcome first", "quiet", "note"],
};

const STAGE = { not_dispatched: "running · not yet at the Worker", at_worker: "running · at the Worker" };

export function operationState(op) {
  const [words, meaning, mark] = OPERATION[op.state] ?? [op.state ?? "state not told", "unknown", "unknown"];
  return { words: (op.state === "running" && STAGE[op.stage]) || words, meaning, mark };
}

// Of one call: what its answer said, and of what is settled the outcome.
const CARD = { running: "Still running", waiting_for_decision: "Waiting for a decision", done: "Accepted", refused: "Rejected" };

export function cardState(part) {
  const { words, ...look } = operationState(part);
  const isAction = part.label.startsWith("ApplyAction") && part.state === "done";
  const name = part.state === "running" && !part.stage ? "Waiting for result" : (!isAction && CARD[part.state]) || words;
  const lost = part.state === "unknown" && part.output?.includes('"errorCode"');
  const stage = part.state === "running" && part.stage ? words.replace("running", "") : "";
  return { ...look, words: lost ? "No answer (connection failed)" : `${name[0].toUpperCase()}${name.slice(1)}${stage}${part.withheld ? " · content withheld" : ""}` };
}

/** How many things of a Board wait for a person. */
export const waitingFor = (board) => (board?.decisions ?? []).filter((row) => row.state === "pending").length
  + (board?.operations ?? []).filter((op) => op.state === "needs_person").length;

/** An operation's label for reading: no minted ids, and an Action by its own name. The whole of it goes into the title. */
export const operationLabel = (label) => label.split(" ")
  .filter((part) => !/^(root|case)_[0-9a-f]{16,}/.test(part))
  .map((part, index) => (index === 0 ? part : short(part)))
  .join(" ");

const CASE = {
  running: ["running", "running", "running"],
  paused: ["on hold", "waiting", "waiting"],
};
const DISPOSITION = { completed: ["closed · completed", "done", "done"] };

/** The state of a Case; `operations` tell whether it waits for a person. */
export function caseState(row, operations = []) {
  const waits = operations.find((op) => op.caseIds?.includes(row.caseId) && (op.state === "waiting_for_decision" || op.state === "needs_person"));
  if (waits) return operationState(waits);
  if (row.status === "closed" || row.disposition) {
    const [words, meaning, mark] = DISPOSITION[row.disposition] ?? [`closed · ${row.disposition ?? "no disposition told"}`, "unknown", "refused"];
    return { words: words.replaceAll("_", " "), meaning, mark };
  }
  const [words, meaning, mark] = CASE[row.status] ?? [row.status, "unknown", "unknown"];
  return { words, meaning, mark };
}

const ROLE = {
  online: ["online", "done", "online"],
  starting: ["starting", "running", "running"],
  stopping: ["finishing its work", "running", "running"],
  restarting: ["stopped by itself, starting again", "waiting", "waiting"],
  needs_setup: ["needs setup", "bad", "refused"],
  failed: ["keeps stopping", "bad", "failed"],
  stopped: ["stopped", "quiet", "offline"],
  offline: ["offline", "quiet", "offline"],
  unreachable: ["does not answer", "bad", "failed"],
};

/** A Worker that runs is of use once it holds its Connection's line: one that was killed keeps it until its lease lapses. */
export function workerState(worker) {
  if (worker.state !== "online" || !worker.lineHeld) return roleState(worker.state);
  return { words: "waiting for its line", meaning: "waiting", mark: "waiting" };
}

export function roleState(name) {
  const [words, meaning, mark] = ROLE[name] ?? [name ?? "not known yet", "unknown", "unknown"];
  return { words, meaning, mark };
}

// What the Agent's exit status says about a run (design of the commands: one table for all).
const EXIT = {
  0: ["Completed: the Case is certified and closed.", "done", "done"],
  1: ["The run ended with an error.", "bad", "failed"],
  2: ["The Agent's settings were refused.", "bad", "refused"],
  3: ["The gateway did not accept the Agent's token.", "bad", "refused"],
  4: ["Another session took this Agent over.", "bad", "refused"],
  10: ["Nothing to do: this job's Case is closed already.", "done", "done"],
  11: ["Waiting for a person. The Case stays open until the decision is made.", "waiting", "waiting"],
  12: ["Stuck: the Case is still open.", "bad", "failed"],
  13: ["Refused. Nothing more was done.", "bad", "refused"],
  14: ["The gateway could not be reached.", "bad", "failed"],
  15: ["Another run of this Agent is under way.", "bad", "refused"],
  130: ["Stopped by you.", "unknown", "stop"],
  143: ["Stopped by you.", "unknown", "stop"],
};

export function runState(run) {
  if (!run.endedAt) return { words: run.stopping ? "Stopping" : "Running", meaning: "running", mark: "running" };
  const [words, meaning, mark] = EXIT[run.exit] ?? ["The run ended without saying how.", "unknown", "unknown"];
  return { words, meaning, mark };
}

const TALK = { online: ["ready", "done", "online"], stopping: ["finishing", "running", "running"] };

/** The Agent that is talked to. */
export function talkState(talk) {
  if (talk.state === "online" && talk.turns > 0) return { words: "answering", meaning: "running", mark: "running" };
  const [words, meaning, mark] = TALK[talk.state] ?? ROLE[talk.state] ?? [talk.state, "unknown", "unknown"];
  return { words, meaning, mark };
}

// How a turn of a conversation is or ended.
const TURN = {
  queued: ["waiting for its turn", "waiting", "waiting"],
  running: ["answering", "running", "running"],
  stopping: ["stopping; a call that is under way is let end", "running", "running"],
  conversation: ["answered", "done", "done"],
  completed: ["completed: the Case is certified and closed", "done", "done"],
  void: ["the Case was closed, and not as completed", "unknown", "refused"],
  stopped: ["stopped at its limit", "bad", "failed"],
  waiting: ["stopped at its limit, and a person has to act", "waiting", "waiting"],
  blocked: ["blocked", "bad", "refused"],
  "model-error": ["the model did not answer", "bad", "failed"],
  error: ["ended with an error", "bad", "failed"],
  "user-stopped": ["stopped by you", "unknown", "stop"],
  "not-started": ["taken back before it began", "unknown", "stop"],
  interrupted: ["interrupted; it is not run again", "unknown", "unknown"],
};

export function turnState(turn) {
  const [words, meaning, mark] = TURN[turn.state === "ended" ? turn.outcome : turn.state] ?? [turn.outcome || "ended", "unknown", "unknown"];
  return { words, meaning, mark };
}

/** `rulith.verified_calculation.total` is `total` to a reader; the full name goes into the title. */
export const short = (name) => String(name ?? "").split(".").pop();

let numbers;      // made when a number is first shown: it takes longer than the first view

/** One value of a fact, with its unit where the argument's name says it. */
export function valueText(name, value) {
  if (typeof value !== "number") return String(value);
  const text = (numbers ??= new Intl.NumberFormat("en", { maximumFractionDigits: 12 })).format(value);
  return name === "cents" || name.endsWith("_cents") ? `${text} cents` : text;
}

/** One argument with its name; a name that is or ends in its unit is not said twice. */
function argText(name, value) {
  const unit = typeof value === "number" && /(^|_)cents$/.test(name);
  const bare = unit ? name.replace(/_?cents$/, "") : name;
  return [bare, valueText(name, value)].filter(Boolean).join(" ");
}

export const argsText = (args) => Object.entries(args ?? {}).map(([name, value]) => argText(name, value)).join(" · ");

/** An order in a sentence: "unit price 1,299 cents · quantity 7". */
export const orderText = ({ job_id: _, ...numbers }) => argsText(numbers).replaceAll("_", " ");

export const keyText = (key, without = "no key") => Object.values(key ?? {}).map(String).join(" · ") || without;

const CASE_TYPES = { verified_calculation: "Verified calculation", approved_calculation: "Approved calculation", exploration: "Exploration" };
const caseTypeText = (type) => CASE_TYPES[type] ?? short(type).replaceAll("_", " ");
/** What kind of work a Case is, in its owner's words where the gateway knows them. */
export const caseTitle = (row) => row.title || caseTypeText(row.caseType);
/** A Case in one phrase: what kind of work, and of what, where it has a key. */
export const caseName = (row) => [caseTitle(row), keyText(row.businessKey, "")].filter(Boolean).join(" of ");

export const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

export const size = (bytes) => (bytes < 1024 ? plural(bytes, "byte") : bytes < 1048576 ? `${Math.round(bytes / 1024)} KiB` : `${(bytes / 1048576).toFixed(1)} MiB`);
