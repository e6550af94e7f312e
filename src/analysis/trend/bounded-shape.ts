import { normalMad } from "../../stats/mad.ts";
import { mean } from "../../stats/moments.ts";
import { median } from "../../stats/order-statistics.ts";
import type { DriftClass } from "../series/document.ts";
import type { Bins } from "./bins.ts";

/**
 * Class of a series that neither grows nor shrinks.
 * @param cut blocks of `blocks` that are warm-up; `settled` are the others
 * @param cycleSwing swing of the cycle, 0 when there is none, null when the series cycles without a fixed shape
 * @param change smallest material change, bytes
 */
export function boundedShape(
  blocks: Bins,
  settled: Bins,
  cut: number,
  cycleSwing: number | null,
  change: number,
): DriftClass {
  if (cycleSwing !== null && cycleSwing > change) return "sawtooth";
  const high = settled.high;
  const top = median(high);
  const excess = Math.max(...high) - top;
  const above = high.reduce((count, value) => count + (value - top > excess / 2 ? 1 : 0), 0);
  if (excess > Math.max(10 * normalMad(high), 5 * change) && above < Math.max(2, 0.05 * high.length)) return "spike";
  const swing = cycleSwing ?? median(Float64Array.from(high, (value, i) => value - settled.low[i]!));
  if (swing > change) return "sawtooth";
  if (cut > 0) {
    const early = median(settled.middle.subarray(0, Math.max(3, Math.floor(settled.count / 6))));
    const start = mean(blocks.middle, 0, Math.max(1, Math.floor(blocks.count / 50)));
    if (early - start > change) return "plateau";
  }
  return "flat";
}
