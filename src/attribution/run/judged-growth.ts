import { type GrowthStretch, growthStretch } from "../../analysis/growth/growth-stretch.ts";
import type { AnalysisDocument, DriftClass, SeriesAnalysis } from "../../analysis/series/document.ts";
import { collectSeries } from "../../analysis/series/series.ts";
import { decidingCheck } from "../../report/headline/causes.ts";
import { isCounted, type Metric } from "../../telemetry/recording/metrics.ts";
import type { Recording } from "../../telemetry/recording/model.ts";
import type { Judgement } from "../../verdict/model/judgement.ts";

/** The growth that the verdict judged on one device: of all ranks, with the stretch in which it happened. */
export interface JudgedGrowth {
  /** "host", "cuda:0", … */
  readonly device: string;
  readonly metric: Metric;
  readonly stretch: GrowthStretch;
  /** Bytes of the stretch over all ranks that grow. */
  readonly bytes: number;
  /** Growth of what the program freed and the C heap keeps, bytes; null where that is not known, or of other memory. */
  readonly freed: number | null;
}

/** Only these classes end higher than they began: a line of another class explains nothing. */
const GROWING: ReadonlySet<DriftClass> = new Set<DriftClass>(["leak", "rising", "step"]);

type SeriesName = Pick<SeriesAnalysis, "rank" | "device" | "metric">;

const isSame = (one: SeriesName, other: SeriesName): boolean =>
  one.rank === other.rank && one.device === other.device && one.metric === other.metric;

/** Order of the series of a device: that of the deciding check, of failed checks, of warnings, most growth first. */
function weight(judgement: Judgement, series: SeriesAnalysis): number {
  const own = judgement.checks.filter((check) => isSame(check, series));
  const deciding = decidingCheck(judgement.checks);
  if (deciding !== null && deciding.verdict !== "pass" && isSame(deciding, series)) return 4;
  if (own.some(({ verdict, gating }) => verdict === "fail" && gating)) return 3;
  if (own.some(({ verdict }) => verdict === "fail")) return 2;
  return own.some(({ verdict }) => verdict === "warn") ? 1 : 0;
}

/**
 * What there is to attribute: one growth for each device, the decisive one first. A jump is attributed after a breach
 * of a peak alone; it is not a leak.
 */
export function judgedGrowths(
  judgement: Judgement,
  analysis: AnalysisDocument,
  recording: Recording,
): readonly JudgedGrowth[] {
  const growing = analysis.series.filter(({ class: label, metric }) => GROWING.has(label) && !isCounted(metric));
  const weights = new Map(growing.map((series) => [series, weight(judgement, series)] as const));
  const ranked = [...growing].sort(
    (a, b) => (weights.get(b) ?? 0) - (weights.get(a) ?? 0) || (b.growth_bytes ?? 0) - (a.growth_bytes ?? 0),
  );
  const all = collectSeries(recording);
  const found = new Map<string, JudgedGrowth>();
  for (const series of ranked) {
    const own = all.find((one) => isSame(one, series));
    if (own === undefined || found.has(series.device)) continue;
    const stretch = growthStretch(own);
    const breached = (weights.get(series) ?? 0) > 0;
    if (stretch === null || (stretch.kind === "jump" && !breached)) continue;
    const alike = growing.filter(({ device, metric }) => device === series.device && metric === series.metric);
    const bytes = alike.reduce((sum, one) => {
      if (one === series) return sum + stretch.bytes;
      const other = all.find((candidate) => isSame(candidate, one));
      return sum + ((other === undefined ? null : growthStretch(other))?.bytes ?? 0);
    }, 0);
    const freed = series.metric === "host" ? freedGrowth(analysis, series) : null;
    found.set(series.device, { device: series.device, metric: series.metric, stretch, bytes, freed });
  }
  return [...found.values()];
}

/** By how much more the heap of a process grew than what the program holds in it. */
function freedGrowth({ series }: AnalysisDocument, { rank, device }: SeriesName): number | null {
  const growthOf = (metric: Metric): number | null =>
    series.find((one) => isSame(one, { rank, device, metric }))?.growth_bytes ?? null;
  const [reserved, allocated] = [growthOf("reserved"), growthOf("allocated")];
  return reserved === null || allocated === null ? null : Math.max(0, reserved - Math.max(0, allocated));
}
