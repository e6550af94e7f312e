import * as v from "valibot";
import { invalidInput } from "../../core/errors.ts";
import { issueText } from "../../core/issue-text.ts";
import type { DeepReadonly } from "../../core/json.ts";

const SCHEMA = "stormlog.native/1";
const MAX_FRAMES = 64;
const MAX_PARTS = 64;

const whole = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const shortText = v.pipe(v.string(), v.maxLength(400));
const list = <T extends v.GenericSchema>(item: T, most: number) => v.pipe(v.array(item), v.maxLength(most));

/** Samples of a stack whose memory is of one category, phase and age. */
const PartSchema = v.pipe(
  // Category and phase, null where unknown; 1 for memory of an earlier call of a model; bytes; samples.
  v.tuple([v.nullable(v.string()), v.nullable(v.string()), v.picklist([0, 1]), whole, whole]),
  v.transform(([category, phase, kept, bytes, count]) => ({
    category,
    phase,
    /** Whether a model was called since, from outside of any other. */
    kept: kept === 1,
    bytes,
    count,
  })),
);

const StackSchema = v.pipe(
  v.object({
    /** Estimated from the samples. */
    bytes: whole,
    /** Number of samples. */
    count: whole,
    /** Of a peak; they add up to the stack's bytes. */
    parts: v.optional(list(PartSchema, MAX_PARTS), []),
    /** Python's own allocator, above the C heap's; absent for the C heap. */
    allocator: v.optional(v.literal("python")),
    /** Return addresses, innermost first. */
    native: list(whole, MAX_FRAMES),
    /** Of Python or JavaScript, innermost first: file, line, function and the name of what the line calls. */
    python: list(
      v.pipe(
        v.tuple([v.string(), whole, v.string(), v.nullable(v.string())]),
        v.transform(([file, line, name, called]) => ({ file, line, function: name, called })),
      ),
      MAX_FRAMES,
    ),
  }),
  // Tracemalloc sees what Python's own allocator gave out as well.
  v.transform(({ allocator, ...stack }) => ({ ...stack, isPython: allocator === "python" })),
);
export type NativeStack = DeepReadonly<v.InferOutput<typeof StackSchema>>;

/** An executable mapping of a file: start, end, offset of the start in the file, path. */
const MappingSchema = v.pipe(
  v.tuple([whole, whole, whole, v.string()]),
  v.transform(([start, end, offset, path]) => ({ start, end, offset, path })),
);
export type Mapping = DeepReadonly<v.InferOutput<typeof MappingSchema>>;

/** `stormlog.native/1`: sampled live memory of the C heap, or of a thread of V8, by stack, at one time of a process. */
const NativeSchema = v.pipe(
  v.object({
    schema: v.literal(SCHEMA),
    pid: whole,
    moment: whole,
    step: v.nullable(whole),
    /** CLOCK_MONOTONIC: when it was written or, of a peak, when that was. */
    time_ns: whole,
    /** Mean number of bytes between two samples, when it was written. */
    interval_bytes: whole,
    total_bytes: whole,
    /** The whole heap by the C library's own account, of a peak; null where that is not known. */
    heap_bytes: v.optional(v.nullable(whole), null),
    /** Names of the categories that the probe sees; absent where it looks for none. */
    categories: v.optional(list(v.string(), MAX_PARTS)),
    /** What the program was started with: arguments, versions, size of its models. */
    inputs: v.optional(v.record(shortText, shortText), {}),
    /** What is missing or older, in sentences. */
    notes: v.optional(list(shortText, 8), []),
    stacks: v.array(StackSchema),
    modules: v.array(MappingSchema),
  }),
  v.transform(({ schema: _, time_ns, interval_bytes, total_bytes, heap_bytes, categories, modules, ...sample }) => ({
    ...sample,
    timeNs: time_ns,
    intervalBytes: interval_bytes,
    totalBytes: total_bytes,
    heapBytes: heap_bytes,
    categories: categories ?? null,
    mappings: modules,
  })),
);

/** One sample of the C heap of a process. */
export type NativeSample = DeepReadonly<v.InferOutput<typeof NativeSchema>>;

/** @throws GateError LINES_INVALID when it is not a list of native stacks */
export function parseNative(json: unknown, where: string): NativeSample {
  const parsed = v.safeParse(NativeSchema, json, { abortEarly: true });
  if (parsed.success) return parsed.output;
  throw invalidInput("LINES_INVALID", issueText(parsed.issues[0]), where, `Expected a ${SCHEMA} document.`);
}
