import path from "node:path";
import type { Band } from "../baseline/band.ts";
import type { UnjudgedMode } from "../config/gate-request.ts";
import { usageError } from "../core/errors.ts";
import { prepareBundle, writeBundle } from "../report/bundle/bundle.ts";
import { unlockBundle } from "../report/bundle/bundle-lock.ts";
import { type GateReport, type ScenarioReport, scenarioReport, verdictUrgency } from "../report/model/gate-report.ts";
import { copyRuns, numberRuns, type RunCopy } from "./merge-copy.ts";
import { type JudgeAgain, judgeAgain } from "./merge-judge.ts";
import { absentLegs, type ExpectedLegs } from "./merge-legs.ts";
import {
  legsOf,
  type MergeInput,
  type MergeLeg,
  type ReadContext,
  readInputs,
  resolved,
  type SampleVerification,
  withoutShards,
} from "./merge-read.ts";
import {
  carriedLegs,
  type Job,
  type MissingLeg,
  mergedReport,
  missingLeg,
  planJobs,
  scenarioOfJob,
} from "./merge-report.ts";
import type { ShardJob } from "./shard-jobs.ts";
import { type FeaturesSource, type ShardFailure, verifyShard } from "./shard-read.ts";
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
  readonly verification: SampleVerification;
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
  readonly envelopes: readonly Band[];
}

/**
 * Judge a job by its legs' verdicts, and again over all ranks if a baseline was requested or several nodes name one.
 * Without a requested baseline the worse verdict counts. A job that cannot be judged over all ranks gets a note.
 */
async function judgedJob(job: Job, again: JudgeAgain, warnings: string[]): Promise<Judged> {
  const isRequested = again.baselines !== null;
  const reported = { scenario: scenarioOfJob(job), envelopes: [] };
  if (reported.scenario.verdict === "error" || reported.scenario.error !== null) return reported;
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

/** Number of recordings by the source of their features, and of those that decide and were too many to compare. */
export type FeatureCounts = Readonly<Record<FeaturesSource | "omitted", number>>;

/** Jobs with their verdicts, by inputs in which every compared rank has the features of its samples. */
interface JudgedJobs {
  readonly input: MergeInput;
  readonly legs: readonly ReadLeg[];
  readonly jobs: readonly { readonly job: Job; readonly judged: Judged }[];
  readonly warnings: readonly string[];
  readonly features: FeatureCounts;
}

/**
 * Judge all jobs, and compare the stored features of the ranks that decide with their samples. A rank with others is
 * unusable, and the remaining ones are judged again.
 */
async function judgedJobs(request: MergeRequest, context: ReadContext): Promise<JudgedJobs> {
  const { again } = request;
  const compared = new Set<string>();
  let inputs = await readInputs(request.directories, context);
  for (;;) {
    const input = legsOf(inputs, context);
    const legs = input.legs.filter((leg) => leg.kind === "read");
    checkLimits(again, legs);
    const warnings = [...input.warnings];
    for (const { name, notes } of legs) warnings.push(...notes.map((note) => `${name}: its bundle lacks ${note}`));
    const jobs: { job: Job; judged: Judged }[] = [];
    const failures: ShardFailure[] = [];
    const features = { stored: 0, verified: 0, computed: 0, omitted: 0 };
    for (const job of planJobs(legs)) {
      const judged = await judgedJob(job, again, warnings);
      jobs.push({ job, judged });
      const shards = jobOf(job, legs);
      if (shards === null) continue;
      const deciding = decidingShards(shards, judged.scenario);
      for (const shard of deciding.compared) {
        if (compared.has(shard.directory)) continue;
        compared.add(shard.directory);
        const failure = await verifyShard(shard, again.horizon);
        if (failure !== null) failures.push(failure);
      }
      features.omitted += deciding.omitted;
      for (const { directory, source } of shards.shards) features[compared.has(directory) ? "verified" : source] += 1;
    }
    if (failures.length === 0) return { input, legs, jobs, warnings, features };
    inputs = withoutShards(inputs, failures);
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
 * @throws GateError MERGE_INTO_INPUT, those of `prepareBundle` and `writeBundle`, an unreadable baseline (exit 5)
 */
export async function mergeBundles(request: MergeRequest): Promise<MergedBundle> {
  const { bundle, argv, verification, unjudged } = request;
  await checkTarget(bundle, request.directories);
  const now = request.now();
  const { budgets, horizon } = request.again;
  const policy: ShardPolicy = { budgets, horizon };
  const { input, legs, jobs, warnings, features } = await judgedJobs(request, { policy, verification, argv, now });
  const scenarios: ScenarioReport[] = [];
  const copies: RunCopy[] = [];
  for (const { job, judged } of jobs) {
    const numbered = numberRuns(job, await withRanksShown(job, judged, legs, policy));
    scenarios.push(numbered.scenario);
    copies.push(...numbered.copies);
  }
  const missing = [...unreportedLegs(input.legs, input.present, request.expected), ...input.refused];
  const carried = legs.flatMap((leg) => carriedLegs(leg.report));
  const report = mergedReport({ legs, missing, carried, scenarios, warnings, unjudged, argv, now });
  await prepareBundle(bundle, { argv, createdIso: now.toISOString() });
  try {
    const copied = legs.flatMap(({ name, evidence }) => {
      const own = copies.filter(({ leg }) => leg === name);
      return copyRuns(evidence, own, bundle);
    });
    const written = await writeBundle(bundle, report, copied);
    return { report: written.report, bundleDir: bundle, features };
  } finally {
    await unlockBundle(bundle).catch(() => {});
  }
}
