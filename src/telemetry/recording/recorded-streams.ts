import { AllocatorKind, ProbeFlag, ProcessRole, SampleReason } from "../../sampler/record-layout.ts";
import { GrowableColumns } from "./growable.ts";

/** The four values of a record; NaN = unknown. */
export type RecordValues = readonly [number, number, number, number];

/** The allocator's own marks, the largest ones; NaN = not recorded. Bytes and counts. */
interface AllocatorMarks {
  readonly allocated: number;
  readonly reserved: number;
  readonly retries: number;
  readonly ooms: number;
}

/** Samples of one device of one process, from its probe; bytes, NaN = unknown. */
export interface RecordedStream {
  readonly id: number;
  readonly pid: number;
  readonly kind: AllocatorKind;
  readonly index: number;
  /** Null if the process did not know it. */
  readonly rank: number | null;
  readonly worldSize: number | null;
  readonly role: ProcessRole;
  /** The allocator's peak counters were reset during the run, so they are not peaks of the run. */
  readonly peaksReset: boolean;
  readonly timeNs: Float64Array;
  readonly allocated: Float64Array;
  readonly reserved: Float64Array;
  readonly active: Float64Array;
  readonly steps: Float64Array;
  /** {@link SampleReason} of each row, 0 = not recorded. */
  readonly reasons: Uint8Array;
  readonly marks: AllocatorMarks;
  /** Its process's ring was lost before the process ended: later samples are missing. */
  readonly cut: boolean;
}

/** Steps of one process (or, with pid -1, of the step file), each with its time. */
export interface StepColumns {
  readonly pid: number;
  readonly timeNs: Float64Array;
  readonly steps: Float64Array;
}

/**
 * Streams of a device from this index on (device 0) have what its allocator cannot release as `allocated`, and what it
 * reserves for captured graphs as `reserved`.
 */
const POOLS_FROM = 256;

/** Maximum number of processes. Further ones, as in a fork storm under a preloaded library, are only counted. */
const MAX_STREAMS = 20_000;
/**
 * The time of a record is taken shortly before it is written, and that of a step in a ring's header is the time of the
 * sampler's tick, before the records that it has just read. A record that is late by more is damaged. Nanoseconds.
 */
const MAX_LATE_NS = 1e9;
const KINDS = new Set<number>(Object.values(AllocatorKind));
const ROLES = new Set<number>(Object.values(ProcessRole));

const isKind = (value: number): value is AllocatorKind => KINDS.has(value);
const isRole = (value: number): value is ProcessRole => ROLES.has(value);

/** The time of the next record after one at `last` (NaN: there is none), never before it; null for a damaged one. */
function orderedTime(timeNs: number, last: number): number | null {
  if (!(timeNs < last)) return timeNs;
  return last - timeNs <= MAX_LATE_NS ? last : null;
}

class StreamBuilder {
  readonly id: number;
  readonly #pid: number;
  readonly #kind: AllocatorKind;
  readonly #index: number;
  #rank: number | null = null;
  #worldSize: number | null = null;
  #role: ProcessRole = ProcessRole.plain;
  #peaksReset = false;
  readonly #rows = new GrowableColumns("timeNs", "allocated", "reserved", "active", "steps", "reasons");
  readonly #marks: [number, number, number, number] = [Number.NaN, Number.NaN, Number.NaN, Number.NaN];

  constructor(id: number, pid: number, kind: AllocatorKind, index: number) {
    this.id = id;
    this.#pid = pid;
    this.#kind = kind;
    this.#index = index;
  }

  is(pid: number, kind: number, index: number): boolean {
    return this.#pid === pid && this.#kind === kind && this.#index === index;
  }

  identify(packed: number): void {
    if (Number.isNaN(packed)) return;
    const bits = BigInt(packed);
    const part = (shift: bigint, mask: bigint) => Number((bits >> shift) & mask);
    const known = (value: number) => (value === 0 ? null : value - 1);
    this.#rank = known(part(0n, 0xffffn));
    this.#worldSize = known(part(16n, 0xffffn));
    const role = part(32n, 0xffn);
    if (isRole(role)) this.#role = role;
    if ((part(40n, 0xffn) & ProbeFlag.peaksReset) !== 0) this.#peaksReset = true;
  }

