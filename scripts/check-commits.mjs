// Checks the commits that are not yet on the main branch: an imperative subject of at most 72 characters with a scope,
// about one topic. Faults of subjects that are on the main branch already are a warning. Without history it reports so
// and passes.
//
//   node scripts/check-commits.mjs [MAIN]      (default: origin/main, else main)

import { execFileSync } from "node:child_process";

const MAX_SUBJECT = 72;
const SCOPE = /^[a-z0-9][\w./, -]*: \S/;
const NO_VERB = /^[^:]*: (?:a|an|the|what|how|of|no|one|two|three|each|in|by|from) /i;
/** Commits of the main branch whose subjects are looked at. */
const RECENT = 30;

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

const commits = (...range) =>
  (git("log", "--no-merges", "--format=%h %s", ...range) ?? "")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => [line.slice(0, line.indexOf(" ")), line.slice(line.indexOf(" ") + 1)]);

const main =
  process.argv[2] ?? ["origin/main", "main"].find((name) => git("rev-parse", "--verify", "--quiet", name) !== null);
if (main === undefined || git("rev-parse", "--is-shallow-repository") !== "false") {
  console.log("check-commits: no history here, nothing checked");
  process.exit(0);
}
const old = commits(`-${RECENT}`, main).filter(([, subject]) => faultsOf(subject).length > 0);
if (old.length > 0) console.log(`warning: ${old.length} of the newest ${RECENT} subjects on ${main} have faults`);
const own = commits(`${main}..HEAD`);
const faulty = own.flatMap(([hash, subject]) => faultsOf(subject).map((fault) => `${hash} ${subject}: ${fault}`));
for (const line of faulty) console.log(line);
console.log(`check-commits: ${own.length} commits not on ${main}, ${faulty.length} faults`);
process.exitCode = faulty.length === 0 ? 0 : 1;
