import type { Band } from "../baseline/band.ts";
import { GateError } from "../core/errors.ts";
import { buildTimeline } from "../gate/scenario/timeline.ts";
import { decidingCheck } from "../report/headline/causes.ts";
import { answerSentence } from "../report/headline/sentence.ts";
import type { ScenarioReport, Timeline } from "../report/model/gate-report.ts";
import { readRunDirectory } from "../telemetry/read-run-directory.ts";
import { mergeRecordings } from "../telemetry/reading/merge.ts";
import type { Recording } from "../telemetry/recording/model.ts";
import { DEFAULT_POLICY } from "../verdict/model/defaults.ts";
import type { NamedShard, ShardJob } from "./shard-jobs.ts";
import { failedShards, type ShardPolicy } from "./shard-report.ts";

/** Recordings that are drawn. A picture has eight lines, and a page a few dozen. */
const MAX_DRAWN = 12;
/** Deciding recordings that are compared with their samples, each of which is read whole. */
const MAX_COMPARED = 64;

const GROWS: ReadonlySet<string> = new Set(["leak", "rising"]);

/** The order of recordings for the chart, larger first: the deciding rank, failing ranks, growth, peak. */
function weightOf(shard: NamedShard, failing: ReadonlySet<number>, deciding: number | null): readonly number[] {
  const series = shard.features.series.map(({ analysis }) => analysis);
  const grown = series.filter((one) => GROWS.has(one.class)).map((one) => one.growth_bytes ?? 0);
  return [
    Number(series.some(({ rank }) => rank === deciding)),
    Number(series.some(({ rank }) => failing.has(rank))),
    Math.max(0, ...grown),
    Math.max(0, ...series.map((one) => one.peak_bytes ?? 0)),
    -shard.info.identity.rank,
  ];
}

interface WeighedShard {
  readonly shard: NamedShard;
  readonly weight: readonly number[];
}

function byWeight(job: ShardJob, scenario: ScenarioReport): readonly WeighedShard[] {
  const checks = scenario.judgement?.checks ?? [];
  const deciding = decidingCheck(checks)?.rank ?? null;
  const failing = new Set(checks.filter(({ verdict }) => verdict === "fail").map(({ rank }) => rank));
  return job.shards
    .map((shard) => ({ shard, weight: weightOf(shard, failing, deciding) }))
    .sort((a, b) => {
      const at = a.weight.findIndex((value, index) => value !== b.weight[index]);
      return at < 0 ? 0 : (b.weight[at] ?? 0) - (a.weight[at] ?? 0);
    });
}

/** Recordings whose stored features are compared with their samples, and how many that decide are too many for that. */
interface DecidingShards {
  readonly compared: readonly NamedShard[];
  readonly omitted: number;
}

/** The recordings that decide a verdict, by a failing check, the deciding one or a failed command, and those drawn. */
export function decidingShards(job: ShardJob, scenario: ScenarioReport): DecidingShards {
  const weighed = byWeight(job, scenario);
  const offsets = scenario.runs[0]?.analysis?.ranks.alignment_offsets_ns ?? {};
  const judged = weighed.filter(({ weight: [decides, fails] }) => decides === 1 || fails === 1);
  const stored = (shards: readonly NamedShard[]) => shards.filter(({ source }) => source === "stored");
  const deciding = new Set(stored([...judged.map(({ shard }) => shard), ...failedShards(job, offsets)]));
  const drawn = stored(weighed.slice(0, MAX_DRAWN).map(({ shard }) => shard));
  return {
    compared: [...new Set([...deciding, ...drawn])].slice(0, MAX_COMPARED),
    omitted: Math.max(0, deciding.size - MAX_COMPARED),
  };
}

/** Samples of a shard on the common clock of its job; null where they have become unreadable. */
async function alignedRecording(
  shard: NamedShard,
  offsets: Readonly<Record<string, string>>,
): Promise<Recording | null> {
  try {
    const { recording } = await readRunDirectory(shard.directory);
    const offset = BigInt(offsets[String(shard.info.identity.rank)] ?? "0");
    return { ...recording, epochNs: recording.epochNs === null ? null : recording.epochNs - offset };
  } catch (error) {
    if (error instanceof GateError) return null;
    throw error;
  }
}

/** The chart of a job of many ranks; samples are read again only of at most a dozen. */
export async function shardTimeline(
  job: ShardJob,
  scenario: ScenarioReport,
  policy: ShardPolicy,
  envelopes: readonly Band[],
): Promise<Timeline | null> {
  const document = scenario.runs[0]?.analysis ?? null;
  const drawn: Recording[] = [];
  for (const { shard } of byWeight(job, scenario).slice(0, MAX_DRAWN)) {
    const recording = await alignedRecording(shard, document?.ranks.alignment_offsets_ns ?? {});
    if (recording !== null) drawn.push(recording);
  }
  if (drawn.length === 0) return null;
  const judged = answerSentence(scenario);
  const others = job.shards.length - drawn.length;
  const subtitle = others > 0 ? `${judged} (and ${others.toLocaleString("en-US")} more recordings)` : judged;
  return buildTimeline({
    scenario: scenario.scenario,
    verdict: scenario.verdict,
    subtitle,
    recording: mergeRecordings(drawn),
    analysis: document,
    judgement: scenario.judgement,
    policy: { ...DEFAULT_POLICY, budgets: policy.budgets, horizon: policy.horizon },
    envelopes,
    findings: scenario.findings,
  });
}
