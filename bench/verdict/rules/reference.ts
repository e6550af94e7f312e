import { MIB } from "../../../src/core/units.ts";
import { fitLine } from "../../../src/stats/least-squares.ts";
import { mean } from "../../../src/stats/moments.ts";
import { residualMser } from "../../../src/stats/mser.ts";
import { median } from "../../../src/stats/order-statistics.ts";
import { studentQuantile } from "../../../src/stats/student-t.ts";
import { type Answer, type Rule, thinned } from "./rule.ts";

/** Lag of the highest autocorrelation of the detrended series after its first zero crossing; 1 for none. */
function period(values: Float64Array): number {
  const n = values.length;
  const { slope, intercept } = fitLine(
    Float64Array.from({ length: n }, (_, i) => i),
    values,
  );
  const rest = values.map((value, i) => value - intercept - slope * i);
  const variance = rest.reduce((sum, value) => sum + value * value, 0);
  if (!(variance > 0)) return 1;
  let crossed = false;
  let best = 1;
  let highest = Number.NEGATIVE_INFINITY;
  for (let lag = 1; lag < n / 2; lag++) {
    let product = 0;
    for (let i = lag; i < n; i++) product += rest[i]! * rest[i - lag]!;
    const correlation = product / variance;
    if (correlation <= 0) crossed = true;
    if (crossed && correlation > highest) {
      highest = correlation;
      best = lag;
    }
  }
  return highest > 0.35 && best <= n / 12 ? best : 1;
}

function judgeLevel(values: Float64Array): Answer {
  const n = values.length;
  const noise = 512 / Math.sqrt(12);
  const delta = Math.max(16 * MIB, 0.01 * median(values));
  const p = period(values);
  const size = Math.max(1, Math.ceil(n / 120), p);
  const blocks = Math.floor(n / size);
  const offset = n - blocks * size;
  const low = Float64Array.from({ length: blocks }, (_, k) => {
    const block = values.subarray(offset + k * size, offset + (k + 1) * size);
    return p > 1 ? Math.min(...block) : median(block);
  });
  const index = Float64Array.from({ length: blocks }, (_, i) => i);
  const z = low.subarray(residualMser(index, low, noise));
  const parts = Math.min(12, z.length);
  if (parts < 6) return "none";
  const y = Float64Array.from({ length: parts }, (_, k) =>
    median(z.subarray(Math.floor((k * z.length) / parts), Math.floor(((k + 1) * z.length) / parts))),
  );
  const fit = fitLine(
    Float64Array.from({ length: parts }, (_, i) => i),
    y,
  );
  const error = Math.sqrt((fit.sse / (parts - 2) + noise * noise) / fit.sxx);
  const significant = fit.slope > studentQuantile(0.99, parts - 2) * error;
  const net = mean(y, parts - 2, parts) - mean(y, 0, 2);
  if (!(net > delta)) return "other";
  const rises = Array.from(y.subarray(1), (value, i) => Math.max(0, value - y[i]!)).sort((a, b) => b - a);
  const one = rises[0]! / net;
  const two = (rises[0]! + rises[1]!) / net;
  const quarters = Array.from({ length: 4 }, (_, q) =>
    median(y.subarray(Math.floor((q * parts) / 4), Math.floor(((q + 1) * parts) / 4))),
  );
  const rising = quarters.every((value, q) => q === 0 || value > quarters[q - 1]!);
  const w = Math.max(2, Math.floor(parts / 6));
  const h = Math.floor(parts / 2);
  const tail = mean(y, parts - w, parts) - mean(y, h, h + w);
  if (significant && rising && one <= 0.5 && two <= 0.75 && tail > 0.2 * net) return "leak";
  if (one > 0.5 || two > 0.75) return "other";
  return significant ? "rising" : "other";
}

/** At least four records of the block maxima in the second half, and more than 1 % and the floor of late growth. */
function judgeHighwater(values: Float64Array): Answer {
  const size = Math.max(1, Math.ceil(values.length / 120));
  const blocks = Math.floor(values.length / size);
  if (blocks < 12) return "none";
  let top = Number.NEGATIVE_INFINITY;
  let before = Number.NEGATIVE_INFINITY;
  let records = 0;
  for (let k = 0; k < blocks; k++) {
    const high = Math.max(...values.subarray(k * size, (k + 1) * size));
    if (k < blocks / 2) before = Math.max(before, high);
    else if (high > top) records++;
    top = Math.max(top, high);
  }
  return records >= 4 && top - before > Math.max(16 * MIB, 0.01 * median(values)) ? "rising" : "other";
}

/**
 * The batch-means detector this project started from: residual MSER trim, t test on twelve parts, shape conditions on
 * the size of single rises; the record rule for running maxima.
 */
export const referenceDetector: Rule = {
  name: "batch-means reference",
  judge: (all, kind) => {
    if (all.length < 24) return "none";
    const values = thinned(all);
    return kind === "highwater" ? judgeHighwater(values) : judgeLevel(values);
  },
};
