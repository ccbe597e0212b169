/**
 * The window onto a long conversation: only the turns near what is in view are elements; the others are room of the
 * height that they had or may have. Whoever reads the end goes on reading its end; whoever has scrolled up keeps the
 * very line under the eye, whatever arrives and however tall it turns out.
 */

import { change } from "../store.js";

const GUESS_PX = 140;
const BEYOND_PX = 1000;      // drawn above and below what is in view
const NEAR_PX = 250;         // nearer than this to what is not drawn, more is
const NEAR_END_PX = 80;
const MEASURED_MIN = 12;
const SPARE = 30;            // elements that may stay though nobody needs them any more
const known = new Map();     // conversation → { heights: [], guess }
let view = { key: "", from: 0, to: 0, total: 0, isAtEnd: true, seen: 0, goal: null };
let asked = "";              // the place in the address that was gone to

const isNearEnd = (scroll) => view.goal === null && view.to === view.total && scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < NEAR_END_PX;
const scroller = () => document.querySelector(".talk-scroll");
const listOf = (scroll) => scroll?.querySelector(".turns");
const topOf = (element, scroll) => element.getBoundingClientRect().top - scroll.getBoundingClientRect().top;

function room(from, to) {
  const { heights, guess } = known.get(view.key);
  let sum = 0;
  for (let number = from; number < to; number += 1) sum += heights[number] ?? guess;
  return sum;
}

/** The first turn that ends below `px` of the whole list. */
function turnAt(px) {
  const { heights, guess } = known.get(view.key);
  let number = 0;
  for (let sum = 0; number < view.total; number += 1) {
    sum += heights[number] ?? guess;
    if (sum > px) break;
  }
  return number;
}

/** Which turns are drawn now. `place` is the conversation and the number that the address names, from 0; -1 for none. */
export function windowOf(key, total, arrived, number) {
  if (key !== view.key) {
    view = { key, from: Math.max(0, total - MEASURED_MIN), to: total, total, isAtEnd: true, seen: arrived, goal: null };
    if (!known.has(key)) known.set(key, { heights: [], guess: GUESS_PX });
  }
  const place = number >= 0 ? `${key} ${number}` : "";
  if (place !== asked && total > 0) {
    asked = place;
    if (number >= 0) view.goal = Math.min(number, total - 1);
  }
  if (view.total !== total) {
    if (view.isAtEnd || view.to === view.total) view.to = total;
    if (view.isAtEnd && view.total === 0) view.from = Math.max(0, total - MEASURED_MIN);
    view.total = total;
  }
  if (view.isAtEnd) view.seen = arrived;
  if (view.goal !== null) Object.assign(view, { isAtEnd: false, from: Math.max(0, view.goal - 8), to: Math.min(total, view.goal + 8) });
  return { from: view.from, to: view.to, below: arrived - view.seen };
}

/** What the eye is at, before a draw. */
export function holdPlace() {
  const scroll = scroller();
  if (view.isAtEnd || !scroll) return null;
  const seen = [...scroll.querySelectorAll("[data-number]")].filter((each) => topOf(each, scroll) + each.offsetHeight > 0);
  const row = seen.find((each) => !("blank" in each.dataset)) ?? seen[0];       // what is read, not what is still to come
  return row && { key: view.key, row, top: topOf(row, scroll) };
}

/** After a draw: measure, make room, and put the same line back under the eye. */
export function keepPlace(held) {
  const scroll = scroller();
  const list = listOf(scroll);
  if (!list) return;
  const mine = known.get(view.key);
  for (const row of list.querySelectorAll("[data-number]")) if (!("blank" in row.dataset)) mine.heights[row.dataset.number] = row.getBoundingClientRect().height;
  const measured = mine.heights.filter(Boolean);
  if (mine.guess === GUESS_PX && measured.length >= MEASURED_MIN) mine.guess = measured.reduce((sum, px) => sum + px, 0) / measured.length;
  list.firstChild.style.height = `${room(0, view.from)}px`;
  list.lastChild.style.height = `${room(view.to, view.total)}px`;
  const goal = view.goal !== null && list.querySelector(`[data-number="${view.goal}"]`);
  if (goal) {
    scroll.scrollTop += topOf(goal, scroll) - 8;
    if (!("blank" in goal.dataset)) view.goal = null;
  } else if (view.isAtEnd) {
    scroll.scrollTop = scroll.scrollHeight;
  } else if (held?.key === view.key && held.row.isConnected) {
    const moved = topOf(held.row, scroll) - held.top;
    if (Math.abs(moved) > 0.5) scroll.scrollTop += moved;
  } else if (view.goal === null) {
    view.isAtEnd = isNearEnd(scroll);              // dragged into room that nothing was drawn in
  }
  look();
}

/** Draw other turns where what is in view comes near the edge of what is drawn. */
function look() {
  const scroll = scroller();
  const list = listOf(scroll);
  if (!list || view.goal !== null || view.total === 0) return;
  const top = -topOf(list, scroll);
  const bottom = top + scroll.clientHeight;
  const begins = room(0, view.from);
  const ends = begins + room(view.from, view.to);
  const covers = (view.from === 0 || begins <= top - NEAR_PX) && (view.to === view.total || ends >= bottom + NEAR_PX);
  const from = turnAt(Math.max(0, top - BEYOND_PX));
  const to = Math.min(view.total, turnAt(bottom + BEYOND_PX) + 1);
  if ((covers && view.to - view.from <= to - from + SPARE) || (from === view.from && to === view.to)) return;
  change(() => Object.assign(view, { from: Math.min(from, view.total - 1), to }));
}

/** The numbers of the turns that are drawn: from, to. */
export const windowNow = () => [view.from, view.to];

export function scrolled({ currentTarget: scroll }) {
  const before = view.isAtEnd;
  view.isAtEnd = isNearEnd(scroll);
  if (before !== view.isAtEnd) change(() => {});
  look();
}

/** To the newest: a person's own act. */
export const toEnd = () => change(() => Object.assign(view, { isAtEnd: true, goal: null, to: view.total, from: Math.max(0, view.total - MEASURED_MIN) }));
