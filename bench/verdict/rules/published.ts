import tCdf from "@stdlib/stats-base-dists-t-cdf";
import { GIB } from "../../../src/core/units.ts";
import { fitLine } from "../../../src/stats/least-squares.ts";
import { mean } from "../../../src/stats/moments.ts";
import { median } from "../../../src/stats/order-statistics.ts";
import { type Rule, thinned } from "./rule.ts";

const index = (n: number) => Float64Array.from({ length: n }, (_, i) => i);

/** Stormlog's rule for persistent drift of the gap, on the series itself: a positive slope with R² of at least 0.6. */
export const stormlogR2: Rule = {
  name: "Stormlog R² ≥ 0.6",
  judge: (bytes) => {
    if (bytes.length < 3) return "none";
    const { slope, sse } = fitLine(index(bytes.length), bytes);
    const centre = mean(bytes);
    const total = bytes.reduce((sum, value) => sum + (value - centre) ** 2, 0);
    return slope > 0 && total > 0 && 1 - sse / total >= 0.6 ? "leak" : "other";
  },
};

/**
 * TraceML's bands: means of 15–25 %, 45–55 % and 90–100 % of the window must rise strictly. From 1 GiB on it is
 * confirmed, its only warning; below it is early, which it shows for information.
 */
export const tracemlBands: Rule = {
  name: "TraceML bands (warning)",
  judge: (bytes) => {
    const n = bytes.length;
    if (n < 50) return "none";
    const band = (from: number, to: number) => mean(bytes, Math.floor(n * from), Math.ceil(n * to));
    const [base, middle, recent] = [band(0.15, 0.25), band(0.45, 0.55), band(0.9, 1)];
    if (!(base < middle && middle < recent)) return "other";
    return recent - base >= GIB ? "leak" : "rising";
  },
};

/** The same bands with its informational finding taken for an alarm. */
export const tracemlAny: Rule = {
  name: "TraceML bands (any)",
  judge: (bytes, kind) => {
    const answer = tracemlBands.judge(bytes, kind);
    return answer === "rising" ? "leak" : answer;
  },
};

/** A positive least-squares slope with a two-sided p below 0.05. */
export const olsP: Rule = {
  name: "OLS p < 0.05",
  judge: (bytes) => {
    const n = bytes.length;
    if (n < 3) return "none";
    const { slope, sse, sxx } = fitLine(index(n), bytes);
    if (!(slope > 0)) return "other";
    if (sse === 0) return "leak";
    const t = slope / Math.sqrt(sse / (n - 2) / sxx);
    return 2 * (1 - tCdf(t, n - 2)) < 0.05 ? "leak" : "other";
  },
};

/** Mann and Kendall's S with the tie-corrected normal approximation, two-sided p below 0.05 and S positive. */
export const mannKendall: Rule = {
  name: "Mann–Kendall p < 0.05",
  judge: (all) => {
    const y = thinned(all);
    const n = y.length;
    if (n < 4) return "none";
    let s = 0;
    for (let i = 0; i < n; i++) for (let j = i + 1; j < n; j++) s += Math.sign(y[j]! - y[i]!);
    const ties = new Map<number, number>();
    for (const value of y) ties.set(value, (ties.get(value) ?? 0) + 1);
    let variance = n * (n - 1) * (2 * n + 5);
    for (const t of ties.values()) variance -= t * (t - 1) * (2 * t + 5);
    return s > 0 && variance > 0 && (s - 1) / Math.sqrt(variance / 18) > 1.96 ? "leak" : "other";
  },
};

/**
 * CPython's `-R 3:3` for memory blocks: three repetitions to warm up, then each of three must end higher than the one
 * before. A repetition is a sixth of the series here, its level the median.
 */
export const cpythonR: Rule = {
  name: "CPython -R 3:3",
  judge: (bytes) => {
    const n = bytes.length;
    if (n < 6) return "none";
    const levels = Array.from({ length: 6 }, (_, k) =>
      median(bytes.subarray(Math.floor((k * n) / 6), Math.floor(((k + 1) * n) / 6))),
    );
    return [3, 4, 5].every((k) => levels[k]! - levels[k - 1]! >= 1) ? "leak" : "other";
  },
};
