import { alignClocks, type StepTimes, stepTimes } from "../telemetry/reading/clock-alignment.ts";
import type { Recording } from "../telemetry/recording/model.ts";
import type { RanksAnalysis } from "./series/document.ts";
import type { StoredFeatures } from "./series/features-schema.ts";
import { arrange } from "./series/ordered.ts";
import { groupTables, joinColumn, type TableGroup, tableLength, tablesWith } from "./series/series.ts";
import {
  combineRanks,
  crossRank,
  isSample,
  type RankSample,
  type RankSummary,
  summarizeRank,
} from "./stormlog/cross-rank.ts";

/** Enough to find an onset. Longer recordings are thinned evenly to this many samples per rank. */
const MAX_SAMPLES_PER_RANK = 20_000;

/** Summary of one rank of a recording of this project, the times of its steps, and the device that is compared. */
type RankEvidence = StoredFeatures["ranks"]["ranks"][number];

/** Rank summaries of a recording: Stormlog's events are judged as a whole, other telemetry rank by rank. */
export type RanksEvidence = { readonly kind: "events"; readonly analysis: RanksAnalysis } | StoredFeatures["ranks"];

/**
 * Summarises a recording's ranks for comparison with those of other recordings.
 * @param exact maximum number of intervals of a rank that are kept exactly
 */
export function ranksEvidence(recording: Recording, exact = Number.POSITIVE_INFINITY): RanksEvidence {
  const { events } = recording;
  if (events?.some(isSample)) {
    const samples = events.flatMap((event): RankSample[] =>
      isSample(event) && event.deviceUsed !== null ? [{ ...event, deviceUsed: event.deviceUsed }] : [],
    );
    const others = events.some((event) => !isSample(event));
    return { kind: "events", analysis: crossRank(samples, others) };
  }
  const worldSize = Math.max(recording.worldSize ?? 1, recording.info?.identity.world_size ?? 1);
  const byRank = new Map<number, RankEvidence>();
  const groups = groupTables(recording.tables);
  for (const group of devicesFirst(groups)) {
    // One device per rank: the host's memory among the device's would look like wild jumps.
    if (byRank.has(group.rank)) continue;
    const summary = summaryOf(group, recording.epochNs ?? 0n, exact);
    if (summary === null) continue;
    const moments = recording.epochNs === null ? null : momentsOf(groups, group.rank, recording.epochNs);
    byRank.set(group.rank, { summary, moments, device: group.device });
  }
  return { kind: "ranks", ranks: [...byRank.values()], worldSize };
}

/** Participating and missing ranks, and the one that jumped first, over the recordings of all ranks together. */
export function combineEvidence(parts: readonly RanksEvidence[]): RanksAnalysis {
  const byRank = new Map<number, RankEvidence>();
  let worldSize = 1;
  for (const part of parts) {
    if (part.kind === "events") {
      if (parts.length === 1) return part.analysis;
      continue;
    }
    worldSize = Math.max(worldSize, part.worldSize);
    for (const one of part.ranks) {
      const other = byRank.get(one.summary.rank);
      if (other === undefined || precedes(one.device, other.device)) byRank.set(one.summary.rank, one);
    }
  }
  const ranks = [...byRank.values()];
  const clocks = alignClocks(ranks.map(({ summary, moments }) => ({ ...summary, moments })));
  const summaries = ranks.map(({ summary }) => summary);
  const analysis = combineRanks(summaries, { jobId: null, worldSize, notes: [], offsets: clocks.offsets });
  if (summaries.length < 2) return analysis;
  return {
    ...analysis,
    clock: {
      used: clocks.used,
      wall_clock_ranks: clocks.wallClockRanks,
      first_samples_error_ns: clocks.firstSampleErrorNs,
      wall_clock_error_ns: clocks.wallClockErrorNs,
    },
  };
}

/** A rank's devices before its host, by name. */
function precedes(device: string, other: string): boolean {
  const [one, two] = [Number(device === "host"), Number(other === "host")];
  return one < two || (one === two && device < other);
}

const devicesFirst = (groups: readonly TableGroup[]): TableGroup[] =>
  [...groups].sort((a, b) => a.rank - b.rank || Number(a.device === "host") - Number(b.device === "host"));

/** Device memory of a rank: the first metric that has a value. A column without values would make it look absent. */
function summaryOf(group: TableGroup, epochNs: bigint, exact: number): RankSummary | null {
  for (const metric of ["used", "reserved", "allocated", "host"] as const) {
    const tables = tablesWith(group.tables, metric);
    const bytes = joinColumn(tables, (table) => table.columns[metric]);
    if (!bytes?.some(Number.isFinite)) continue;
    const timeNs = joinColumn(tables, (table) => table.timeNs);
    const steps = group.device === "host" ? joinColumn(tables, (table) => table.steps) : null;
    // On the host every rank's memory jumps while it loads its code, which is not evidence about the loop.
    const inLoop = steps?.some(Number.isFinite) ? steps : null;
    const stride = Math.max(1, Math.ceil(bytes.length / MAX_SAMPLES_PER_RANK));
    const rows = Uint32Array.from({ length: Math.ceil(bytes.length / stride) }, (_, k) => k * stride);
    const timeOf = (i: number) =>
      inLoop === null || Number.isFinite(inLoop[i]!) ? Math.round(timeNs === null ? i : timeNs[i]!) : Number.NaN;
    const usable = arrange(
      Float64Array.from(rows, timeOf),
      Float64Array.from(rows, (i) => bytes[i]!),
      false,
    );
    return summarizeRank(group.rank, { baseNs: epochNs, timeNs: usable.x, bytes: usable.bytes }, exact);
  }
  return null;
}

/** Times of a rank's steps: as its process recorded them, else from the changes of its step counter. */
function momentsOf(groups: readonly TableGroup[], rank: number, epochNs: bigint): StepTimes | null {
  const tables = groups.filter((group) => group.rank === rank).flatMap((group) => group.tables);
  const own = tables.filter(({ timeNs, steps }) => timeNs !== null && steps !== null);
  const [best] = own.sort(
    (a, b) => Number(b.atStep !== undefined) - Number(a.atStep !== undefined) || tableLength(b) - tableLength(a),
  );
  if (best === undefined || best.timeNs === null || best.steps === null) return null;
  return stepTimes(epochNs, best.timeNs, best.steps, best.atStep ?? null);
}
