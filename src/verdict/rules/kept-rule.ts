import type { MeasuredRun, MeasuredSeries } from "../../analysis/measurements.ts";
import type { DriftClass } from "../../analysis/series/document.ts";
import { materialChange } from "../../analysis/trend/materiality.ts";
import { formatBytes } from "../../core/units.ts";
import type { Check } from "../model/judgement.ts";
import { finite, sameSeries } from "../model/series-index.ts";

/** Shapes of memory in use that goes on growing, or may. */
const GROWS: ReadonlySet<DriftClass | undefined> = new Set([
  undefined,
  "leak",
  "rising",
  "insufficient",
  "unavailable",
]);

/** Whether memory in use has levelled off, or moved by less than what is material: teeth may hide a slow leak. */
function isStill(inUse: MeasuredSeries | undefined): boolean {
  const growth = finite(inUse?.growth_bytes);
  if (inUse === undefined || growth === null || GROWS.has(inUse.class)) return false;
  return inUse.class === "plateau" || growth < materialChange(finite(inUse.peak_bytes) ?? 0, inUse);
}

/** What the C heaps of a run gained, bytes, where host memory gained no more and what is in use does not grow. */
function keptIn({ series, heaps = [] }: MeasuredRun, rank: number): number | null {
  const of = (metric: MeasuredSeries["metric"]) =>
    [...heaps, ...series].find((one) => sameSeries(one, { rank, device: "host", metric }));
  const [host, inUse, heap] = [of("host"), of("allocated"), of("reserved")];
  const [grown, gained] = [host, heap].map((one) => finite(one?.growth_bytes));
  if (host === undefined || grown == null || gained == null || !isStill(inUse)) return null;
  const unexplained = grown - gained;
  return unexplained < materialChange(finite(host.peak_bytes) ?? 0, host) ? gained : null;
}

/**
 * The checks, where growth of host memory that the C heap keeps warns: what the program uses of that heap has stopped
 * growing in every run that has its counters (a C program is confirmed with them), and what was freed to the allocator
 * does not leak. The counters are those of glibc's `mallinfo2(3)`: arenas and maps, and what of them is allocated.
 */
export function keptRule(checks: readonly Check[], runs: readonly MeasuredRun[]): readonly Check[] {
  return checks.map((check) => {
    const isGrowth =
      check.device === "host" && check.metric === "host" && (check.kind === "growth" || check.kind === "class");
    if (!isGrowth || check.verdict !== "fail" || check.horizon !== undefined) return check;
    const inUse = { rank: check.rank, device: "host", metric: "allocated" } as const;
    const counted = runs.filter(({ series }) => series.some((one) => sameSeries(one, inUse)));
    const kept = counted.map((run) => keptIn(run, check.rank));
    const [last] = kept.slice(-1);
    if (last == null || kept.includes(null)) return check;
    const reason =
      `${check.reason}; the C heap keeps it (+${formatBytes(last)}), and what is in use does not go on growing: ` +
      "MALLOC_ARENA_MAX and malloc_trim(3) limit what is kept";
    const needs = { needs_more_runs: 0, needs_base_runs: 0, confirmed: false };
    return { ...check, ...needs, verdict: "warn", kept_bytes: last, reason };
  });
}
