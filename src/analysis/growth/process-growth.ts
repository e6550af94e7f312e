import { median } from "../../stats/order-statistics.ts";
import type { Recording } from "../../telemetry/recording/model.ts";
import type { ProcessAnalysis } from "../series/document.ts";
import type { MetricSeries } from "../series/series.ts";
import { STARTUP_NS } from "./series-analysis.ts";

/** Stretches of a recording that its growth is read from at least: two quarters of three. */
const MIN_STRETCHES = 8;

/**
 * What each role of the processes holds and how much it gained while the program worked: the middle of what it held at
 * least in the last quarter less that in the first. Its share is that of all gains.
 */
export function processGrowth({ info }: Recording, collected: readonly MetricSeries[]): readonly ProcessAnalysis[] {
  const recorded = info?.processes;
  const host = collected.find(({ metric, timeNs }) => metric === "host" && timeNs !== null);
  const { begin_ns: beginNs, bin_ns: binNs, roles } = recorded ?? { begin_ns: 0, bin_ns: 1, roles: [] };
  const end = host?.timeNs?.at(-1);
  if (info === null || host === undefined || end === undefined || roles.length < 2) return [];
  const from = host.loopFromNs ?? beginNs + STARTUP_NS;
  const grown = roles.map((role) => {
    const within = role.bytes.filter((_, i) => beginNs + i * binNs >= from && beginNs + (i + 1) * binNs <= end);
    const quarter = Math.floor(within.length / 4);
    const growth =
      within.length < MIN_STRETCHES
        ? null
        : median(Float64Array.from(within.slice(-quarter))) - median(Float64Array.from(within.slice(0, quarter)));
    return { ...role, growth, window_s: (within.length * binNs) / 1e9 };
  });
  const all = grown.reduce((sum, { growth }) => sum + Math.max(0, growth ?? 0), 0);
  return grown.map(({ role, program, pids, peak_bytes, growth, window_s }) => {
    const share = growth === null || all === 0 ? null : Math.max(0, growth) / all;
    return { role, program, rank: info.identity.rank, pids, peak_bytes, growth_bytes: growth, share, window_s };
  });
}
