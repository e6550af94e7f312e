import type { MeasuredSeries } from "../analysis/measurements.ts";
import { groupBy } from "../core/group-by.ts";
import type { Anchor } from "../gate/scenario/anchor.ts";
import { median } from "../stats/order-statistics.ts";
import { METRIC, METRICS, type Metric } from "../telemetry/recording/metrics.ts";
import { gatingMetrics } from "../verdict/gating.ts";
import { DEFAULT_POLICY } from "../verdict/model/defaults.ts";
import { type Change, changesOf } from "./changes.ts";
import type { RunSession } from "./sessions.ts";

/** The peaks or the growths of a metric. */
export interface MetricHistory {
  readonly metric: Metric;
  readonly quantity: "peak" | "growth";
  /** Oldest first; the value is the median of the session's runs, of the rank and device with the most. */
  readonly points: readonly { readonly session: RunSession; readonly value: number }[];
  readonly changes: readonly Change[];
  /** Peak of the release anchor; null = it has none. */
  readonly anchor: number | null;
}

/** What the sessions of one scenario in one environment measured. */
export interface ScenarioHistory {
  readonly scenario: string;
  readonly environment: string;
  readonly sessions: readonly RunSession[];
  readonly series: readonly MetricHistory[];
}

/** Share of a peak by which a change is shown, as in the text of an acceptance. */
const MIN_SHARE = 0.01;

function sessionValue({ runs }: RunSession, of: (series: MeasuredSeries) => number | null | undefined): number | null {
  const known = runs.map(({ series }) => series.flatMap((one) => of(one) ?? [])).filter(({ length }) => length > 0);
  return known.length === 0 ? null : median(known.map((values) => Math.max(...values)));
}

function metricHistory(
  sessions: readonly RunSession[],
  metric: Metric,
  quantity: MetricHistory["quantity"],
  anchor: number | null,
): MetricHistory {
  const points = sessions.flatMap((session) => {
    const value = sessionValue(session, (one) =>
      one.metric !== metric || one.phase !== undefined || one.cut === true ? null : one[`${quantity}_bytes`],
    );
    return value === null ? [] : [{ session, value }];
  });
  const values = Float64Array.from(points, ({ value }) => value);
  const { floorBytes, quantumBytes } = METRIC[metric];
  const changes = changesOf(values, (level) =>
    quantity === "growth" ? floorBytes : Math.max(MIN_SHARE * level, quantumBytes),
  );
  return { metric, quantity, points, changes, anchor };
}

/** Ordered sessions as histories: of each scenario in each environment, the series that gate without a policy. */
export function scenarioHistories(
  ordered: readonly RunSession[],
  anchorOf: (scenario: string, environment: string) => Anchor | null,
): readonly ScenarioHistory[] {
  const groups = groupBy(ordered, ({ scenario, environment }) => JSON.stringify([scenario, environment]));
  return [...groups.values()].map((sessions): ScenarioHistory => {
    const { scenario, environment } = sessions[0]!;
    const anchored = anchorOf(scenario, environment)?.series ?? [];
    const runs = sessions.flatMap((session) => session.runs);
    const gating = gatingMetrics(DEFAULT_POLICY, { scenario, fingerprint: null, runs });
    // Growth by another version of the analysis is not comparable.
    const version = runs.at(-1)?.analysis_version;
    const sameAnalysis = sessions.filter((session) => session.runs.at(-1)?.analysis_version === version);
    const series = METRICS.filter((metric) => gating.has(metric)).flatMap((metric) => {
      const peaks = anchored.flatMap(([, , name, bytes]) => (name === metric ? [bytes] : []));
      return [
        metricHistory(
          METRIC[metric].hasPeak ? sessions : [],
          metric,
          "peak",
          peaks.length > 0 ? Math.max(...peaks) : null,
        ),
        metricHistory(sameAnalysis, metric, "growth", null),
      ];
    });
    return { scenario, environment, sessions, series: series.filter(({ points }) => points.length > 0) };
  });
}
