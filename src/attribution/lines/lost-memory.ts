import type { AttributedLine } from "../../snapshot/growth/attributed-line.ts";
import type { ProcessEvidence } from "../../snapshot/growth/attribution.ts";
import type { LinesSample } from "../../snapshot/growth/lines-document.ts";

/** Samples with a count of objects from which on the first, which may contain the start of the program, is left out. */
const FROM_SECOND = 4;
/** Fewer new objects are no structure that grows. */
const MIN_OBJECTS = 16;
/** Of new objects, the share without a referrer from which on they are lost: its stack alone holds a few. */
const LOST_SHARE = 0.15;
/** Fewer new blocks on a line are a buffer that grows. */
const MIN_BLOCKS = 8;

/** Whether the number of the program's objects grows from sample to sample. */
function climbs(counts: readonly number[]): boolean {
  const settled = counts.length >= FROM_SECOND ? counts.slice(1) : counts;
  const rise = (settled.at(-1) ?? 0) - (settled[0] ?? 0);
  return rise >= MIN_OBJECTS && settled.every((count, at) => at === 0 || count > (settled[at - 1] ?? 0));
}

/** Whether one process reaches what grows in it; null where its objects were not counted often enough. */
function reaches(samples: readonly LinesSample[]): boolean | null {
  const counted = samples
    .filter(({ source, facts }) => source === "tracemalloc" && facts.objects !== undefined)
    .sort((a, b) => a.moment - b.moment);
  if (counted.length < 2) return null;
  const { steady_containers: steady = 0, newest = 0, unreferenced = 0 } = counted.at(-1)?.facts ?? {};
  if (steady > 0) return true;
  return climbs(counted.map(({ facts }) => facts.objects ?? 0)) && unreferenced < LOST_SHARE * newest;
}

/** By how much Python's live memory grew from the first sample to the last, bytes over all processes. */
export function tracedGrowth(processes: readonly ProcessEvidence[]): number {
  const growthOf = ({ moments }: ProcessEvidence): number => {
    const totals = moments
      .filter(({ source }) => source === "tracemalloc")
      .sort((a, b) => a.moment - b.moment)
      .map(({ sample }) => sample.totalBytes);
    return (totals.at(-1) ?? 0) - (totals[0] ?? 0);
  };
  return processes.reduce((sum, process) => sum + Math.max(0, growthOf(process)), 0);
}

/** That growth for each second between the first and the last moment, of all processes; null with fewer than two. */
export function tracedRate(processes: readonly ProcessEvidence[]): number | null {
  const rates = processes.flatMap(({ moments }) => {
    const traced = moments.filter(({ source, ended, unread }) => source === "tracemalloc" && !ended && !unread);
    const [first, last] = [traced[0]?.sample, traced.at(-1)?.sample];
    const tookNs = (last?.timeNs ?? 0) - (first?.timeNs ?? 0);
    const bytes = (last?.totalBytes ?? 0) - (first?.totalBytes ?? 0);
    return tookNs > 0 ? [(1e9 * Math.max(0, bytes)) / tookNs] : [];
  });
  const sum = rates.reduce((total, rate) => total + rate, 0);
  return sum > 0 ? sum : null;
}

/**
 * Whether nothing grows that the programs of an attribution run still reach: no container that gains elements at every
 * moment, none that was seen to keep most of what grew, no objects that something refers to, no single buffer. Null
 * where it is not known.
 * @param lines that are named  @param seen all that ended higher
 */
export function isLost(
  processes: readonly ProcessEvidence[],
  lines: readonly AttributedLine[],
  seen: readonly AttributedLine[],
): boolean | null {
  if (lines.some(({ countGrowth }) => countGrowth < MIN_BLOCKS)) return false;
  const held = seen.filter(({ placed, device }) => placed === "kept" && device === "host");
  const kept = held.reduce((sum, { growthBytes }) => sum + growthBytes, 0);
  if (kept > 0 && 2 * kept >= tracedGrowth(processes)) return false;
  const known = processes.map(({ moments }) => reaches(moments)).filter((reached) => reached !== null);
  return known.length === 0 ? null : !known.includes(true);
}
