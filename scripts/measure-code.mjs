/**
 * Measures the code of a checkout: node scripts/measure-code.mjs [--json] [DIRECTORY, default: this one]
 *
 * - lines: `wc -l` of production files (no tests, stand-ins or fixtures). The programs of leak-lab/, workspaces and
 *   scripts/ have columns of their own.
 * - reach of `run`: the files of src that src/cli/run.ts imports, also late, but not for their types alone.
 * - constants: lines of src that begin with `const NAME =` or `export const NAME =`, NAME in capitals.
 * - twin types: names of types (interfaces, classes and enumerations, too) that several files of src declare.
 * - mutual pairs: pairs of directories of one room of src of which each imports from the other, also types.
 * - words: of docs/*.md, without generated blocks and comments.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const SOURCE = /\.(?:ts|mts|mjs|cjs|js|css|py|c|cc|h|sh)$/;
const NOT_PRODUCTION = /\.test\.ts$|(?:^|\/)(?:test|testing|fixtures|fake-nvml|node_modules|__pycache__)\//;

const args = process.argv.slice(2);
const [given = fileURLToPath(new URL("..", import.meta.url))] = args.filter((arg) => arg !== "--json");
const root = path.resolve(given);

/** @type {(directory: string) => string[]} */
function filesBelow(directory) {
  if (!existsSync(path.join(root, directory))) return [];
  return readdirSync(path.join(root, directory), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)))
    .sort();
}

/** @type {(file: string) => string} */
const textOf = (file) => readFileSync(path.join(root, file), "utf8");
/** @type {(directory: string) => string[]} */
const production = (directory) =>
  filesBelow(directory).filter((file) => SOURCE.test(file) && !NOT_PRODUCTION.test(file));
/** @type {(files: readonly string[]) => number} */
const linesOf = (files) => files.reduce((sum, file) => sum + textOf(file).split("\n").length - 1, 0);

const src = production("src");

/** @type {(file: string, text: string) => string[]} */
function importsOf(file, text) {
  return [...text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)]
    .map(([, name = ""]) => path.join(path.dirname(file), name))
    .filter((target) => src.includes(target));
}

/** @type {(entry: string) => string[]} */
function reachOf(entry) {
  const reached = new Set([entry]);
  for (const file of reached) {
    const loaded = textOf(file).replace(/(?:import|export) type [^;]*;/g, "");
    for (const target of importsOf(file, loaded)) reached.add(target);
  }
  return [...reached];
}

/** @type {() => string[]} */
function twinTypes() {
  /** @type {Map<string, Set<string>>} */
  const files = new Map();
  for (const file of src) {
    for (const [, name = ""] of textOf(file).matchAll(
      /^(?:export )?(?:abstract )?(?:interface|type|class|enum) (\w+)/gm,
    ))
      files.set(name, (files.get(name) ?? new Set()).add(file));
  }
  return [...files].filter(([, declaring]) => declaring.size > 1).map(([name]) => name);
}

/** @type {() => string[]} */
function mutualPairs() {
  const edges = new Set();
  for (const file of src) {
    for (const target of importsOf(file, textOf(file))) {
      const [from, to] = [path.dirname(file), path.dirname(target)];
      if (from !== to && from.split("/")[1] === to.split("/")[1]) edges.add(`${from} ${to}`);
    }
  }
  return [...edges].filter((edge) => {
    const [from, to] = edge.split(" ");
    return from < to && edges.has(`${to} ${from}`);
  });
}

/** @type {(text: string) => number} */
function wordsOf(text) {
  const own = text
    .replace(/<!-- [^\n]*-->\n[\s\S]*?<!-- (?:end of [^\n]*|\w+: end) -->/g, "")
    .replace(/<!--[\s\S]*?-->/g, "");
  return own.split(/\s+/).filter((word) => word !== "").length;
}

const { workspaces = [] } = JSON.parse(textOf("package.json"));
const columns = {
  src,
  native: production("native"),
  probe: production("probe"),
  "leak-lab": production("leak-lab"),
  workspaces: workspaces.flatMap((/** @type {string} */ name) => production(name.replace(/\/\*$/, ""))),
  scripts: production("scripts"),
};
const lines = Object.fromEntries(Object.entries(columns).map(([name, files]) => [name, linesOf(files)]));
const command = ["src/cli/commands/run.ts", "src/cli/run.ts"].find((file) => existsSync(path.join(root, file))) ?? "";
const reach = reachOf(command);
const twins = twinTypes();
const pairs = mutualPairs();
const pages = readdirSync(path.join(root, "docs")).filter((name) => name.endsWith(".md"));
const result = {
  lines,
  lines_total: lines.src + lines.native + lines.probe,
  run_reaches: { files: reach.length, lines: linesOf(reach) },
  constants: src.reduce(
    (sum, file) => sum + (textOf(file).match(/^(?:export )?const [A-Z][A-Z0-9_]+ =/gm) ?? []).length,
    0,
  ),
  twin_types: twins.length,
  mutual_pairs: pairs.length,
  words: pages.reduce((sum, name) => sum + wordsOf(textOf(path.join("docs", name))), 0),
  dist_files: filesBelow("dist").length,
};

if (args.includes("--json")) console.log(JSON.stringify({ ...result, twins, pairs }, null, 2));
else {
  const rows = [
    ...Object.entries(lines).map(([name, count]) => [`lines of ${name}`, count]),
    ["src + native + probe", result.lines_total],
    ["files that run reaches", result.run_reaches.files],
    ["lines that run reaches", result.run_reaches.lines],
    ["named constants", result.constants],
    ["type names in several files", result.twin_types],
    ["mutual pairs of directories", result.mutual_pairs],
    ["words of docs/*.md", result.words],
    ["files of dist/", result.dist_files],
  ];
  for (const [name, count] of rows) console.log(`${name.padEnd(28)}${count.toLocaleString("en").padStart(9)}`);
}
