import path from "node:path";
import type { Envelope } from "../baseline/envelope.ts";
import type { UnjudgedMode } from "../config/gate-request.ts";
import { usageError } from "../core/errors.ts";
import { prepareBundle, writeBundle } from "../report/bundle/bundle.ts";
import { unlockBundle } from "../report/bundle/bundle-lock.ts";
import { type GateReport, type ScenarioReport, scenarioReport } from "../report/documents/model.ts";
import { verdictUrgency } from "../report/urgency.ts";
import { copyRuns, numberRuns, type RunCopy } from "./merge-copy.ts";
import { type JudgeAgain, judgeAgain } from "./merge-judge.ts";
import { absentLegs, type ExpectedLegs } from "./merge-legs.ts";
import { type MergeLeg, readLegs, resolved } from "./merge-read.ts";
import { type Job, type MissingLeg, mergedReport, missingLeg, planJobs, scenarioOfJob } from "./merge-report.ts";
import type { ShardJob } from "./shard-jobs.ts";
import type { Verification } from "./shard-pool.ts";
import { type FeaturesSource, verifyShard } from "./shard-read.ts";
import { hostsOf, reasonWithHost, type ShardPolicy } from "./shard-report.ts";
import { decidingShards, shardTimeline } from "./shard-timeline.ts";

interface MergeRequest {
  /** Bundles, recordings and directories of them, in any order. */
  readonly directories: readonly string[];
  /** Absolute directory of the merged bundle. */
  readonly bundle: string;
  readonly expected: ExpectedLegs | null;
  readonly unjudged: UnjudgedMode;
  readonly again: JudgeAgain;
  readonly verification: Verification;
  readonly argv: readonly string[];
  readonly now: () => Date;
}

/** Refuse a target that overlaps an input, because an earlier bundle in the target is deleted. */
async function checkTarget(bundle: string, directories: readonly string[]): Promise<void> {
  const target = await resolved(bundle);
  const within = (outer: string, inner: string) => inner === outer || inner.startsWith(`${outer}${path.sep}`);
  for (const directory of directories) {
    const source = await resolved(directory);
    if (!within(target, source) && !within(source, target)) continue;
    throw usageError(
      "MERGE_INTO_INPUT",
      `cannot write the merged bundle to ${bundle}, because it overlaps the input ${directory}`,
      "Choose another directory with --bundle.",
    );
  }
}

function unreportedLegs(
  legs: readonly MergeLeg[],
  present: readonly string[],
  expected: ExpectedLegs | null,
): readonly MissingLeg[] {
  const unusable = legs.flatMap((leg): MissingLeg[] => {
    if (leg.kind === "read") return [];
    const { code, message, hint = null, exitCode } = leg.error;
    return [{ name: leg.name, verdict: "error", code, message: `${message} (${leg.directory})`, hint, exitCode }];
  });
  const hint = "Check the job that should have measured it, and merge again when its bundle exists.";
  return [...unusable, ...absentLegs(expected, present).map((leg) => missingLeg(leg, hint))];
}

/** Refuse limits without a baseline (`OPTION_NEEDS_BASELINE`): judging bundles again needs one. */
function checkLimits({ baselines, budgets, horizon }: JudgeAgain, legs: readonly ReadLeg[]): void {
  if (baselines !== null || (budgets.length === 0 && horizon === null) || legs.every(({ job }) => job !== null)) return;
  throw usageError(
    "OPTION_NEEDS_BASELINE",
    "--budget and --horizon apply only when bundles are judged again, which needs --baseline",
    "Add --baseline; --baseline none judges by budgets alone.",
  );
}

/** A judged job, and the baseline bands for its chart. */
interface Judged {
  readonly scenario: ScenarioReport;
  readonly envelopes: readonly Envelope[];
}

/**
 * Judge a job by its legs' verdicts, and again over all ranks if a baseline was requested or several nodes name one.
 * Without a requested baseline the worse verdict counts. A job that cannot be judged over all ranks gets a note.
 */
async function judgedJob(job: Job, again: JudgeAgain, warnings: string[]): Promise<Judged> {
  const isRequested = again.baselines !== null;
  const reported = { scenario: scenarioOfJob(job), envelopes: [] };
  if (reported.scenario.word === "error" || reported.scenario.error !== null) return reported;
  if (!isRequested && job.nodes.length === 1) return reported;
  const judged = await judgeAgain(job.nodes, again);
  if (judged.kind === "not") {
    const effect = "The verdicts of the nodes were used, which raises the chance of a false alarm.";
    warnings.push(`${job.name}: not judged over all ranks (${judged.reason}). ${effect}`);
    return reported;
  }
  const { judgement, baseline } = judged;
  warnings.push(...baseline.warnings.map((warning) => `${job.name}: ${warning}`));
  if (!isRequested) {
    warnings.push(`${job.name}: judged over all ranks with the default margins and no horizon`);
    const reportedVerdict = reported.scenario.judgement?.verdict ?? "pass";
    if (verdictUrgency(judgement.verdict) >= verdictUrgency(reportedVerdict)) return reported;
  }
  const scenario = scenarioOfJob(job, judgement);
  if (baseline.kind !== "found") return { scenario, envelopes: [] };
  return { scenario: { ...scenario, baseline: baseline.summary }, envelopes: baseline.envelopes };
}

