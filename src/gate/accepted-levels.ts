import type { MeasuredSeries } from "../analysis/measurements.ts";
import { type BaselineRecord, selectRuns, toMeasurements } from "../baseline/record.ts";
import { groupBy } from "../core/group-by.ts";
import { capital } from "../report/wording/wording.ts";
import { median } from "../stats/order-statistics.ts";
import { formatSize, METRIC, type Metric, metricLabel, metricNoun } from "../telemetry/recording/metrics.ts";

/** Lines of an acceptance; more series are counted. */
const MAX_LINES = 4;
/** Share of a peak by which a change is shown: the sizes differ in the digits of a screen then. */
const MIN_SHARE = 0.01;

interface AcceptedLevel {
  readonly newest: MeasuredSeries;
  /** Medians of the level's runs, bytes or a count; null = unknown. */
  readonly peak: number | null;
  readonly growth: number | null;
}

/** The series of an epoch that are judged without being asked for, of the whole run. */
function levelsOf(record: BaselineRecord, epoch: BaselineRecord["epochs"][number]): ReadonlyMap<string, AcceptedLevel> {
  const alone = { ...record, epochs: [epoch] };
  const series = toMeasurements(alone, selectRuns(alone, null)).runs.flatMap((run) => run.series);
  const judged = series.filter(({ metric, phase }) => phase === undefined && !METRIC[metric].isOnRequest);
  const groups = groupBy(judged, ({ rank, device, metric }) => JSON.stringify([rank, device, metric]));
  const middle = (values: readonly number[]): number | null => (values.length === 0 ? null : median(values));
  const levels = new Map<string, AcceptedLevel>();
  for (const [key, runs] of groups) {
    const newest = runs.at(-1);
    if (newest === undefined) continue;
    const peak = METRIC[newest.metric].hasPeak ? middle(runs.flatMap(({ peak_bytes: bytes }) => bytes ?? [])) : null;
    levels.set(key, { newest, peak, growth: middle(runs.flatMap(({ growth_bytes: bytes }) => bytes ?? [])) });
  }
  return levels;
}

/** "peak 60.0 MiB, was 44.0 MiB"; null where the value is unknown or moved by at most `least`. */
function movedText(metric: Metric, name: string, [old, now]: readonly (number | null)[], least: number): string | null {
  const size = (value: number): string => formatSize(metric, value, "short");
  if (now == null) return null;
  if (old == null) return now > least ? `${name} ${size(now)}` : null;
  return Math.abs(now - old) > least ? `${name} ${size(now)}, was ${size(old)}` : null;
}

function changeText(
  { newest, peak, growth }: AcceptedLevel,
  before: AcceptedLevel | undefined,
  several: boolean,
): string | null {
  const { metric, rank, device } = newest;
  const parts = [
    movedText(metric, "peak", [before?.peak ?? null, peak], MIN_SHARE * (before?.peak ?? 0)),
    movedText(metric, "growth", [before?.growth ?? null, growth], METRIC[metric].floorBytes),
  ].filter((text) => text !== null);
  const where = several ? ` of rank ${rank} on ${device}` : "";
  return parts.length === 0 ? null : capital(`${metricLabel(metric)}${where}: ${parts.join("; ")}`);
}

/** What the current level of a record accepts, beside the level before it: a line for each series that changed. */
export function acceptedLevels(record: BaselineRecord): readonly string[] {
  const [earlier, current] = [record.epochs.at(-2), record.epochs.at(-1)];
  if (current === undefined) return [];
  const before = earlier === undefined ? new Map<string, AcceptedLevel>() : levelsOf(record, earlier);
  const levels = [...levelsOf(record, current)];
  const several = new Set(levels.map(([, { newest }]) => newest.metric)).size < levels.length;
  const lines = levels.flatMap(([key, level]) => changeText(level, before.get(key), several) ?? []);
  const more = lines.length - MAX_LINES;
  const leak = levels.find(([, { newest }]) => newest.class === "leak")?.[1].newest.metric;
  return [
    ...(lines.length === 0 && earlier !== undefined ? ["Peaks within 1 % of the level before it, no new growth"] : []),
    ...lines.slice(0, MAX_LINES),
    ...(more > 0 ? [`and ${more} more series`] : []),
    ...(leak === undefined ? [] : [`A leak that makes ${metricNoun(leak)} grow as much passes from now on`]),
  ];
}
