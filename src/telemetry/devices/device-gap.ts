import { heldAt } from "../recording/common-clock.ts";
import type { ProcessHistory } from "../recording/process-history.ts";
import type { GapShares } from "../recording/recorded-device.ts";
import type { RecordedStream } from "../recording/recorded-streams.ts";
import { knownRange, listsJobOnly, tenantLimit } from "./device-attribution.ts";
import { jobTotal } from "./device-peaks.ts";
import type { SurveyedDevice } from "./device-survey.ts";

/** Times of one process that divide its memory outside the allocator, on the recording's clock; null = not recorded. */
export interface GapMarks {
  readonly pid: number;
  /** The device's context was created. */
  readonly contextNs: number | null;
  /** The first process group was requested. */
  readonly groupNs: number | null;
  /** Construction of the first module that communicates by itself, which creates its communicators. */
  readonly wrapNs: readonly [number, number] | null;
  /** The first step was done. */
  readonly firstStepNs: number | null;
}

/** The gap of one device over time, bytes; NaN = unknown. */
interface GapSeries {
  readonly level: GapShares["level"];
  readonly timeNs: Float64Array;
  readonly bytes: Float64Array;
}

/** A sample represents a time before it up to this distance: loading the next component takes longer. */
const NEAR_NS = 500e6;
/** Steps after which kernels are loaded and caches are filled. */
export const WARM_STEPS = 3;

/** When the memory of a stream was certainly released: some time after its process ended; infinite without an end. */
function goneAt(stream: RecordedStream, processes: ProcessHistory): number {
  const lastNs = stream.timeNs.at(-1)!;
  const exit = processes.all.find(
    ({ pid, exitNs }) => pid === stream.pid && exitNs !== null && exitNs >= lastNs,
  )?.exitNs;
  return (exit ?? Number.POSITIVE_INFINITY) + UNSEEN_NS;
}

/** Maximum interval of a probe's samples of an idle device: memory at its first sample may be this old. */
const UNSEEN_NS = 500e6;
/** Samples before and after a time that differ by less are one level. Bytes. */
const SAME_LEVEL_BYTES = 1 << 20;

/** Begin and end of one allocator's samples. */
export interface AllocatorSpan {
  /** Whether it was known to be empty at a time before its first sample, else its memory then is unknown. */
  readonly before: (ns: number) => boolean;
  /** It was empty from here on; infinite when unknown. Its memory after its last sample is unknown. */
  readonly goneNs: number;
}

/** Memory of an allocator at each time; NaN where it changed between the samples around it. */
export function steadyAt(
  timeNs: Float64Array,
  values: Float64Array,
  at: Float64Array,
  { before, goneNs }: AllocatorSpan,
): Float64Array {
  const held = heldAt(timeNs, values, at);
  let next = 0;
  for (let i = 0; i < at.length; i++) {
    const now = at[i]!;
    while (next < timeNs.length && (timeNs[next]! <= now || Number.isNaN(values[next]!))) next++;
    if (now < timeNs[0]!) held[i] = before(now) ? 0 : Number.NaN;
    else if (now > goneNs) held[i] = 0;
    else if (timeNs[next - 1] !== now && !(Math.abs(values[next]! - held[i]!) < SAME_LEVEL_BYTES)) held[i] = Number.NaN;
  }
  return held;
}

/** For an allocator whose first sample is known: empty before it, except for the probe's sampling interval. */
export function emptyBefore(timeNs: Float64Array, values: Float64Array): (ns: number) => boolean {
  const [firstNs, first] = [timeNs[0] ?? 0, values[0] ?? Number.NaN];
  return (ns) => ns < firstNs - UNSEEN_NS || first < SAME_LEVEL_BYTES;
}

/**
 * Sum of the job's allocators on a device; 0 before the first and after the last. Unknown around changes: driver and
 * allocator are read at different times, and a step in between would look like memory of neither.
 */