/** The recordings of a job; null where it is of bundles. */
function jobOf(job: Job, legs: readonly ReadLeg[]): ShardJob | null {
  return legs.find((leg) => leg.job !== null && job.nodes.some((node) => node.leg === leg.name))?.job ?? null;
}

/** Number of recordings by the source of their features. */
export type FeatureCounts = Readonly<Record<FeaturesSource, number>>;

/** Compare the stored features of the ranks that decide with their samples, and count the sources of all. */
async function checkedFeatures(
  job: Job,
  { scenario }: Judged,
  legs: readonly ReadLeg[],
  policy: ShardPolicy,
  counts: Record<FeaturesSource, number>,
): Promise<void> {
  const shards = jobOf(job, legs);
  if (shards === null) return;
  for (const { source } of shards.shards) counts[source] += 1;
  for (const shard of decidingShards(shards, scenario)) {
    if (shard.source !== "stored") continue;
    await verifyShard(shard, policy.horizon);
    counts.stored -= 1;
    counts.verified += 1;
  }
}

/** Add the chart of a job of recordings, and the hosts of its ranks. */
async function withRanksShown(
  job: Job,
  judged: Judged,
  legs: readonly ReadLeg[],
  policy: ShardPolicy,
): Promise<ScenarioReport> {
  const { scenario, envelopes } = judged;
  const shards = jobOf(job, legs);
  if (shards === null) return scenario;
  const { judgement } = scenario;
  const named = scenarioReport({
    ...scenario,
    judgement: judgement && { ...judgement, reason: reasonWithHost(judgement.reason, hostsOf(shards)) },
  });
  return { ...named, timeline: scenario.timeline ?? (await shardTimeline(shards, named, policy, envelopes)) };
}

interface MergedBundle {
  readonly report: GateReport;
  readonly bundleDir: string;
  readonly features: FeatureCounts;
}

type ReadLeg = Extract<MergeLeg, { kind: "read" }>;

/**
 * Merge bundles of matrix legs, nodes or ranks, in any order, into one bundle with one verdict. Recordings are judged
 * by the features that their ranks stored; samples are read where there are none, and of some ranks to compare.
 * @throws GateError MERGE_INTO_INPUT, SHARD_INVALID (exit 5), those of `prepareBundle` and `writeBundle`, an unreadable
 *   baseline (exit 5)
 */
export async function mergeBundles(request: MergeRequest): Promise<MergedBundle> {
  const { bundle, argv, verification } = request;
  await checkTarget(bundle, request.directories);
  const now = request.now();
  const { budgets, horizon } = request.again;
  const policy: ShardPolicy = { budgets, horizon };
  const {
    legs,
    refused,
    present,
    warnings: readWarnings,
  } = await readLegs(request.directories, {
    policy,
    verification,
    argv,
    now,
  });
  const reported = legs.filter((leg) => leg.kind === "read");
  checkLimits(request.again, reported);
  const warnings = [...readWarnings];
  for (const { name, notes } of reported) warnings.push(...notes.map((note) => `${name}: its bundle lacks ${note}`));
  const scenarios: ScenarioReport[] = [];
  const copies: RunCopy[] = [];
  const counts = { stored: 0, verified: 0, computed: 0 };
  for (const job of planJobs(reported)) {
    const judged = await judgedJob(job, request.again, warnings);
    await checkedFeatures(job, judged, reported, policy, counts);
    const numbered = numberRuns(job, await withRanksShown(job, judged, reported, policy));
    scenarios.push(numbered.scenario);
    copies.push(...numbered.copies);
  }
  const { unjudged } = request;
  const missing = [...unreportedLegs(legs, present, request.expected), ...refused];
  const report = mergedReport({ legs: reported, missing, scenarios, warnings, unjudged, argv, now });
  await prepareBundle(bundle, { argv, createdIso: now.toISOString() });
  try {
    const copied = reported.flatMap(({ name, evidence }) => {
      const own = copies.filter(({ leg }) => leg === name);
      return copyRuns(evidence, own, bundle);
    });
    const written = await writeBundle(bundle, report, copied);
    return { report: written.report, bundleDir: bundle, features: counts };
  } finally {
    await unlockBundle(bundle).catch(() => {});
  }
}
