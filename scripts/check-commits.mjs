// Checks the subjects of all commits since this rule applies, on branches and on the main branch alike: imperative, at
// most 72 characters, with a scope, about one topic. Without that commit in the history it reports so and passes.
//
//   node scripts/check-commits.mjs [SINCE]

import { execFileSync } from "node:child_process";

const MAX_SUBJECT = 72;
const SCOPE = /^[a-z0-9][\w./, -]*: \S/;
const NO_VERB = /^[^:]*: (?:a|an|the|what|how|of|no|one|two|three|each|in|by|from) /i;
/** The last commit whose history is not checked: earlier subjects have faults, and history is not rewritten. */
const SINCE = "3c1456c61e2d5057caf3a3f2e8ae29599735a5b5";

function git(...args) {
  try {
    return execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  } catch {
    return null;
  }
}

function faultsOf(subject) {
  const faults = [];
  if (subject.length > MAX_SUBJECT) faults.push(`${subject.length} characters, at most ${MAX_SUBJECT}`);
  if (!SCOPE.test(subject)) faults.push("no scope in front, as in `merge: read features instead of samples`");
  if (subject.endsWith(".")) faults.push("ends with a full stop");
  if (NO_VERB.test(subject)) faults.push("begin with a verb");
  if (subject.includes(";")) faults.push("one topic each");
  return faults;
}

const since = process.argv[2] ?? SINCE;
if (git("merge-base", "--is-ancestor", since, "HEAD") === null) {
  console.log(`check-commits: ${since.slice(0, 10)} is not in this history, nothing checked`);
  process.exit(0);
}
const commits = (git("log", "--no-merges", "--format=%h %s", `${since}..HEAD`) ?? "")
  .split("\n")
  .filter((line) => line !== "")
  .map((line) => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)]);
const faulty = commits.flatMap(([hash, subject]) => faultsOf(subject).map((fault) => `${hash} ${subject}: ${fault}`));
for (const line of faulty) console.log(line);
console.log(`check-commits: ${commits.length} commits since ${since.slice(0, 10)}, ${faulty.length} faults`);
process.exitCode = faulty.length === 0 ? 0 : 1;
