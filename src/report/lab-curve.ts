import type { Recording } from "../telemetry/model.ts";

/** One state of a pattern as a line: the highest value in each small part of the run. */
export interface LabCurve {
  /** What the run is measured in. */
  readonly axis: "steps" | "time" | "samples";
  /** Steps, seconds or samples that the line is long. */
  readonly length: number;
  /** Where each value was, 0 = begin of the run (its first step), 1 = its end. */
  readonly at: Float64Array;
  readonly bytes: Float64Array;
}

/** Which series is drawn; without a rank the first that has the series. */
export interface CurveSeries {
  readonly device: string;
  readonly metric: string;
  readonly rank?: number | undefined;
}

/** Parts of a run that keep one value each: a panel is about as many pixels wide. */
const PARTS = 180;

interface Samples {
  readonly axis: LabCurve["axis"];
  readonly x: readonly number[];
  readonly y: readonly number[];
}

/** The tables of the series: of its device and rank, else of its device, else of the first device of the same kind. */
function tablesOf({ tables }: Recording, { device, metric, rank }: CurveSeries): Recording["tables"] {
  const kind = device.split(":")[0];
  const usable = tables.filter(({ columns }) => columnOf(columns, metric) !== undefined);
  const first =
    usable.find((table) => table.device === device && table.rank === rank) ??
    usable.find((table) => table.device === device) ??
    usable.find((table) => table.device.split(":")[0] === kind);
  return first === undefined
    ? []
    : usable.filter((table) => table.device === first.device && table.rank === first.rank);
}

/** All samples of the series, over steps where they are counted, else over time, else one after the other. */
function samplesOf(recording: Recording, series: CurveSeries): Samples | null {
  const own = tablesOf(recording, series);
  const stepped = own.filter(({ steps }) => steps?.some(Number.isFinite));
  const timed = own.filter(({ timeNs }) => timeNs !== null);
  const [axis, chosen]: readonly [LabCurve["axis"], typeof own] =
    stepped.length > 0 ? ["steps", stepped] : timed.length > 0 ? ["time", timed] : ["samples", own];
  const x: number[] = [];
  const y: number[] = [];
  for (const { columns, steps, timeNs, atStep } of chosen) {
    const values = columnOf(columns, series.metric) ?? new Float64Array();
    // What was read after the last step belongs to the program's end, where a leak's memory goes, too.
    const end = axis === "steps" && atStep?.includes(1) ? atStep.lastIndexOf(1) + 1 : values.length;
    for (let i = 0; i < end; i++) {
      const at = axis === "steps" ? steps?.[i] : axis === "time" ? (timeNs?.[i] ?? Number.NaN) / 1e9 : i;
      const value = values[i];
      if (at === undefined || value === undefined || !Number.isFinite(at) || !Number.isFinite(value)) continue;
      x.push(at);
      y.push(value);
    }
  }
  return x.length === 0 ? null : { axis, x, y };
}

function columnOf(columns: Recording["tables"][number]["columns"], metric: string): Float64Array | undefined {
  return Object.entries(columns).find(([name]) => name === metric)?.[1];
}

/**
 * The line of one series. Every part of the run keeps its highest sample, at its own place: so the top of the line is the peak that
 * was sampled, and what rises and falls within a step does not blur it. Null when the recording has no sample of the series.
 */
export function labCurve(recording: Recording, series: CurveSeries): LabCurve | null {
  const samples = samplesOf(recording, series);
  if (samples === null) return null;
  const { axis, x, y } = samples;
  let [first, last] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const at of x) {
    if (at < first) first = at;
    if (at > last) last = at;
  }
  const length = last - first;
  const kept = new Map<number, { readonly at: number; readonly value: number }>();
  for (const [i, at] of x.entries()) {
    const share = length === 0 ? 0 : (at - first) / length;
    const part = Math.min(PARTS - 1, Math.floor(share * PARTS));
    const value = y[i] ?? Number.NEGATIVE_INFINITY;
    const known = kept.get(part);
    if (known === undefined || value > known.value) kept.set(part, { at: share, value });
  }
  const points = [...kept.values()].sort((a, b) => a.at - b.at);
  return {
    axis,
    // A run of steps 1 to 60 has 60 of them.
    length: axis === "time" ? length : length + 1,
    at: Float64Array.from(points, ({ at }) => at),
    bytes: Float64Array.from(points, ({ value }) => value),
  };
}
