/**
 * Screens that are not the first view: each is one module, loaded when something of it is first wanted.
 *
 * A module exports view(s, act), which stands where the conversation and the side stand, and may export
 * rail(s, act) (its part of the rail), layer(s, act) (what floats), before(s) and drawn(s) (called around each draw), waiting(s) (how
 * much needs the person), up(s) (what Esc leaves) and keys. components/screen.js is its frame, asks.js reads for it.
 * Its address is #/<name>/…; route.js gives it the parts as `at` and the query as `query`.
 */

import { change } from "./store.js";

const LOAD = {
  council: () => import("./council/council.js"),
  agents: () => import("./screens/agents.js"),
  settings: () => import("./screens/settings.js"),
  account: () => import("./screens/account.js"),
  tools: () => import("./screens/tools.js"),
  authoring: () => import("./screens/authoring.js"),
  moments: () => import("./screens/moments.js"),
  talks: () => import("./screens/talks.js"),
};
/** Parts of the first view that are loaded when they are first wanted; no address leads to them. */
const PARTS = {
  answer: () => import("./screens/answer.js"),
  model: () => import("./screens/model.js"),
  board: () => import("./screens/board.js"),
  case: () => import("./screens/case.js"),
  first: () => import("./screens/first.js"),
  proof: () => import("./screens/proof.js"),
  talk: () => import("./screens/talk.js"),
};
const loaded = {};           // name → module, or null while it is on its way

export const isScreen = (name) => Object.hasOwn(LOAD, name);

/** The module of a screen or part, or null while it is being loaded; a load that failed is tried again at the next draw. */
export function screen(name) {
  if (!(name in loaded)) {
    loaded[name] = null;
    (LOAD[name] ?? PARTS[name])().then((module) => change(() => { loaded[name] = module; }), () => { delete loaded[name]; });
  }
  return loaded[name];
}

/** The screens that are here already. */
export const screens = () => Object.values(loaded).filter(Boolean);
