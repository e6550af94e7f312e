import * as v from "valibot";
import { groupBy } from "../../core/group-by.ts";
import type { DeepReadonly } from "../../core/json.ts";
import { median } from "../../stats/order-statistics.ts";
import { firstAfter, firstIndex } from "../../telemetry/recording/common-clock.ts";
import type { ProbePhase, Recording } from "../../telemetry/recording/model.ts";
import { count, list, number, text } from "../series/document.ts";
import { type ChartSeries, seriesOf } from "../series/series.ts";

/** Memory by the phases that the program named, and the series by which they are measured. */
export const PhasesSchema = v.object({
  metric: v.picklist(["allocated", "host"]),
  /** Null where ranks differ in it. */
  device: v.nullable(text),
  /** In the order of their first entry, at most {@link MAX_NAMES}. */
  phases: list(
    v.object({
      name: text,
      /** Number of times it was entered, over all processes. */
      entered: count,
      /** Number of entries without an end: the process was killed, or ended, within them. */
      unended: count,
      /** Processes that entered it. */
      processes: count,
      /** Seconds spent in it, over all entries. One without an end lasts as long as its process. Null: none known. */
      seconds: v.nullable(number),
      /** Highest sample within it, of any rank; null without samples. */
      highest_bytes: v.nullable(number),
      /**
       * Its last sample minus the one at its beginning: the median over the entries that ended, contain a sample, and
       * have two different ones; null when none has.
       */
      growth_bytes: v.nullable(number),
    }),
  ),
  /** Omitted entries: a process keeps its first 256, and names are kept up to {@link MAX_NAMES}. */
  dropped: count,
});
export type PhasesMemory = DeepReadonly<v.InferOutput<typeof PhasesSchema>>;
export type PhaseMemory = PhasesMemory["phases"][number];

/** Maximum number of reported names. Names with numbers (epochs, batches) would fill any page. */
export const MAX_NAMES = 64;

export interface PhaseEntry extends ProbePhase {
  readonly pid: number;
  readonly rank: number;
}

/** Phases of all processes in the order of their beginnings. */
export function phaseEntries({ info }: Recording): PhaseEntry[] {
  const entries = (info?.probe?.processes ?? []).flatMap(({ pid, rank, phases = [] }): PhaseEntry[] =>
    phases.map((phase) => ({ ...phase, pid, rank: rank ?? info?.identity.rank ?? 0 })),
  );
  return entries.sort((a, b) => a.began_ns - b.began_ns);
}

/**
 * Memory by phase, by the first of these that the recording has: allocated on a device, allocated from the heap, host
 * memory of the process tree. Series are those of the rank whose process recorded the phase.
 * @returns null without phases
 */
export function phasesMemory(recording: Recording): PhasesMemory | null {
  const entries = phaseEntries(recording);
  if (entries.length === 0) return null;
  const groups = groupBy(entries, ({ name }) => name);
  const { metric, byRank } = leadingSeries(recording, new Set(entries.map(({ rank }) => rank)));
  const devices = new Set([...byRank.values()].map(({ device }) => device));
  const kept = [...groups.values()].slice(0, MAX_NAMES);
  const known = kept.reduce((sum, group) => sum + group.length, 0);
  const processes = recording.info?.probe?.processes ?? [];
  const unrecorded = processes.reduce((sum, { phases_dropped: dropped = 0 }) => sum + dropped, 0);
  const endOf = processEnds(recording);
  return {
    metric,
    device: devices.size === 1 ? ([...devices][0] ?? null) : null,
    phases: kept.map((group) => memoryOf(group, byRank, endOf)),
    dropped: unrecorded + entries.length - known,
  };
}

/** A phase as a section of a chart, seconds. */
export interface PhaseStretch {
  readonly name: string;
  readonly from_s: number;
  readonly to_s: number;
}

/**
 * The outermost phases of one process, in order, of the lowest rank that has any. Phases that overlap another one (of a
 * thread) are omitted. A phase without an end lasts as long as its process.
 */
