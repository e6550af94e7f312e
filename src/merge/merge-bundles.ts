import { realpath } from "node:fs/promises";
import path from "node:path";
import type { Envelope } from "../baseline/envelope.ts";
import type { UnjudgedMode } from "../config/gate-request.ts";
import { usageError } from "../core/errors.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { prepareBundle, writeBundle } from "../report/bundle/bundle.ts";
import { unlockBundle } from "../report/bundle/bundle-lock.ts";
import { type GateReport, type ScenarioReport, scenarioReport } from "../report/documents/model.ts";
import { copyRuns, placeRuns, type RunCopy } from "./merge-copy.ts";
import { type JudgeAgain, judgeAgain } from "./merge-judge.ts";
import { absentLegs, type ExpectedLegs } from "./merge-legs.ts";
import { type MergeLeg, readLegs } from "./merge-read.ts";
import { type Job, type MissingLeg, mergedReport, planJobs, scenarioOfJob } from "./merge-report.ts";
import { hostsOf, reasonWithHost, type ShardPolicy } from "./shard-report.ts";
import { shardTimeline } from "./shard-timeline.ts";

export interface MergeRequest {
  /** Bundles, recordings and directories of them, in any order. */
  readonly directories: readonly string[];
  /** Absolute directory of the merged bundle. */
  readonly bundle: string;
  readonly expected: ExpectedLegs | null;
  readonly unjudged: UnjudgedMode;
  readonly again: JudgeAgain;
  readonly argv: readonly string[];
  readonly now: () => Date;
}

/** An earlier bundle in the place of the new one is deleted: it must not be one of those that are merged. */
async function checkTarget(bundle: string, directories: readonly string[]): Promise<void> {
  const real = async (directory: string) => realpath(directory).catch(() => path.resolve(directory));
  const target = await real(bundle);
  const within = (outer: string, inner: string) => inner === outer || inner.startsWith(`${outer}${path.sep}`);
  for (const directory of directories) {
    const source = await real(directory);
    if (!within(target, source) && !within(source, target)) continue;
    throw usageError(
      "MERGE_INTO_INPUT",
      `the merged bundle cannot be written to ${bundle}: ${directory} is to be merged`,
      "Name another directory with --bundle.",
    );
  }
}

function missingLegs(
  legs: readonly MergeLeg[],
  present: readonly string[],
  expected: ExpectedLegs | null,
): readonly MissingLeg[] {
  const unusable = legs.flatMap((leg): MissingLeg[] => {
    if (leg.kind === "read") return [];
    const { code, message, hint = null, exitCode } = leg.error;
    return [{ name: leg.name, word: "error", code, message: `${message} (${leg.directory})`, hint, exitCode }];
  });
  const missing = absentLegs(expected, present).map(({ name, message }): MissingLeg => {
    const hint = "Look at the job that should have measured it, and merge again when its bundle is there.";
    return { name, word: "unjudged", code: "LEG_MISSING", message, hint, exitCode: ExitCode.unjudged };
  });
  return [...unusable, ...missing];
}

/**
 * What a bundle says was judged already; limits of one's own need to be told by what else it is judged again.
 * @throws GateError OPTION_NEEDS_BASELINE (usage)
 */
function checkLimits({ baselines, budgets, horizon }: JudgeAgain, legs: readonly ReadLeg[]): void {
  if (baselines !== null || (budgets.length === 0 && horizon === null) || legs.every(({ job }) => job !== null)) return;
  throw usageError(
    "OPTION_NEEDS_BASELINE",
    "--budget and --horizon are for judging again what bundles say was judged",
    "Give --baseline too; --baseline none judges by budgets alone.",
  );
}

/** Nothing that is only told is better than what was judged: the worse of two words. */
const WORST = { fail: 0, unjudged: 1, warn: 2, pass: 3 } as const;

/** A job as it is judged, and what its chart is drawn over. */
interface Judged {
  readonly scenario: ScenarioReport;
  readonly envelopes: readonly Envelope[];
}

/**
 * A job as it is judged: by what its legs said; over all ranks where several nodes name one baseline; and by a baseline that was
 * asked for. What cannot be judged over all ranks is told, and stays as the nodes judged it.
 */
