// Counts words that `docs/glossary.md` replaces by a term of the field, bounds without MAX_ or MIN_, comments wider than
// the formatter's column, literals spread into literals, and titles of tests that do not begin with their subject, in
// every tracked text of the project. Prints each place and exits 1 when there is one.
//
//   node scripts/check-language.mjs [PATH...]

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const MAX_COLUMNS = 120;
const WORDS =
  "told|tells|tonight|by night|anew|strangers?|innocent|keepers?|whoever|(?:any|every|some|no)body|vouch\\w*|story|stories";
/** As a word of its own, as the head of an identifier, and as a later part of one. */
const REPLACED = [
  new RegExp(`(?<![A-Za-z])(?:${WORDS})(?![a-z])`, "gi"),
  /(?<=[a-z])(?:Told|Tells|Tonight|Strangers?|Innocent|Keepers?|(?:Any|Every)body|Vouch\w*|Story|Stories)(?![a-z])/g,
  /\bis no\b(?! longer)/gi,
];
const BOUNDS = /\b_?(?:[A-Z]+_)?(?:MOST|LEAST|LONGEST|SHORTEST)_[A-Z]|\bk(?:Most|Least|Longest|Shortest)[A-Z]\w*/g;
const COMMENT = /^\s*(?:\/\/|\/?\*|#)/;
/** A literal that is spread to win lines. What is computed from one, as in `...[1, 2].map(f)`, is not. */
const SPREAD = /\.\.\.(?:\{(?!\s*\})|\[(?!\.\.\.)(?!.*\]\.))/;
const SPREAD_COUNTS = /^(?:src|bench|scripts)\/(?!.*(?:\.test\.|\/testing\/)).*\.(?:ts|mjs)$/;
const CODE = /\.(?:ts|mts|mjs|cjs|js|py|cc|h|c|sh)$/;

/** A test's title without its subject, which means nothing in a list of failures. */
const HEADLESS =
  /\b(?:it|test)(?:\.\w+(?:\([^)]*\))?)*\(\s*["'`](?:is|are|was|were|has|have|had|that|of|in|on|at|by|for|from|to|with|without|within|as|into|after|before|because|where|when|while|if|not|no)\b/i;

/** Quoted output of other programs and published keys, which keep their words. */
const QUOTED = [
  // Exit status of `user` in Debian's policy for accounts without a name of their own.
  /\bnobody:nogroup\b/g,
  /["'`]nobody["'`]/g,
  /nobody4?\s*\(uid/g,
  // A key of the evidence of the finding `rank_skew`.
  /\btold_by\b/g,
];
const LEFT_OUT =
  /^(?:dist|baselines)\/|(?:^|\/)fixtures\/|^package-lock\.json$|^LICENSE$|^scripts\/check-language\.mjs$|\.(?:png|node|ttf|wasm|gz|pickle|parquet)$/;

/** Findings of one file, as `line: what`. */
export function languageFindings(name, text) {
  return text.split("\n").flatMap((line, at) => {
    const plain = QUOTED.reduce((rest, quoted) => rest.replace(quoted, ""), line);
    const found = REPLACED.flatMap((pattern) => [...plain.matchAll(pattern)].map(([word]) => `"${word}"`));
    if (CODE.test(name)) {
      if (name.endsWith(".test.ts") && HEADLESS.test(line)) found.push("a test's title without its subject");
      found.push(...[...plain.matchAll(BOUNDS)].map(([bound]) => `${bound}…: use MAX_ or MIN_`));
      if (!COMMENT.test(line) && SPREAD_COUNTS.test(name) && SPREAD.test(line)) found.push("a literal is spread");
      if (COMMENT.test(line) && line.length > MAX_COLUMNS) found.push(`a comment of ${line.length} columns`);
    }
    return found.map((what) => `${name}:${at + 1}: ${what}`);
  });
}

function trackedFiles(paths) {
  const listed = execFileSync("git", ["ls-files", "-z", "--", ...paths], {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  return listed.split("\0").filter((name) => name !== "" && !LEFT_OUT.test(name) && existsSync(name));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const findings = trackedFiles(process.argv.slice(2)).flatMap((name) =>
    languageFindings(name, readFileSync(name, "utf8")),
  );
  for (const finding of findings) console.log(finding);
  console.log(`check-language: ${findings.length}`);
  process.exitCode = findings.length === 0 ? 0 : 1;
}
