// Two folders as arguments: prints the scripts of the first whose tokens are others, or on other lines, in the second.
// `node --expose-internals` brings the parser.
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const { parse } = createRequire(import.meta.url)("internal/deps/acorn/acorn/dist/acorn");

function tokens(path) {
  const text = readFileSync(path, "utf8"), found = [];
  parse(text, { ecmaVersion: "latest", sourceType: "module", locations: true, onToken: found });
  return found.map(({ type, start, end, loc }) => [type.label, text.slice(start, end), loc.start.line].join("\0")).join("\n");
}

const [before, after] = process.argv.slice(2), names = readdirSync(before, { recursive: true }).filter((name) => name.endsWith(".js"));
const other = names.filter((name) => tokens(join(before, name)) !== tokens(join(after, name)));
console.log(JSON.stringify({ read: names.length, other }));
