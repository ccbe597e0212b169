/** The part of the first view that is a conversation: turns, composer, the Agent's line. Loaded when an Agent is in view. */

import { act as every } from "../actions.js";
import { agentLine, newBelow, talk, talkOf } from "../components/talk.js";
import { composer } from "../components/composer.js";
import { holdPlace, keepPlace, scrolled, windowNow } from "../components/turnlist.js";
import { talkActs } from "../talkacts.js";
import { needTalk } from "../talks.js";

Object.assign(every, talkActs);
let held = null;

export { agentLine, composer, newBelow, scrolled, talk, talkOf };

export const before = () => { held = holdPlace(); };

export function drawn() {
  keepPlace(held);
  needTalk(...windowNow());
}
