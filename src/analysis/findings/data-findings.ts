import { plural } from "../../core/text.ts";
import type { Horizon } from "../../core/units.ts";
import { isCounted, METRIC, metricNoun } from "../../telemetry/recording/metrics.ts";
import { type AnalysedSeries, MIN_SAMPLES } from "../growth/series-analysis.ts";
import type { Finding } from "../series/document.ts";
import type { StoredFeatures } from "../series/features-schema.ts";
import type { MetricSeries } from "../series/series.ts";
import { where } from "./findings.ts";

/** A rank that covers less than this share of the longest rank's span ended early or began late. */
const COVERED_SHARE = 0.8;

/** Facts about a series' samples besides its analysis. */
export type SeriesShape = StoredFeatures["shapes"][number];

export function shapeOf({ rank, device, metric, bytes, steps, timeNs }: MetricSeries): SeriesShape {
  return { rank, device, metric, rows: bytes.length, steps: extent(steps, bytes), time: extent(timeNs, bytes) };
}

/** Reports why a series could not be judged, so that no series is skipped silently. */
export function dataFindings(
  collected: readonly SeriesShape[],
  analysed: readonly AnalysedSeries[],
  horizon: Horizon | null,
): Finding[] {
  return [
    ...analysed.flatMap((entry, i) => {
      const series = collected[i];
      // Readings of what is counted beside memory are few in every short run.
      const isLeft = series === undefined || isCounted(series.metric);
      return isLeft ? [] : [...unjudged(series, entry), ...horizonUnused(series, entry, horizon)];
    }),
    ...shortRanks(collected),
  ];
}

function unjudged(series: SeriesShape, { analysis }: AnalysedSeries): Finding[] {
  const finding = (classification: string, description: string, remediation: string): Finding => ({
    classification,
    severity: "info",
    confidence: 1,
    ...where(series),
    evidence: { samples: analysis.samples, rows: series.rows },
    description,
    remediation: [remediation],
  });
  if (analysis.class === "unavailable") {
    return [
      finding(
        "unavailable",
        `${metricNoun(series.metric)} has no usable value in ${series.rows} rows.`,
        "See the counts of missing values; the counter may not exist on this device.",
      ),
    ];
  }
  if (analysis.class !== "insufficient") return [];
  const rows = plural(analysis.samples, "usable sample");
  return [
    finding(
      "insufficient_data",
      analysis.samples < MIN_SAMPLES
        ? `${metricNoun(series.metric)} has ${rows} (growth is judged from ${MIN_SAMPLES} on).`
        : `${metricNoun(series.metric)} has ${rows}, but they do not spread over enough of the run to judge growth.`,
      "Run longer or sample more often.",
    ),
  ];
}

/** A horizon in steps does not apply to a series without steps, nor one in hours to a series without a clock. */
function horizonUnused(series: SeriesShape, entry: AnalysedSeries, horizon: Horizon | null): Finding[] {
  const { analysis, growthAtHorizon } = entry;
  if (horizon === null || growthAtHorizon !== null || analysis.growth_bytes === null) return [];
  if (METRIC[analysis.metric].isLeftBehind) return [];
  const lacks = horizon.kind === "steps" ? "steps" : "time stamps";
  return [
    {
      classification: "horizon_unused",
      severity: "warning",
      confidence: 1,
      ...where(series),
      evidence: { horizon: horizon.kind === "steps" ? horizon.steps : horizon.seconds, horizon_unit: horizon.kind },
      description: `The stated horizon cannot be applied to ${metricNoun(series.metric)}: the series has no ${lacks}. Its growth was judged over the observed span.`,
      remediation: [
        horizon.kind === "steps"
          ? "State the horizon in hours, or record the training step."
          : "State the horizon in steps, or record time stamps.",
      ],
    },
  ];
}

interface Extent {
  readonly first: number;
  readonly last: number;
}

function extent(axis: Float64Array | null, bytes: Float64Array): Extent | null {
  if (axis === null) return null;
  let first = Number.POSITIVE_INFINITY;
  let last = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < axis.length; i++) {
    const at = axis[i] ?? Number.NaN;
    if (Number.isNaN(at) || Number.isNaN(bytes[i] ?? Number.NaN)) continue;
    if (at < first) first = at;
    if (at > last) last = at;
  }
  return last >= first ? { first, last } : null;
}

/**
 * Ranks that cover less of the run than the others: a rank that died has no samples for the time after. Steps are
 * compared if every rank has them, else durations, which do not depend on the ranks' clocks.
 */
function shortRanks(collected: readonly SeriesShape[]): Finding[] {
  for (const metric of ["allocated", "used", "reserved", "host"] as const) {
    const perRank = new Map<number, SeriesShape>();
    for (const series of collected) {
      if (series.metric === metric && !perRank.has(series.rank)) perRank.set(series.rank, series);
    }
    if (perRank.size < 2) continue;
    const all = [...perRank.values()];
    const bySteps = all.map(({ steps }) => steps);
    const unit = bySteps.every((found) => found !== null && found.last > found.first) ? "steps" : "seconds";
    const extents = unit === "steps" ? bySteps : all.map(({ time }) => time);
    const lengths = extents.map((found) => (found === null ? 0 : found.last - found.first));
    const longest = lengths.reduce((most, length) => Math.max(most, length), 0);
    if (!(longest > 0)) continue;
    const scale = unit === "steps" ? 1 : 1e-9;
    return all.flatMap((series, i): Finding[] => {
      const covered = lengths[i] ?? 0;
      if (extents[i] === null || covered >= COVERED_SHARE * longest) return [];
      return [
        {
          classification: "rank_ended_early",
          severity: "warning",
          confidence: 1,
          ...where(series),
          evidence: { unit, covered: covered * scale, longest_rank: longest * scale, samples: series.rows },
          description: `Rank ${series.rank} covers ${round(covered * scale)} of the ${round(longest * scale)} ${unit} that the longest rank covers. The rest of its run was not recorded.`,
          remediation: ["Check whether the rank ended early, started late, or lost some of its telemetry."],
        },
      ];
    });
  }
  return [];
}

const round = (value: number): string => (Number.isInteger(value) ? String(value) : value.toFixed(1));