  /** False for a row that runs further backwards than a row can be late. */
  sample(timeNs: number, values: RecordValues, reason: number): boolean {
    const at = orderedTime(timeNs, this.#rows.last());
    if (at !== null) this.#rows.push(at, ...values, reason);
    return at !== null;
  }

  peaks(values: RecordValues): void {
    for (const [i, value] of values.entries()) {
      const before = this.#marks[i]!;
      if (value < before) this.#peaksReset = true;
      if (!(value <= before) && !Number.isNaN(value)) this.#marks[i] = value;
    }
  }

  /** @param lostPids processes of which a ring was lost */
  take(lostPids: ReadonlySet<number>): RecordedStream {
    const [peakAllocated, peakReserved, retries, ooms] = this.#marks;
    const { reasons: numbers, ...columns } = this.#rows.take();
    const reasons = Uint8Array.from(numbers);
    return {
      id: this.id,
      pid: this.#pid,
      kind: this.#kind,
      index: this.#index,
      rank: this.#rank,
      worldSize: this.#worldSize,
      role: this.#role,
      peaksReset: this.#peaksReset,
      ...columns,
      reasons,
      marks: { allocated: peakAllocated, reserved: peakReserved, retries, ooms },
      cut: lostPids.has(this.#pid) && !endedInOrder({ reasons }),
    };
  }
}

/** Collects the probe's records of a record file. Each method returns false for an invalid record. */
export class StreamsBuilder {
  readonly #streams = new Map<number, StreamBuilder>();
  readonly #steps = new Map<number, GrowableColumns<"timeNs" | "steps">>();

  stream(id: number, [pid, kind, index, identity]: RecordValues): boolean {
    if (id < 0 || !(pid > 0) || !isKind(kind) || !(index >= 0)) return false;
    let stream = this.#streams.get(id);
    if (stream === undefined) {
      if (this.#streams.size >= MAX_STREAMS) return false;
      stream = new StreamBuilder(id, pid, kind, index);
      this.#streams.set(id, stream);
    }
    if (!stream.is(pid, kind, index)) return false;
    stream.identify(identity);
    return true;
  }

  sample(id: number, timeNs: number, values: RecordValues, reason: number): boolean {
    return this.#streams.get(id)?.sample(timeNs, values, reason) ?? false;
  }

  peaks(id: number, values: RecordValues): boolean {
    const stream = this.#streams.get(id);
    stream?.peaks(values);
    return stream !== undefined;
  }

  step(pid: number, timeNs: number, step: number): boolean {
    if (Number.isNaN(step) || pid < -1) return false;
    let columns = this.#steps.get(pid);
    if (columns === undefined) {
      if (this.#steps.size >= MAX_STREAMS) return false;
      columns = new GrowableColumns("timeNs", "steps");
      this.#steps.set(pid, columns);
    }
    const at = orderedTime(timeNs, columns.last());
    if (at !== null) columns.push(at, step);
    return at !== null;
  }

  take(lostPids: ReadonlySet<number>): {
    readonly streams: readonly RecordedStream[];
    readonly pools: readonly RecordedStream[];
    readonly steps: readonly StepColumns[];
  } {
    const all = [...this.#streams.values()]
      .map((stream) => stream.take(lostPids))
      .filter(({ timeNs }) => timeNs.length > 0);
    const isPool = ({ kind, index }: RecordedStream) => kind !== AllocatorKind.hostHeap && index >= POOLS_FROM;
    return {
      streams: all.filter((stream) => !isPool(stream)),
      pools: all.flatMap((stream) => (isPool(stream) ? [{ ...stream, index: stream.index - POOLS_FROM }] : [])),
      steps: [...this.#steps].map(([pid, columns]) => ({ pid, ...columns.take() })),
    };
  }
}

/** Whether a stream is complete: the probe writes a last row when its process ends normally. */
export function endedInOrder({ reasons }: Pick<RecordedStream, "reasons">): boolean {
  return reasons.includes(SampleReason.end);
}

/** Steps over time: `steps[i]` is valid from `timeNs[i]` until the next entry. Ascending; neighbours differ. */
export interface StepTimeline {
  readonly timeNs: Float64Array;
  readonly steps: Float64Array;
  /** End of the last step: it is assumed to last as long as the longest earlier one. */
  readonly untilNs: number;
}

/** Minimum duration of the last step, nanoseconds. */
const MIN_HOLD_NS = 2e9;

/** One timeline of rows and single steps of one process, without rows that have no step. Null without any. */
export function stepTimeline(
  parts: readonly { readonly timeNs: Float64Array; readonly steps: Float64Array }[],
): StepTimeline | null {
  const entries: { readonly timeNs: number; readonly step: number }[] = [];
  for (const { timeNs, steps } of parts) {
    for (const [i, step] of steps.entries()) if (!Number.isNaN(step)) entries.push({ timeNs: timeNs[i]!, step });
  }
  entries.sort((a, b) => a.timeNs - b.timeNs || a.step - b.step);
  const changes = entries.filter(({ step }, i) => i === 0 || step !== entries[i - 1]!.step);
  const last = changes.at(-1);
  if (last === undefined) return null;
  let longest = MIN_HOLD_NS;
  for (let i = 1; i < changes.length; i++) longest = Math.max(longest, changes[i]!.timeNs - changes[i - 1]!.timeNs);
  return {
    timeNs: Float64Array.from(changes, ({ timeNs }) => timeNs),
    steps: Float64Array.from(changes, ({ step }) => step),
    untilNs: last.timeNs + longest,
  };
}

/** The current step at each of the ascending times; NaN before the first and after the end of the last. */
export function stepsAt(timeline: StepTimeline, timeNs: Float64Array): Float64Array {
  const steps = new Float64Array(timeNs.length).fill(Number.NaN);
  let at = -1;
  for (let i = 0; i < timeNs.length && timeNs[i]! <= timeline.untilNs; i++) {
    while (at + 1 < timeline.timeNs.length && timeline.timeNs[at + 1]! <= timeNs[i]!) at++;
    if (at >= 0) steps[i] = timeline.steps[at]!;
  }
  return steps;
}
