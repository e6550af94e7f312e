import * as v from "valibot";
import type { DeepReadonly } from "../../core/json.ts";

const text = v.string();
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const bytes = v.pipe(v.number(), v.minValue(0));

/** One call on the stack of the failing request. */
const OomFrameSchema = v.object({
  /** The name that the program reported. */
  file: text,
  /** 1-based; 0 when unknown. */
  line: count,
  function: text,
  /** Text of the source line; "" when the error's report lacks it. */
  code: text,
});
export type OomFrame = v.InferOutput<typeof OomFrameSchema>;

/** Sizes in an out-of-memory report, bytes; null = missing. Rounded to two decimals of their unit. */
const OomSizesSchema = v.object({
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

/** Out-of-memory error of a run, in `recording.json`. It contains unescaped text of the measured program. */
export const OutOfMemorySchema = v.object({
  /** `established` fails the verdict. `suspected` warns: only the program's output indicates it. */
  certainty: v.picklist(["established", "suspected"]),
  /** 0 to 1: confidence of the strongest evidence. */
  confidence: v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
  /** The command continued after it and ended with status 0. */
  swallowed: v.boolean(),
  /** Source: the probe inside the process, the kernel, or the command's output. */
  source: v.picklist(["probe", "kernel", "output"]),
  /** Runtime of the memory: `torch`, `python`, `numpy`, `node`, `java`, `c++`, …, `kernel` for a killed process. */
  runtime: text,
  /** Nanoseconds since time zero of the recording; null when unknown (output has no clock). */
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
  /** Number of known errors; at least 1. */
  errors: v.pipe(v.number(), v.integer(), v.minValue(1)),
  /** Evidence, one sentence each. */
  evidence: v.array(text),
});
export type OutOfMemory = DeepReadonly<v.InferOutput<typeof OutOfMemorySchema>>;

/** Maximum number of kept frames of a stack. */
export const MAX_FRAMES = 32;
/** Maximum number of kept characters of a message. */
export const MAX_MESSAGE = 2000;
