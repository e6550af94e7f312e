import * as v from "valibot";
import { invalidInput } from "../../core/errors.ts";
import { issueText } from "../../core/issue-text.ts";
import type { Frame } from "../model/frames.ts";

const SCHEMA = "stormlog.native/1";
const MAX_FRAMES = 64;
const MAX_PARTS = 64;
const MAX_INPUT = 400;
const MAX_NOTES = 8;

const whole = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** `stormlog.native/1`: sampled live memory of the C heap, or of a thread of V8, by stack, at one time of a process. */
const NativeSchema = v.object({
  schema: v.literal(SCHEMA),
  pid: whole,
  moment: whole,
  step: v.nullable(whole),
  time_ns: whole,
  interval_bytes: whole,
  total_bytes: whole,
  /** The whole heap by the C library's own account, of a peak; null where that is not known. */
  heap_bytes: v.optional(v.nullable(whole), null),
  /** Names of the categories that the probe sees; absent where it looks for none. */
  categories: v.optional(v.pipe(v.array(v.string()), v.maxLength(MAX_PARTS))),
  /** What the program was started with: arguments, versions, size of its models. */
  inputs: v.optional(
    v.record(v.pipe(v.string(), v.maxLength(MAX_INPUT)), v.pipe(v.string(), v.maxLength(MAX_INPUT))),
    {},
  ),
  /** What is missing or older, in sentences. */
  notes: v.optional(v.pipe(v.array(v.pipe(v.string(), v.maxLength(MAX_INPUT))), v.maxLength(MAX_NOTES)), []),
  stacks: v.array(
    v.object({
      /** Estimated from the samples. */
      bytes: whole,
      /** Number of samples. */
      count: whole,
      /** Category and phase, null where unknown; 1 for memory of an earlier call of a model; bytes; samples. */
      parts: v.optional(
        v.pipe(
          v.array(v.tuple([v.nullable(v.string()), v.nullable(v.string()), v.picklist([0, 1]), whole, whole])),
          v.maxLength(MAX_PARTS),
        ),
        [],
      ),
      /** Python's own allocator, above the C heap's; absent for the C heap. */
      allocator: v.optional(v.literal("python")),
      /** Return addresses, innermost first. */
      native: v.pipe(v.array(whole), v.maxLength(MAX_FRAMES)),
      /** Of Python or JavaScript: file, line, function and the name of what the line calls. */
      python: v.pipe(
        v.array(v.tuple([v.string(), whole, v.string(), v.nullable(v.string())])),
        v.maxLength(MAX_FRAMES),
      ),
    }),
  ),
  /** Executable mappings: start, end, offset in the file, path. */
  modules: v.array(v.tuple([whole, whole, whole, v.string()])),
});

/** An executable mapping of a file. */
export interface Mapping {
  readonly start: number;
  readonly end: number;
  /** Offset of `start` in the file. */
  readonly offset: number;
  readonly path: string;
}

export interface PythonCall extends Frame {
  /** Name of the function that the line calls; null when unknown. */
  readonly called: string | null;
}

/** Samples of a stack whose memory is of one category, phase and age. */
export interface StackPart {
  readonly category: string | null;
  readonly phase: string | null;
  /** Whether a model was called since, from outside of any other. */
  readonly kept: boolean;
  readonly bytes: number;
  readonly count: number;
}

export interface NativeStack {
  readonly bytes: number;
  readonly count: number;
  /** Of a peak; they add up to the stack's bytes. */
  readonly parts: readonly StackPart[];
  /** Whether Python's own allocator gave out the memory, so that tracemalloc sees it as well. */
  readonly isPython: boolean;
  /** Return addresses, innermost first. */
  readonly native: readonly number[];
  /** Innermost first. */
  readonly python: readonly PythonCall[];
}

/** One sample of the C heap of a process. */
export interface NativeSample {
  readonly pid: number;
  readonly moment: number;
  readonly step: number | null;
  /** CLOCK_MONOTONIC: when it was written or, of a peak, when that was. */
  readonly timeNs: number;
  /** Mean number of bytes between two samples, when it was written. */
  readonly intervalBytes: number;
  readonly totalBytes: number;
  /** The whole heap, of a peak; null where that is not known. */
  readonly heapBytes: number | null;
  /** Categories that the probe sees; null where it looks for none. */
  readonly categories: readonly string[] | null;
  readonly inputs: Readonly<Record<string, string>>;
  readonly notes: readonly string[];
  readonly stacks: readonly NativeStack[];
  readonly mappings: readonly Mapping[];
}

/** @throws GateError LINES_INVALID when it is not a list of native stacks */
export function parseNative(json: unknown, where: string): NativeSample {
  const parsed = v.safeParse(NativeSchema, json, { abortEarly: true });
  if (!parsed.success) {
    throw invalidInput("LINES_INVALID", issueText(parsed.issues[0]), where, `Expected a ${SCHEMA} document.`);
  }
  const { pid, moment, step, time_ns, interval_bytes, total_bytes, heap_bytes, stacks, modules, categories } =
    parsed.output;
  const { inputs, notes } = parsed.output;
  return {
    pid,
    moment,
    step,
    timeNs: time_ns,
    intervalBytes: interval_bytes,
    totalBytes: total_bytes,
    heapBytes: heap_bytes,
    categories: categories ?? null,
    inputs,
    notes,
    stacks: stacks.map(({ bytes, count, parts, allocator, native, python }) => ({
      bytes,
      count,
      parts: parts.map(([category, phase, kept, own, samples]) => ({
        category,
        phase,
        kept: kept === 1,
        bytes: own,
        count: samples,
      })),
      isPython: allocator === "python",
      native,
      python: python.map(([file, line, name, called]) => ({ file, line, function: name, called })),
    })),
    mappings: modules.map(([start, end, offset, path]) => ({ start, end, offset, path })),
  };
}
