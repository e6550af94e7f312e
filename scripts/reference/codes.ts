import { readFileSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "../../src/core/package-root.ts";
import { sourceFiles } from "./source-files.ts";

/** Files where a code is chosen before the error, or the ending of a run, is made of it. */
const CHOOSES_CODES =
  /(?:gate\/run-ending|measure\/start-failure|measure\/run-directory|report\/bundle-files|gate\/merge-\w+)\.ts$/;

/** Error codes: the first argument of what makes errors, and literals of their form where they are chosen. */
export function errorCodes(): readonly string[] {
  const found = sourceFiles().flatMap(({ name, text }) => {
    const made = [...text.matchAll(/\b(?:GateError|usageError|invalidInput)\(\s*"([A-Z][A-Z0-9_]+)"/g)];
    const chosen = CHOOSES_CODES.test(name) ? [...text.matchAll(/"([A-Z]+(?:_[A-Z]+)+)"/g)] : [];
    return [...made, ...chosen].map(([, code = ""]) => code);
  });
  return [...new Set(found)].filter((code) => !/^(GITHUB|STORMLOG)_/.test(code)).sort();
}

/** The codes whose message says all: those that the page has no advice for. */
export function otherCodes(begin: string, end: string): string {
  const page = readFileSync(path.join(packageRoot(), "docs/troubleshooting.md"), "utf8");
  const advice = page.slice(0, page.indexOf(begin)) + page.slice(page.indexOf(end));
  const others = errorCodes().filter((code) => !advice.includes(`\`${code}\``));
  return `${others.map((code) => `\`${code}\``).join(", ")}\n`;
}
