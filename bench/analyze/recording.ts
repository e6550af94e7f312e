import type { Recording, SampleTable } from "../../src/telemetry/recording/model.ts";

export const RANKS = 8;
export const METRICS_PER_RANK = 4;
const STEP_NS = 10_000_000;
/** Samples of one training step, so that steps and time are different axes. */
const SAMPLES_PER_STEP = 5;

/** A small fast generator (xorshift32): the bench must not wait for its own noise. */
function uniform(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/**
 * One rank of a training job: a saw-tooth per step on a level with noise, allocator quanta above it, one rank that
 * leaks.
 */
function tableOf(rank: number, rows: number): SampleTable {
  const random = uniform(1 + 7919 * rank);
  const column = () => new Float64Array(rows);
  const [timeNs, steps, allocated, reserved, used, host] = [column(), column(), column(), column(), column(), column()];
  let top = 0;
  for (let i = 0; i < rows; i++) {
    timeNs[i] = i * STEP_NS + Math.floor(random() * 1e6);
    steps[i] = Math.floor(i / SAMPLES_PER_STEP);
    const tooth = ((i % SAMPLES_PER_STEP) / SAMPLES_PER_STEP) * 2e9;
    const leak = rank === 3 ? (i / rows) * 4e9 : 0;
    allocated[i] = 512 * Math.round((20e9 + tooth + leak + random() * 5e7) / 512);
    top = Math.max(top, allocated[i]!);
    reserved[i] = 2 ** 21 * Math.ceil(top / 2 ** 21);
    used[i] = reserved[i]! + 6e8;
    host[i] = 4096 * Math.round((5e9 + random() * 1e8) / 4096);
  }
  return {
    rank,
    device: `cuda:${rank}`,
    timeNs,
    steps,
    columns: { allocated, reserved, used, host },
    highwater: new Set(),
  };
}

/**
 * A recording of about `values` metric values in eight ranks with four metrics each, plus a clock and a step counter.
 */
export function benchRecording(values: number): Recording {
  const rows = Math.ceil(values / (RANKS * METRICS_PER_RANK));
  return {
    epochNs: 0n,
    tables: Array.from({ length: RANKS }, (_, rank) => tableOf(rank, rows)),
    peaks: [],
    marks: [],
    events: null,
    worldSize: RANKS,
    missing: {},
    info: null,
  };
}

/** Bytes of all columns of a recording. */
export function columnBytes(recording: Recording): number {
  let bytes = 0;
  for (const { timeNs, steps, columns } of recording.tables) {
    for (const column of [timeNs, steps, ...Object.values(columns)]) bytes += column?.byteLength ?? 0;
  }
  return bytes;
}
