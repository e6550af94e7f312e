import type { Recording, SampleTable } from "../telemetry/model.ts";
import type { RanksAnalysis } from "./document.ts";
import { groupTables, joinColumn, tableLength } from "./series.ts";
import { crossRank, type RankSample } from "./stormlog/cross-rank.ts";

/** Enough to find an onset; longer recordings are thinned evenly to this many samples per rank. */
const MAX_SAMPLES_PER_RANK = 20_000;

const isSample = (eventType: string): boolean => eventType.trim().toLowerCase() === "sample";

/** Which ranks took part, which are missing, and which one jumped first. */
export function analyseRanks(recording: Recording): RanksAnalysis {
  const { events } = recording;
  if (events?.some((event) => isSample(event.eventType))) {
    const samples = events.flatMap((event): RankSample[] =>
      isSample(event.eventType) && event.deviceUsed !== null ? [{ ...event, deviceUsed: event.deviceUsed }] : [],
    );
    return crossRank(
      samples,
      events.some((event) => !isSample(event.eventType)),
    );
  }
  const worldSize = Math.max(recording.worldSize ?? 1, recording.info?.identity.world_size ?? 1);
  return crossRank(
    groupTables(recording.tables).flatMap((group) => tableSamples(group, recording.epochNs ?? 0n, worldSize)),
    false,
  );
}

/** Device memory of a rank's first device that has it; ranks without one still count as present. */
function tableSamples(
  group: { readonly rank: number; readonly device: string; readonly tables: readonly SampleTable[] },
  epochNs: bigint,
  worldSize: number,
): RankSample[] {
  // The first that has a value: a column without one must not make its rank look absent.
  const used = (["used", "reserved", "allocated", "host"] as const)
    .map((metric) => joinColumn(group.tables, (table) => table.columns[metric]))
    .find((column) => column?.some(Number.isFinite));
  const timeNs = joinColumn(group.tables, (table) => table.timeNs);
  const length = group.tables.reduce((sum, table) => sum + tableLength(table), 0);
  const stride = Math.max(1, Math.ceil(length / MAX_SAMPLES_PER_RANK));
  const samples: RankSample[] = [];
  for (let i = 0; i < length; i += stride) {
    const bytes = used?.[i] ?? Number.NaN;
    const at = timeNs ? timeNs[i]! : i;
    if (!Number.isFinite(bytes) || !Number.isFinite(at)) continue;
    const timestampNs = epochNs + BigInt(Math.round(at));
    samples.push({ rank: group.rank, timestampNs, pid: -1, host: "", jobId: null, worldSize, deviceUsed: bytes });
  }
  return samples;
}
