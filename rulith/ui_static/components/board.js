/** The Case that the Board's tab is about; the tab itself is drawn by screens/board.js. */

import { moment } from "../lib/time.js";
import { screen } from "../screens.js";
import { loading } from "./states.js";

/** The Case the tab is about: the one the address names, else the newest. */
export function caseInView(s, instance) {
  const cases = s.boards[instance.id]?.board?.cases ?? [];
  return s.route.case || [...cases].sort((a, b) => moment(b.openedAt) - moment(a.openedAt))[0]?.caseId || "";
}

export const board = (s, instance, act) => screen("board")?.board(s, instance, act) ?? loading("the Board");
