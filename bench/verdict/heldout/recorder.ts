import type { Recording, SampleTable } from "../../../src/telemetry/recording/model.ts";
import type { Draw } from "./draw.ts";
import { LOADING_MARKS } from "./job.ts";
import type { Trace } from "./machine.ts";

/** How a run is sampled. */
export interface Watch {
  /**
   * `end`, `peak`, `any`: one row per step, at its end, of its maximum, at a random time. `clock`: rows by time, not
   * aligned with steps.
   */
  readonly mode: "end" | "peak" | "any" | "clock";
  /** Number of rows in `clock` mode. */
  readonly rows: number;
  /** Whether rows by the clock also contain their step. */
  readonly stepsKnown: boolean;
  readonly withLoading: boolean;
  /** Share of values lost. */
  readonly missing: number;
  /** 0 = a metronome, 1 = gaps as random as a Poisson process's. */
  readonly irregular: number;
  readonly columns: "device" | "allocated" | "all" | "host";
}

/** Index of the state in force at each of an ascending sequence of times. */
function statesAt(seconds: Float64Array, moments: Float64Array): Int32Array {
  let at = 0;
  return Int32Array.from(moments, (moment) => {
    while (at + 1 < seconds.length && (seconds[at + 1] ?? 0) <= moment) at++;
    return at;
  });
}

function clockMoments(trace: Trace, watch: Watch, draw: Draw): Float64Array {
  const from = trace.seconds[watch.withLoading ? 0 : LOADING_MARKS] ?? 0;
  const to = trace.seconds.at(-1) ?? from;
  const gaps = Float64Array.from({ length: watch.rows }, () =>
    watch.irregular > 0 ? 1 - watch.irregular + watch.irregular * draw.exponential(1) : 1,
  );
  const whole = gaps.reduce((sum, gap) => sum + gap, 0);
  let moment = from;
  return gaps.map((gap) => {
    moment += (gap / whole) * (to - from);
    return moment;
  });
}

/** Rows one per step: index of the state shown, chosen among the step's own. */
function stepStates(trace: Trace, mode: "end" | "any", draw: Draw): Int32Array {
  const chosen: number[] = [];
  let begin = LOADING_MARKS;
  for (let i = begin; i < trace.step.length; i++) {
    if (i + 1 < trace.step.length && trace.step[i + 1] === trace.step[i]) continue;
    chosen.push(mode === "end" ? i : draw.integer(begin, i));
    begin = i + 1;
  }
  return Int32Array.from(chosen);
}

function stepPeaks(trace: Trace, values: Float64Array): Float64Array {
  const peaks: number[] = [];
  let peak = 0;
  for (let i = LOADING_MARKS; i < values.length; i++) {
    peak = Math.max(peak, values[i] ?? 0);
    if (i + 1 < values.length && trace.step[i + 1] === trace.step[i]) continue;
    peaks.push(peak);
    peak = 0;
  }
  return Float64Array.from(peaks);
}

/** Loses values singly and in bursts. */
function withHoles(values: Float64Array, share: number, draw: Draw): Float64Array {
  if (share === 0) return values;
  const burst = draw.pick(1, 1, 5);
  const holes = values.slice();
  for (let i = 0; i < holes.length; i++) {
    if (draw.chance(share / burst)) holes.fill(Number.NaN, i, i + burst);
  }
  return holes;
}

export interface Watched {
  readonly tables: readonly SampleTable[];
  /** Leaked bytes at the last row less those at the first. */
  readonly leaked: number;
}

/** A run as a sampler would have recorded it. */
export function watched(trace: Trace, watch: Watch, rank: number, draw: Draw): Watched {
  const moments = watch.mode === "clock" ? clockMoments(trace, watch, draw) : null;
  const states =
    moments !== null ? statesAt(trace.seconds, moments) : stepStates(trace, watch.mode === "any" ? "any" : "end", draw);
  const read = (column: Float64Array) => Float64Array.from(states, (state) => column[state] ?? Number.NaN);
  const seen = (column: Float64Array) => withHoles(column, watch.missing, draw);
  const allocated = seen(watch.mode === "peak" ? stepPeaks(trace, trace.allocated) : read(trace.allocated));
  const reserved = read(trace.reserved);
  const driver = draw.uniform(300, 900) * 2 ** 20;
  const used = reserved.map((bytes) => bytes + driver);
  const axes = {
    rank,
    timeNs: moments?.map((seconds) => Math.round(seconds * 1e9)) ?? null,
    steps: moments === null || watch.stepsKnown ? read(trace.step) : null,
    highwater: new Set<never>(),
  };
  const device: SampleTable = {
    ...axes,
    device: `cuda:${rank}`,
    columns: watch.columns === "allocated" ? { allocated } : { allocated, reserved: seen(reserved), used: seen(used) },
  };
  const host: SampleTable = { ...axes, device: "host", columns: { host: seen(read(trace.host)) } };
  const tables = watch.columns === "all" ? [device, host] : watch.columns === "host" ? [host] : ([device] as const);
  const [first = 0] = states;
  const last = states.at(-1) ?? 0;
  return { tables, leaked: (trace.leaked[last] ?? 0) - (trace.leaked[first] ?? 0) };
}

export function recordingOf(tables: readonly SampleTable[], ranks: number): Recording {
  return {
    epochNs: 1_700_000_000_000_000_000n,
    tables,
    peaks: [],
    marks: [],
    events: null,
    worldSize: ranks,
    missing: {},
    info: null,
  };
}
