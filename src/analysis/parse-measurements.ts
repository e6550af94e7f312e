import * as v from "valibot";
import { type GateError, invalidInput } from "../core/errors.ts";
import { checkVersion } from "../core/json.ts";
import { METRICS, type Metric } from "../telemetry/recording/metrics.ts";
import { ofKnownMetric, skippedText, unknownMetrics } from "../telemetry/recording/model.ts";
import {
  type MeasuredRunInput,
  type MeasuredSeries,
  MeasuredSeriesSchema,
  type Measurements,
  type MeasurementsInput,
  MeasurementsSchema,
} from "./measurements.ts";
import { compareKeys } from "./series/series.ts";

/** Judging compares runs in pairs: ten thousand take gigabytes. A baseline keeps fifty. */
const MAX_RUNS = 2000;
/** An environment has some thirty fields, and the differences of two are listed. */
export const MAX_FINGERPRINT_FIELDS = 500;

const SCHEMA = "stormlog.measurements/1";

/** Suffixes of a metric in a shorthand key. */
const ASPECTS = ["peak_bytes", "growth_bytes", "slope_bytes_per_step", "slope_bytes_per_s", "class"] as const;

function splitKey(key: string): { metric: Metric; aspect: (typeof ASPECTS)[number] } | null {
  const aspect = ASPECTS.find((name) => key.endsWith(`_${name}`));
  const metric = METRICS.find((name) => key === `${name}_${aspect}`);
  return metric && aspect ? { metric, aspect } : null;
}

/** `{"allocated_peak_bytes": n, …}` as series of rank 0: `host` on the host, everything else on the first device. */
function expandShorthand(metrics: NonNullable<MeasuredRunInput["metrics"]>, where: string): MeasuredSeries[] {
  const perMetric = new Map<Metric, Record<string, unknown>>();
  for (const [key, value] of Object.entries(metrics)) {
    const split = splitKey(key);
    if (!split) {
      throw invalidInput(
        "MEASUREMENTS_INVALID",
        `metrics has the unknown key "${key}"`,
        where,
        `Write <metric>_<feature>. Metrics: ${METRICS.join(", ")}. Features: ${ASPECTS.join(", ")}.`,
      );
    }
    const own = perMetric.get(split.metric) ?? {};
    if (value !== null || split.aspect !== "class") own[split.aspect] = value;
    perMetric.set(split.metric, own);
  }
  return METRICS.flatMap((metric) => {
    const given = perMetric.get(metric);
    if (!given) return [];
    const device = metric.startsWith("host") ? "host" : "cuda:0";
    const series = v.safeParse(MeasuredSeriesSchema, { rank: 0, device, metric, peak_bytes: null, ...given });
    if (!series.success) throw schemaError(series.issues[0], where, `metrics.${metric}_`);
    return [series.output];
  });
}

function schemaError(issue: v.BaseIssue<unknown>, where: string, prefix = ""): GateError {
  const path = `${prefix}${v.getDotPath(issue) ?? ""}`;
  return invalidInput(
    "MEASUREMENTS_INVALID",
    `${path === "" ? "the document" : path}: ${issue.message}`,
    where,
    `Expected a ${SCHEMA} document with "scenario" and "runs".`,
  );
}

/** The whole run first, then its phases by name. */
const comparePhases = (a = "", b = ""): number => (a < b ? -1 : a > b ? 1 : 0);

const seriesKey = (series: MeasuredSeries): string =>
  `rank ${series.rank}, ${series.device}, ${series.metric}${series.phase === undefined ? "" : `, phase ${series.phase}`}`;

/**
 * Resolves the shorthand and orders series by rank, device and metric.
 * @throws GateError MEASUREMENTS_INVALID for an unknown shorthand key or a series given twice
 */
function resolveMeasurements(input: MeasurementsInput, where = "measurements"): Measurements {
  const unknown = unknownMetrics(input.runs.flatMap(({ series = [] }) => series.map(({ metric }) => metric)));
  return {
    scenario: input.scenario,
    fingerprint: input.fingerprint ?? null,
    runs: input.runs.map((run, index) => {
      const at = `${where}, run ${index + 1}`;
      if (run.series === undefined && run.metrics === undefined) {
        throw invalidInput("MEASUREMENTS_INVALID", 'a run has neither "series" nor "metrics"', at);
      }
      const shorthand = run.metrics ? expandShorthand(run.metrics, at) : [];
      const series: MeasuredSeries[] = [...ofKnownMetric(run.series ?? []), ...shorthand];
      series.sort((a, b) => compareKeys(a, b) || comparePhases(a.phase, b.phase));
      for (let i = 1; i < series.length; i++) {
        if (seriesKey(series[i]!) === seriesKey(series[i - 1]!)) {
          throw invalidInput("MEASUREMENTS_INVALID", `${seriesKey(series[i]!)} is present twice`, at);
        }
      }
      return {
        session: run.session,
        commit: run.commit ?? null,
        ...(run.analysis_version === undefined ? {} : { analysis_version: run.analysis_version }),
        series,
        ...(run.heaps === undefined ? {} : { heaps: run.heaps }),
        ...(run.steps === undefined ? {} : { steps: run.steps }),
        ...(run.oom === true ? { oom: true } : {}),
        ...(run.oom_suspected === true ? { oom_suspected: true } : {}),
      };
    }),
    ...(unknown.length === 0 ? {} : { unknown_metrics: unknown }),
  };
}

/** What a reader skipped, one warning for each metric; `where` is the subject. */
export function skippedMetrics(where: string, { unknown_metrics: names = [] }: Measurements): string[] {
  return names.map((name) => skippedText(where, name));
}

function checkSize({ runs, fingerprint }: MeasurementsInput, where: string): void {
  const fields = Object.keys(fingerprint ?? {}).length;
  const [count, most, what] =
    runs.length > MAX_RUNS ? [runs.length, MAX_RUNS, "runs"] : [fields, MAX_FINGERPRINT_FIELDS, "fingerprint fields"];
  if (count > most)
    throw invalidInput("MEASUREMENTS_INVALID", `the document has ${count} ${what} (at most ${most})`, where);
}

/**
 * Parses a measurements document.
 * @throws GateError INPUT_SCHEMA_VERSION when it was written by a newer release, MEASUREMENTS_INVALID when it is not
 *   one
 */
export function parseMeasurements(json: unknown, where: string): Measurements {
  checkVersion(json, SCHEMA, where);
  const parsed = v.safeParse(MeasurementsSchema, json, { abortEarly: true });
  if (!parsed.success) throw schemaError(parsed.issues[0], where);
  checkSize(parsed.output, where);
  return resolveMeasurements(parsed.output, where);
}