export function reservedAt(
  streams: readonly RecordedStream[],
  processes: ProcessHistory,
  timeNs: Float64Array,
): Float64Array {
  const sums = new Float64Array(timeNs.length);
  for (const stream of streams) {
    const extent = { before: emptyBefore(stream.timeNs, stream.reserved), goneNs: goneAt(stream, processes) };
    const held = steadyAt(stream.timeNs, stream.reserved, timeNs, extent);
    for (let i = 0; i < sums.length; i++) sums[i] = sums[i]! + held[i]!;
  }
  return sums;
}

function minus(level: GapShares["level"], timeNs: Float64Array, whole: Float64Array, parts: Float64Array): GapSeries {
  return { level, timeNs, bytes: whole.map((value, i) => value - parts[i]!) };
}

/** Whether the memory of others was constant enough to attribute the rest of the device's memory to the job. */
function othersStill({ recorded, attribution, columns, totalBytes }: SurveyedDevice): boolean {
  // When only the job's processes are recorded, others are ignored.
  if (attribution.kind === "pid" && listsJobOnly(recorded)) return false;
  if (columns === null || columns.others === null) return true;
  const [lowest, highest] = knownRange(columns.others);
  return !(highest - lowest > tenantLimit(totalBytes));
}

/** The gap by the device's used memory, and by the driver's account of the job's processes, each where it is known. */
function gapsOf(device: SurveyedDevice, processes: ProcessHistory): GapSeries[] {
  const { samples, columns, users, baselineBytes, attribution } = device;
  if (users === null || !users.streams.some(({ reserved }) => reserved.some((value) => !Number.isNaN(value))))
    return [];
  const gaps: GapSeries[] = [];
  // Used memory is read many times a second and the lists once, so the finer one comes first.
  if (samples !== null && baselineBytes !== null && attribution.kind !== "none" && othersStill(device)) {
    const used = samples.used.map((value) => value - baselineBytes);
    gaps.push(minus("device", samples.timeNs, used, reservedAt(users.streams, processes, samples.timeNs)));
  }
  const job = jobTotal(device);
  if (columns !== null && job !== null && attribution.kind !== "none" && attribution.kind !== "device-delta") {
    gaps.push(minus("process", columns.timeNs, job, reservedAt(users.streams, processes, columns.timeNs)));
  }
  return gaps;
}

/** The first known value from a time on, up to another. */
function after({ timeNs, bytes }: GapSeries, fromNs: number, untilNs: number): number | null {
  for (let i = 0; i < timeNs.length && timeNs[i]! <= untilNs; i++) {
    if (timeNs[i]! >= fromNs && !Number.isNaN(bytes[i]!)) return bytes[i]!;
  }
  return null;
}

/** The last known value up to a time, from another on. */
function before({ timeNs, bytes }: GapSeries, untilNs: number, sinceNs: number): number | null {
  let value: number | null = null;
  for (let i = 0; i < timeNs.length && timeNs[i]! <= untilNs; i++) {
    if (timeNs[i]! >= sinceNs && !Number.isNaN(bytes[i]!)) value = bytes[i]!;
  }
  return value;
}

/** The highest known value from a time on. */
function peakFrom({ timeNs, bytes }: GapSeries, fromNs: number): number | null {
  let peak: number | null = null;
  for (let i = 0; i < timeNs.length; i++) {
    if (timeNs[i]! >= fromNs && bytes[i]! > (peak ?? Number.NEGATIVE_INFINITY)) peak = bytes[i]!;
  }
  return peak;
}

const latest = (times: readonly number[]): number | null => (times.length === 0 ? null : Math.max(...times));
const earliest = (times: readonly number[]): number | null => (times.length === 0 ? null : Math.min(...times));
const known = (times: readonly (number | null)[]): number[] => times.filter((time) => time !== null);

interface Moments {
  /** Every process has its context, and its allocator its first memory. */
  readonly contextNs: number | null;
  readonly groupNs: number | null;
  readonly wrapNs: readonly [number, number] | null;
  /** Warm-up is over. */
  readonly warmNs: number | null;
}

/** First time at which the allocator of a stream has memory: its process has a context by then. */
function firstHeld({ timeNs, reserved, allocated }: RecordedStream): number | null {
  const at = reserved.findIndex((value, i) => value > 0 || allocated[i]! > 0);
  return at < 0 ? null : timeNs[at]!;
}

