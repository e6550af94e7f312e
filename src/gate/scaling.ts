import type { GateRequest } from "../config/gate-request.ts";
import { groupBy } from "../core/group-by.ts";
import { formatBytes } from "../core/units.ts";
import { comparableRole, type RunReport, type ScenarioReport } from "../report/model/gate-report.ts";
import type { Scaling } from "../report/model/report-schema.ts";
import { coefficientText } from "../report/wording/scaling-text.ts";
import { median } from "../stats/order-statistics.ts";
import { fitPowerLaw, largestWithin, MIN_POINTS, type PowerLaw } from "../stats/power-law.ts";
import { runEnding } from "./run/run-ending.ts";

/** The runs that measured one value. */
interface MeasuredValue {
  readonly value: string;
  readonly runs: readonly RunReport[];
  /** Whether the command failed, was interrupted or ran out of memory: its peak is then not that of the whole work. */
  readonly failed: boolean;
}

function measuredOf(value: string, report: ScenarioReport | undefined): MeasuredValue {
  const all = report?.runs ?? [];
  const wanted = comparableRole(all);
  const runs = all.filter(({ role }) => role === wanted);
  // A command that catches an out-of-memory error ends with status 0.
  const isWhole = ({ info: { exit, oom } }: RunReport) =>
    runEnding(exit, oom).kind === "ok" && oom?.certainty !== "established";
  const failed = runs.length > 0 && (report?.error != null || !runs.every(isWhole));
  return { value, runs, failed };
}

/** The peak of one value: of the largest rank in each run, the median over the runs. */
function peakOf({ runs }: MeasuredValue, metric: string, onDevice: boolean): number | null {
  const peaks = runs.flatMap(({ info }) => {
    const own = info.peaks.filter((peak) => peak.metric === metric && (peak.device !== "host") === onDevice);
    return own.length > 0 ? [Math.max(...own.map(({ bytes }) => bytes))] : [];
  });
  return peaks.length === 0 ? null : median(peaks);
}

/** The series that every value with a whole run has: a device's allocator, its used memory, C heap, else the host. */
const SERIES = [
  { metric: "allocated", onDevice: true },
  { metric: "used", onDevice: true },
  { metric: "allocated", onDevice: false },
  { metric: "host", onDevice: false },
] as const;

/** Whether the limits of the policy hold. A limit is breached where the whole interval is above it. */
function judged(
  limits: NonNullable<GateRequest["scalingLimits"]>,
  law: PowerLaw | null,
  noFit: string | null,
): Pick<Scaling, "verdict" | "reason"> {
  if (law === null) return { verdict: "unjudged", reason: noFit };
  const { maxExponent, maxCoefficient } = limits;
  if (maxExponent !== null && law.low > maxExponent) {
    const reason = `the exponent is ${law.k.toFixed(2)} (${law.low.toFixed(2)} to ${law.high.toFixed(2)}), above ${maxExponent}`;
    return { verdict: "fail", reason };
  }
  const least = Math.min(...law.curves.map(({ b }) => b));
  if (maxCoefficient !== null && least > maxCoefficient) {
    return { verdict: "fail", reason: `b is at least ${coefficientText(least)}, above ${formatBytes(maxCoefficient)}` };
  }
  return noFit === null ? { verdict: "pass", reason: null } : { verdict: "unjudged", reason: noFit };
}

