import type { Measurements } from "../../analysis/measurements.ts";
import { plural } from "../../core/text.ts";
import type { Metric } from "../../telemetry/recording/metrics.ts";
import type { Check } from "../model/judgement.ts";
import { indexSeries } from "../model/series-index.ts";
import { checkOf } from "./check.ts";
import { peaks } from "./peak-rule.ts";

/**
 * Running out of memory fails at once, because the limit is the machine's. Output of the program alone is only a
 * warning: a program may print anything. The check names the gating series with the highest peak of those runs. Empty
 * when there is none.
 */
export function oomRule(candidate: Measurements, gating: ReadonlySet<Metric>): readonly Check[] {
  const certain = candidate.runs.filter((run) => run.oom === true);
  const died = certain.length > 0 ? certain : candidate.runs.filter((run) => run.oom_suspected === true);
  if (died.length === 0) return [];
  const established = certain.length > 0;
  const [highest] = indexSeries({ ...candidate, runs: died })
    .filter(({ key }) => gating.has(key.metric))
    .map(({ key, runs }) => ({
      key,
      peak: Math.max(Number.NEGATIVE_INFINITY, ...peaks(runs).map(({ value }) => value)),
    }))
    .sort((a, b) => b.peak - a.peak);
  const key = highest?.key ?? { rank: 0, device: "*", metric: [...gating][0] ?? "allocated" };
  return [
    checkOf(key, {
      aspect: "oom",
      limit: "budget",
      gating: true,
      verdict: established ? "fail" : "warn",
      confirmed: established,
      candidate_bytes: highest !== undefined && Number.isFinite(highest.peak) ? highest.peak : null,
      reason: `${established ? "ran" : "may have run"} out of memory in ${died.length} of ${plural(candidate.runs.length, "run")}`,
    }),
  ];
}