/** End of a process's warm-up steps. */
function warm(stream: RecordedStream, marks: GapMarks | undefined): number | null {
  for (let i = 0, last = Number.NaN; i < stream.steps.length; i++) {
    const step = stream.steps[i]!;
    if (Number.isNaN(step) || step === last) continue;
    last = step;
    if (step >= WARM_STEPS) return stream.timeNs[i]!;
  }
  return marks?.firstStepNs ?? null;
}

function momentsOf(streams: readonly RecordedStream[], marks: readonly GapMarks[]): Moments {
  const of = new Map(marks.map((one) => [one.pid, one]));
  const own = [...new Set(streams.map(({ pid }) => pid))].flatMap((pid) => of.get(pid) ?? []);
  const wraps = own.flatMap(({ wrapNs }) => (wrapNs === null ? [] : [wrapNs]));
  return {
    contextNs: latest(known([...streams.map(firstHeld), ...own.map(({ contextNs }) => contextNs)])),
    groupNs: earliest(known(own.map(({ groupNs }) => groupNs))),
    wrapNs:
      wraps.length === 0 ? null : [Math.min(...wraps.map(([from]) => from)), Math.max(...wraps.map(([, to]) => to))],
    warmNs: latest(known(streams.map((stream) => warm(stream, of.get(stream.pid))))),
  };
}

const difference = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : a - b);
const plus = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : a + b);

function sharesOf(gap: GapSeries, { contextNs, groupNs, wrapNs, warmNs }: Moments): GapShares | null {
  const peak = peakFrom(gap, Number.NEGATIVE_INFINITY);
  if (peak === null) return null;
  const shares = { level: gap.level, peak_bytes: Math.round(peak) };
  const nothing = { context_bytes: null, library_bytes: null, communicator_bytes: null, later_bytes: null };
  if (contextNs === null) return { ...shares, ...nothing };
  const boundary = (time: number | null): number =>
    time !== null && time > contextNs ? time : Number.POSITIVE_INFINITY;
  const wrapped = wrapNs !== null && wrapNs[0] >= contextNs;
  const next = Math.min(boundary(wrapped ? wrapNs[0] : groupNs), boundary(warmNs), contextNs + NEAR_NS);
  const context = after(gap, contextNs, next);
  const settled = warmNs === null || warmNs < contextNs ? null : before(gap, warmNs, contextNs);
  let library: number | null = null;
  let communicator: number | null = null;
  if (wrapped) {
    const from = before(gap, wrapNs[0], contextNs);
    const to = after(gap, wrapNs[1], Math.min(wrapNs[1] + NEAR_NS, boundary(warmNs)));
    communicator = difference(to, from);
    library = plus(difference(from, context), difference(settled, to));
  } else if (groupNs === null) library = difference(settled, context);
  else if (groupNs > contextNs) {
    const from = before(gap, groupNs, contextNs);
    library = difference(from, context);
    communicator = difference(settled, from);
  }
  // A group older than the context creates its communicators at their first use, which is not recorded.
  return {
    ...shares,
    context_bytes: whole(context),
    library_bytes: whole(library),
    communicator_bytes: whole(communicator),
    later_bytes: whole(warmNs === null ? null : difference(peakFrom(gap, warmNs), settled)),
  };
}

const whole = (bytes: number | null): number | null => (bytes === null ? null : Math.round(bytes));

/**
 * Components of a device's memory outside the job's allocators, by its used memory or, if others changed that, by the
 * driver's account of the job's processes; null when the gap is unknown.
 */
export function gapShares(
  device: SurveyedDevice,
  processes: ProcessHistory,
  marks: readonly GapMarks[],
): GapShares | null {
  const moments = momentsOf(device.users?.streams ?? [], marks);
  const known = gapsOf(device, processes).flatMap((gap) => sharesOf(gap, moments) ?? []);
  return known.find(({ context_bytes }) => context_bytes !== null) ?? known[0] ?? null;
}
