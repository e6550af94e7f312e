// Everything that is tried many times, for as long as asked: draws a seed for each round, takes the campaign with the
// least time so far, and adds tries, failures, seeds and the commit to a results file, from which the evidence page is
// written.
//
//   npm run soak -- --minutes M [--only NAME] [--seed N] [--results FILE] [--no-page]

import { execFileSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { CAMPAIGNS } from "./campaigns.ts";
import { EVIDENCE_PAGE, readResults, SOAK_RESULTS, withRound, writePage, writeResults } from "./results.ts";

const MAX_SEED = 2 ** 31;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    only: { type: "string" },
    seed: { type: "string" },
    results: { type: "string", default: SOAK_RESULTS },
    page: { type: "boolean", default: true },
  },
  allowNegative: true,
});
const minutes = Number(values.minutes);
if (!(minutes > 0)) throw new Error(`--minutes: "${values.minutes}" is not a positive number`);
const campaigns = CAMPAIGNS.filter(({ name }) => values.only === undefined || name === values.only);
if (campaigns.length === 0)
  throw new Error(`--only: no campaign "${values.only}"; there are ${CAMPAIGNS.map(({ name }) => name).join(", ")}`);

const git = (...args: string[]): string => execFileSync("git", args, { encoding: "utf8" }).trim();
function currentCommit(): string {
  try {
    return (
      git("rev-parse", "--short=10", "HEAD") +
      (git("status", "--porcelain", "--", "src", "native", "probe") === "" ? "" : "+")
    );
  } catch {
    return "unknown";
  }
}

/** Seeds follow from the first one, so that a printed seed repeats the whole session. */
const first = values.seed === undefined ? randomInt(MAX_SEED) : Number(values.seed);
const seedOf = (round: number): number => (first + round * 7919) % MAX_SEED;

const commit = currentCommit();
const untilMs = performance.now() + minutes * 60_000;
const unavailable = new Map<string, string>();
const longestMs = new Map(campaigns.map(({ name, seconds }) => [name, 1000 * seconds]));
/** Campaigns of equal time come in an order that the seed decides, so that short sessions differ. */
const rank = new Map(campaigns.map(({ name }, at) => [name, (first + at) % campaigns.length]));
let results = readResults(values.results);
let failed = 0;
let rounds = 0;
console.log(`soak: ${minutes} min, seed ${first}, commit ${commit}`);

const spentOn = (name: string): number =>
  results.entries.reduce((sum, { campaign, minutes: spent }) => sum + (campaign === name ? spent : 0), 0);

for (let round = 0; ; round += 1) {
  const leftMs = untilMs - performance.now();
  const [next] = campaigns
    .filter(({ name }) => !unavailable.has(name) && (longestMs.get(name) ?? 0) < leftMs)
    .sort((a, b) => spentOn(a.name) - spentOn(b.name) || (rank.get(a.name) ?? 0) - (rank.get(b.name) ?? 0));
  if (leftMs <= 0 || next === undefined) break;
  const seed = seedOf(round);
  const startedMs = performance.now();
  const done = await next.round(seed);
  const tookMs = performance.now() - startedMs;
  longestMs.set(next.name, Math.max(tookMs, longestMs.get(next.name) ?? 0));
  if (done.kind === "unavailable") {
    unavailable.set(next.name, done.reason);
    console.log(`${next.name}: left out, ${done.reason}`);
    continue;
  }
  const { tries, failures } = done;
  failed += failures;
  rounds += 1;
  results = withRound(results, {
    campaign: next.name,
    unit: next.unit,
    commit,
    tries,
    failures,
    minutes: tookMs / 60_000,
    seed,
  });
  writeResults(values.results, results);
  console.log(`${next.name}: ${tries} tries, ${failures} failed, ${(tookMs / 1000).toFixed(0)} s, seed ${seed}`);
  if (failures > 0) console.log(done.output.slice(-8000));
}
if (values.page) writePage(EVIDENCE_PAGE, results);
if (rounds === 0) {
  const skipped = campaigns.map(({ name, seconds }) => `${name} (${unavailable.get(name) ?? `needs ${seconds} s`})`);
  console.error(`soak: no round began in ${minutes} min: ${skipped.join(", ")}`);
} else console.log(`soak: ${failed} failed`);
process.exitCode = failed === 0 && rounds > 0 ? 0 : 1;
