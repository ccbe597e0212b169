/**
 * A model's words as elements: headings, lists, fenced code, bold, italics and code. Everything else
 * is text, markup and links among it: what a model writes opens nothing and loads nothing.
 */

import { h } from "./dom.js";

const FENCE = /^\s*(```|~~~)/;
const ITEM = /^\s*(?:[-*+]|\d{1,9}[.)])\s+/;
const INLINE = /(`[^`\n]+`|\*\*[^*\n]+\*\*|\*[^*\s][^*\n]*\*)/;

const inline = (text) => text.split(INLINE).map((part) => {
  if (/^`[^`]+`$/.test(part)) return h("code", {}, part.slice(1, -1));
  if (/^\*\*[^*]+\*\*$/.test(part)) return h("strong", {}, part.slice(2, -2));
  if (/^\*[^*]+\*$/.test(part)) return h("em", {}, part.slice(1, -1));
  return part;
});

const lines = (rows) => rows.map((row, index) => [index > 0 && h("br", {}), inline(row)]);

/** The rows from `at` on for which `holds`. */
function taken(rows, at, holds) {
  let end = at;
  while (end < rows.length && holds(rows[end])) end += 1;
  return rows.slice(at, end);
}

/** A text that may still be growing: an open fence is code as far as it goes. */
export function markdown(text) {
  const rows = text.replaceAll("\r\n", "\n").split("\n");
  const blocks = [];
  for (let at = 0; at < rows.length;) {
    const row = rows[at];
    const heading = /^(#{1,6})\s+(.*)$/.exec(row);
    if (row.trim() === "") {
      at += 1;
    } else if (FENCE.test(row)) {
      const code = taken(rows, at + 1, (each) => !FENCE.test(each));
      blocks.push(h("pre", {}, h("code", {}, code.join("\n"))));
      at += code.length + 2;
    } else if (heading) {
      blocks.push(h("p", { class: "md-head", role: "heading", "aria-level": Math.min(6, heading[1].length + 3) }, inline(heading[2])));
      at += 1;
    } else if (ITEM.test(row)) {
      const items = taken(rows, at, (each) => ITEM.test(each));
      blocks.push(h(/^\s*\d/.test(row) ? "ol" : "ul", {}, items.map((each) => h("li", {}, inline(each.replace(ITEM, ""))))));
      at += items.length;
    } else if (row.trimStart().startsWith("|")) {
      const table = taken(rows, at, (each) => each.trimStart().startsWith("|"));
      blocks.push(h("pre", {}, table.join("\n")));
      at += table.length;
    } else {
      const words = [row, ...taken(rows, at + 1, (each) => each.trim() !== "" && !FENCE.test(each) && !ITEM.test(each) && !/^#{1,6}\s/.test(each))];
      blocks.push(h("p", {}, lines(words)));
      at += words.length;
    }
  }
  return h("div", { class: "md" }, blocks);
}
