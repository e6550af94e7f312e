import type { Metric } from "../../../src/telemetry/recording/metrics.ts";
import { judgeUntilFinal, peakOnly } from "../decide.ts";
import type { PeakRule } from "./peak-rule.ts";

/**
 * Our own rule on peaks alone, each baseline run of a session of its own. `withBase`: whether the base can be run
 * again.
 */
export function oursOnPeaks(withBase: boolean, history = 10, metric: Metric = "allocated"): PeakRule {
  return {
    name: withBase ? "Stormlog Gate" : "Stormlog Gate, base not run",
    history,
    judge: ({ baseline, run, base }) => {
      const { judgement, candidateRuns, baseRuns } = judgeUntilFinal({
        baseline: baseline.map((peak) => [peakOnly(peak, metric)]),
        candidate: () => peakOnly(run(), metric),
        base: withBase ? () => peakOnly(base(), metric) : null,
        gating: metric,
      });
      return { alarm: judgement.verdict === "fail", runs: candidateRuns + baseRuns };
    },
  };
}