/** peak = a + b x^k over the values of `--vary`, for each scenario that was varied. */
export function scalingOf(request: GateRequest, reports: readonly ScenarioReport[]): readonly Scaling[] {
  const varied = request.scenarios.flatMap(({ name, varied: one }) =>
    one === undefined ? [] : [{ ...one, scenario: name }],
  );
  return [...groupBy(varied, ({ of }) => of)].map(([of, variants]): Scaling => {
    const measured = variants.map(({ value, scenario }) =>
      measuredOf(
        value,
        reports.find((report) => report.scenario === scenario),
      ),
    );
    const whole = measured.filter(({ runs, failed }) => runs.length > 0 && !failed);
    const series =
      SERIES.find(
        ({ metric, onDevice }) => whole.length > 0 && whole.every((one) => peakOf(one, metric, onDevice) !== null),
      ) ?? SERIES[3];
    const points = measured.map((one) =>
      one.failed
        ? { value: one.value, bytes: null, failed: true }
        : { value: one.value, bytes: peakOf(one, series.metric, series.onDevice) },
    );
    const known = points.flatMap(({ value, bytes }) => (bytes === null ? [] : [{ x: Number(value), bytes }]));
    const found = fitPowerLaw(
      known.map(({ x }) => x),
      known.map(({ bytes }) => bytes),
    );
    const none = found === null ? whyNot(known.map(({ x }) => x)) : (levelFrom(known) ?? misfit(found, known));
    // A limit may be breached by every exponent of a wide interval.
    const power = none === null ? found : null;
    const noFit = none ?? (power && tooWide(power));
    const law = noFit === null ? power : null;
    return {
      scenario: of,
      name: variants[0]?.name ?? "",
      metric: series.metric,
      device: series.onDevice ? "device" : "host",
      points,
      fit: law && { a_bytes: law.a, b_bytes: law.b, exponent: law.k, low: law.low, high: law.high },
      no_fit: noFit,
      fits: law === null ? [] : request.fits.map((size) => ({ ...size, largest: largest(law, size.bytes, known) })),
      ...(request.scalingLimits === null
        ? { verdict: null, reason: null }
        : judged(request.scalingLimits, power, noFit)),
    };
  });
}

interface Point {
  readonly x: number;
  readonly bytes: number;
}

/** The largest value within a size, at least the largest that was measured to fit. */
function largest(law: PowerLaw, bytes: number, known: readonly Point[]): Scaling["fits"][number]["largest"] {
  const found = largestWithin(law, bytes);
  if (found === null) return null;
  const fitting = Math.max(0, ...known.filter((point) => point.bytes <= bytes).map(({ x }) => x));
  const [value, low, high] = [found.x, found.low, found.high].map((one) => Math.max(one, fitting));
  return { value: value!, low: low!, high: high! };
}

/** A curve that misses a point by more describes something else, relative. */
const MAX_RESIDUAL = 0.15;
/** A wider interval of the exponent does not tell a linear law from a quadratic one. */
const MAX_EXPONENT_WIDTH = 1;
/** Values whose peaks differ by less are level. */
const LEVEL = 0.02;

/** Why the best power law does not describe the points; null where it does. */
function misfit({ a, b, k }: PowerLaw, known: readonly Point[]): string | null {
  const off = known.map(({ x, bytes }) => ({ x, share: Math.abs(a + b * x ** k - bytes) / bytes }));
  const worst = off.reduce((most, one) => (one.share > most.share ? one : most));
  return worst.share > MAX_RESIDUAL
    ? `not a power: the best is ${Math.round(100 * worst.share)} % off at ${worst.x}`
    : null;
}

/** Why nothing is predicted by a power law that may describe the points; null where it is known well enough. */
function tooWide({ low, high }: PowerLaw): string | null {
  if (high - low <= MAX_EXPONENT_WIDTH) return null;
  const measure = "measure more values, or each of them several times";
  return `the exponent is between ${low.toFixed(1)} and ${high.toFixed(1)}: ${measure}`;
}

/** "not a power: level from 32 on": the first of several values from which on the peak stays the same; else null. */
function levelFrom(known: readonly Point[]): string | null {
  const ascending = [...known].sort((one, other) => one.x - other.x);
  const top = ascending.at(-1)?.bytes ?? 0;
  const first = ascending.findIndex(({ bytes }) => Math.abs(bytes - top) <= LEVEL * top);
  const found = first > 0 && first < ascending.length - 2 ? ascending[first] : undefined;
  return found === undefined ? null : `not a power: level from ${found.x} on`;
}

function whyNot(values: readonly number[]): string {
  if (values.some((value) => !(value > 0))) return "a fit needs positive numbers";
  if (new Set(values).size < MIN_POINTS) return `a fit needs ${MIN_POINTS} different numbers that were measured`;
  return "the peak does not rise with it";
}
