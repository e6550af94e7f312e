import tCdf from "@stdlib/stats-base-dists-t-cdf";
import { fitLine } from "../../../src/stats/least-squares.ts";
import type { Rule } from "./rule.ts";

/** Stormlog's temporal trend: Pearson's r above 0.5 with a two-sided p below 0.05, growing. */
export const stormlogTemporal: Rule = {
  name: "Stormlog p < .05, r > .5",
  judge: (bytes) => {
    const n = bytes.length;
    if (n < 5) return "none";
    const { slope, sse, sxx } = fitLine(
      Float64Array.from({ length: n }, (_, i) => i),
      bytes,
    );
    const explained = slope * slope * sxx;
    if (!(slope > 0) || explained + sse === 0) return "other";
    const r = Math.sqrt(explained / (explained + sse));
    if (!(r > 0.5)) return "other";
    if (sse === 0) return "leak";
    const t = r * Math.sqrt((n - 2) / (1 - r * r));
    return 2 * (1 - tCdf(t, n - 2)) < 0.05 ? "leak" : "other";
  },
};