async function judgedJob(job: Job, again: JudgeAgain, warnings: string[]): Promise<Judged> {
  const asked = again.baselines !== null;
  const told = { scenario: scenarioOfJob(job), envelopes: [] };
  if (told.scenario.word === "error" || told.scenario.error !== null) return told;
  if (!asked && job.nodes.length === 1) return told;
  const judged = await judgeAgain(job.nodes, again);
  if (judged.kind === "not") {
    const rule = "each rank stands as its own node judged it, so that chance alone fails more often than over one job";
    warnings.push(`${job.name}: not judged over all ranks (${judged.reason}): ${rule}`);
    return told;
  }
  const { judgement, baseline } = judged;
  warnings.push(...baseline.warnings.map((warning) => `${job.name}: ${warning}`));
  if (!asked) warnings.push(`${job.name}: judged over all ranks with the default margins and no horizon`);
  if (!asked && WORST[judgement.verdict] >= WORST[told.scenario.judgement?.verdict ?? "pass"]) return told;
  const scenario = scenarioOfJob(job, judgement);
  if (baseline.kind !== "found") return { scenario, envelopes: [] };
  return { scenario: { ...scenario, baseline: baseline.summary }, envelopes: baseline.envelopes };
}

/** Recordings have no chart of their own yet, and name the machines of their ranks. */
async function withRanksShown(
  job: Job,
  judged: Judged,
  legs: readonly ReadLeg[],
  policy: ShardPolicy,
): Promise<ScenarioReport> {
  const { scenario, envelopes } = judged;
  const shards = legs.find((leg) => leg.job !== null && job.nodes.some((node) => node.leg === leg.name))?.job ?? null;
  if (shards === null) return scenario;
  const { judgement } = scenario;
  const named = scenarioReport({
    ...scenario,
    judgement: judgement && { ...judgement, reason: reasonWithHost(judgement.reason, hostsOf(shards)) },
  });
  return { ...named, timeline: scenario.timeline ?? (await shardTimeline(shards, named, policy, envelopes)) };
}

type ReadLeg = Extract<MergeLeg, { kind: "read" }>;

export interface MergeOutcome {
  readonly report: GateReport;
  /** Absolute directory of the merged bundle. */
  readonly bundleDir: string;
}

/**
 * Bundles of matrix legs, nodes or ranks as one whole bundle with one verdict. Files are linked or copied one at a time; of the
 * samples nothing is read. The same bundles in another order give the same answer.
 * @throws GateError MERGE_INTO_INPUT (usage), those of `prepareBundle` and `writeBundle`, and for a baseline that was asked for and
 *   cannot be read (exit 5)
 */
export async function mergeBundles(request: MergeRequest): Promise<MergeOutcome> {
  const { bundle, argv } = request;
  await checkTarget(bundle, request.directories);
  const now = request.now();
  const { budgets, horizon } = request.again;
  const policy: ShardPolicy = { budgets, horizon };
  const { legs, refused, present, warnings: told } = await readLegs(request.directories, { policy, argv, now });
  const spoken = legs.filter((leg) => leg.kind === "read");
  checkLimits(request.again, spoken);
  const warnings = [...told];
  for (const { name, notes } of spoken) warnings.push(...notes.map((note) => `${name}: its bundle lacks ${note}`));
  const scenarios: ScenarioReport[] = [];
  const copies: RunCopy[] = [];
  for (const job of planJobs(spoken)) {
    const judged = await judgedJob(job, request.again, warnings);
    const placed = placeRuns(job, await withRanksShown(job, judged, spoken, policy));
    scenarios.push(placed.scenario);
    copies.push(...placed.copies);
  }
  const { unjudged } = request;
  const silent = [...missingLegs(legs, present, request.expected), ...refused];
  const report = mergedReport({ legs: spoken, silent, scenarios, warnings, unjudged, argv, now });
  await prepareBundle(bundle, { argv, createdIso: now.toISOString() });
  try {
    const copied = spoken.flatMap(({ name, evidence }) => {
      const own = copies.filter(({ leg }) => leg === name);
      return copyRuns(evidence, own, bundle);
    });
    await writeBundle(bundle, report, copied);
  } finally {
    await unlockBundle(bundle).catch(() => {});
  }
  return { report, bundleDir: bundle };
}
