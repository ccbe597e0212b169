/**
 * A model's words as elements: headings, lists, fenced code, bold, italics and code. Everything else
 * is text, markup among it. What a model writes loads nothing, and opens nothing unless the caller
 * allows links: then http(s) and mailto, in a page of their own, with the host told beside other words.
 */

import { h } from "./dom.js";

const FENCE = /^\s*(```|~~~)/;
const ITEM = /^\s*(?:[-*+]|\d{1,9}[.)])\s+/;
const INLINE = /(`[^`\n]+`|\[[^[\]\n]+\]\([^()\s]+\)|https?:\/\/[^\s<>"'`*)\]]+|\*\*[^*\n]+\*\*|\*[^*\s][^*\n]*\*)/i;
const NAME = /(?<![\p{L}\p{N}])(@[\p{L}\p{N}_-]+)/u;
const PLAIN = { links: false, names: new Set() };

/** A link that the caller allows, or the text as it stands. */
function linked(text, words, address) {
  const target = /^(https?:|mailto:)/i.test(address) && URL.canParse(address) ? new URL(address) : null;
  if (!target) return text;
  const place = target.host || target.pathname;
  return [h("a", { href: target.href, target: "_blank", rel: "noopener noreferrer" }, words),
    !words.includes(place) && h("span", { class: "quiet" }, ` (${place})`)];
}

const named = (text, { names, called = NAME }) => (names.size === 0 ? text : text.split(called).map((part, index) => (
  index % 2 === 1 && names.has(part.slice(1).toLowerCase()) ? h("span", { class: "name" }, part) : part)));

const inline = (text, how) => text.split(INLINE).map((part, index) => {
  if (index % 2 === 0) return named(part, how);
  if (part.startsWith("`")) return h("code", {}, part.slice(1, -1));
  if (part.startsWith("**")) return h("strong", {}, named(part.slice(2, -2), how));
  if (part.startsWith("*")) return h("em", {}, named(part.slice(1, -1), how));
  if (!how.links) return part;
  const [, words, address] = /^\[([^\]]+)\]\((.+)\)$/.exec(part) ?? [];
  return linked(part, words ?? part, address ?? part);
});

const lines = (rows, how) => rows.map((row, index) => [index > 0 && h("br", {}), inline(row, how)]);

/** The rows from `at` on for which `holds`. */
function taken(rows, at, holds) {
  let end = at;
  while (end < rows.length && holds(rows[end])) end += 1;
  return rows.slice(at, end);
}

/**
 * A text that may still be growing: an open fence is code as far as it goes.
 *
 * links   whether addresses open
 * names   folded names that stand out where `@name` calls them
 * called  what finds such calls, where a name is more than a word
 * beside  (code) → what stands beside a fence
 */
export function markdown(text, how = PLAIN) {
  const rows = text.replaceAll("\r\n", "\n").split("\n");
  const blocks = [];
  for (let at = 0; at < rows.length;) {
    const row = rows[at];
    const heading = /^(#{1,6})\s+(.*)$/.exec(row);
    if (row.trim() === "") {
      at += 1;
    } else if (FENCE.test(row)) {
      const code = taken(rows, at + 1, (each) => !FENCE.test(each));
      const block = h("pre", {}, h("code", {}, code.join("\n")));
      blocks.push(how.beside ? h("div", { class: "code" }, block, how.beside(code.join("\n"))) : block);
      at += code.length + 2;
    } else if (heading) {
      blocks.push(h("p", { class: "md-head", role: "heading", "aria-level": Math.min(6, heading[1].length + 3) }, inline(heading[2], how)));
      at += 1;
    } else if (ITEM.test(row)) {
      const items = taken(rows, at, (each) => ITEM.test(each));
      blocks.push(h(/^\s*\d/.test(row) ? "ol" : "ul", {}, items.map((each) => h("li", {}, inline(each.replace(ITEM, ""), how)))));
      at += items.length;
    } else if (row.trimStart().startsWith("|")) {
      const table = taken(rows, at, (each) => each.trimStart().startsWith("|"));
      blocks.push(h("pre", {}, table.join("\n")));
      at += table.length;
    } else {
      const words = [row, ...taken(rows, at + 1, (each) => each.trim() !== "" && !FENCE.test(each) && !ITEM.test(each) && !/^#{1,6}\s/.test(each))];
      blocks.push(h("p", {}, lines(words, how)));
      at += words.length;
    }
  }
  return h("div", { class: "md" }, blocks);
}
