import * as v from "valibot";

const text = v.string();
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const bytes = v.pipe(v.number(), v.minValue(0));

/** One call on the stack of the failing request. */
export const OomFrameSchema = v.object({
  /** As the program named it. */
  file: text,
  /** 1-based; 0 when unknown. */
  line: count,
  function: text,
  /** Text of the source line; "" when the report of the error did not show it. */
  code: text,
});
export type OomFrame = v.InferOutput<typeof OomFrameSchema>;

/** Sizes that an out-of-memory report names, bytes; null = it does not say. Texts round to two decimals of their unit. */
export const OomSizesSchema = v.object({
  requested_bytes: v.nullable(bytes),
  allocated_bytes: v.nullable(bytes),
  reserved_bytes: v.nullable(bytes),
  free_bytes: v.nullable(bytes),
  /** Capacity of the device, or the limit of the memory group or address space. */
  total_bytes: v.nullable(bytes),
});
export type OomSizes = v.InferOutput<typeof OomSizesSchema>;

export const NO_SIZES: OomSizes = {
  requested_bytes: null,
  allocated_bytes: null,
  reserved_bytes: null,
  free_bytes: null,
  total_bytes: null,
};

/** That a run ran out of memory, in `recording.json`. Text of the measured program stands in it unescaped. */
export const OutOfMemorySchema = v.object({
  /** `established` fails the verdict; `suspected` is told and warns: only the program's words speak for it. */
  certainty: v.picklist(["established", "suspected"]),
  /** 0 to 1: how much the strongest piece of evidence is worth. */
  confidence: v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
  /** The command went on after it and ended with status 0. */
  swallowed: v.boolean(),
  /** Who told: the probe inside the process, the kernel, or the command's output. */
  source: v.picklist(["probe", "kernel", "output"]),
  /** Whose memory: `torch`, `python`, `numpy`, `node`, `java`, `c++`, …, `kernel` for a process that was killed. */
  runtime: text,
  /** Nanoseconds since time zero of the recording; null when the moment is not known (output has no clock). */
  time_ns: v.nullable(v.number()),
  pid: v.nullable(v.number()),
  rank: v.nullable(count),
  device: v.nullable(text),
  exception: v.nullable(text),
  message: v.nullable(text),
  ...OomSizesSchema.entries,
  step: v.nullable(count),
  /** Innermost call first, at most 32; empty when unknown. */
  stack: v.array(OomFrameSchema),
  /** How many such errors are known of; at least 1. */
  errors: v.pipe(v.number(), v.integer(), v.minValue(1)),
  /** What speaks for it, one sentence each. */
  evidence: v.array(text),
});
export type OutOfMemory = v.InferOutput<typeof OutOfMemorySchema>;

/** Calls kept of a stack. */
export const MAX_FRAMES = 32;
/** Characters kept of a message. */
export const MAX_MESSAGE = 2000;