export function outerPhases(recording: Recording): PhaseStretch[] {
  const named = (recording.info?.probe?.processes ?? []).filter(({ phases = [] }) => phases.length > 0);
  const [process] = named.sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0));
  const endOf = processEnds(recording);
  const stretches: PhaseStretch[] = [];
  let free = 0;
  for (const { name, began_ns: began, ended_ns: ended } of process?.phases ?? []) {
    const end = ended ?? endOf(process!.pid);
    if (began < free || !(end > began)) continue;
    stretches.push({ name, from_s: began / 1e9, to_s: end / 1e9 });
    free = end;
  }
  return stretches;
}

/** End of a process, nanoseconds: as recorded, else the end of the recording; NaN when neither is known. */
export function processEnds({ marks, info }: Recording): (pid: number) => number {
  const exits = new Map(marks.flatMap(({ kind, pid, timeNs }) => (kind === "process-exit" ? [[pid, timeNs]] : [])));
  const end = (info?.clock.duration_s ?? Number.NaN) * 1e9;
  return (pid) => exits.get(pid) ?? end;
}

/** The most informative series of each rank. */
export function leadingSeries(
  recording: Recording,
  ranks: ReadonlySet<number>,
): { readonly metric: PhasesMemory["metric"]; readonly byRank: ReadonlyMap<number, ChartSeries> } {
  const all = seriesOf(recording).filter(({ rank, bytes }) => ranks.has(rank) && bytes.length > 0);
  const device = all.filter((one) => one.metric === "allocated" && one.device !== "host");
  const heap = all.filter((one) => one.metric === "allocated" && one.device === "host");
  const host = all.filter((one) => one.metric === "host");
  const chosen = [device, heap].find((some) => some.length > 0) ?? host;
  const byRank = new Map<number, ChartSeries>();
  // Of several devices of a rank, the one with the highest sample.
  for (const one of chosen) {
    const other = byRank.get(one.rank);
    if (other === undefined || highest(one.bytes) > highest(other.bytes)) byRank.set(one.rank, one);
  }
  return { metric: chosen === host ? "host" : "allocated", byRank };
}

function highest(bytes: Float64Array, from = 0, to = bytes.length): number {
  let most = Number.NEGATIVE_INFINITY;
  for (let i = from; i < to; i++) if (bytes[i]! > most) most = bytes[i]!;
  return most;
}

function memoryOf(
  group: readonly PhaseEntry[],
  byRank: ReadonlyMap<number, ChartSeries>,
  endOf: (pid: number) => number,
): PhaseMemory {
  let seconds: number | null = null;
  let most = Number.NEGATIVE_INFINITY;
  const growths: number[] = [];
  for (const { began_ns: began, ended_ns: ended, pid, rank } of group) {
    const end = ended ?? endOf(pid);
    if (!Number.isNaN(end)) seconds = (seconds ?? 0) + Math.max(0, end - began) / 1e9;
    const series = byRank.get(rank);
    if (series === undefined) continue;
    const from = firstFrom(series.timeS, began / 1e9);
    // A sample exactly at the end belongs to the phase. Without an end, all later samples do.
    const to = Number.isNaN(end) ? series.timeS.length : firstAfter(series.timeS, end / 1e9);
    most = Math.max(most, highest(series.bytes, from, to));
    if (ended === null || to === from) continue;
    // A sample after the end would show what was released since, such as by the end of the process.
    const [first, last] = [atBeginning(series, from, began / 1e9), to - 1];
    if (last > first) growths.push(series.bytes[last]! - series.bytes[first]!);
  }
  return {
    name: group[0]!.name,
    entered: group.length,
    unended: group.filter(({ ended_ns: ended }) => ended === null).length,
    processes: new Set(group.map(({ pid }) => pid)).size,
    seconds,
    highest_bytes: Number.isFinite(most) ? most : null,
    growth_bytes: growths.length === 0 ? null : median(growths),
  };
}

/** Index of the first of ascending times that is at least `time`, else their number. */
export const firstFrom = (times: Float64Array, time: number): number =>
  firstIndex(times.length, (i) => times[i]! < time);

/**
 * Index of the sample that has the level at the beginning of a phase: its own first one, `from`, or a nearer one
 * before, such as the last of the previous phase, unless memory was released in between.
 */
function atBeginning({ timeS, bytes }: ChartSeries, from: number, began: number): number {
  const before = from - 1;
  const nearer = before >= 0 && began - timeS[before]! <= timeS[from]! - began;
  return nearer && bytes[before]! <= bytes[from]! ? before : from;
}
