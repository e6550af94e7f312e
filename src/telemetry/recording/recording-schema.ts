import * as v from "valibot";
import type { DeepReadonly } from "../../core/json.ts";
import { METRICS } from "./metrics.ts";
import { OutOfMemorySchema } from "./out-of-memory.ts";
import { RecordedDeviceSchema } from "./recorded-device.ts";
import { ServiceSchema } from "./service.ts";

const text = v.string();
const digits = v.pipe(text, v.regex(/^-?\d{1,20}$/));
const count = v.pipe(v.number(), v.integer(), v.minValue(0));
const known = v.nullable(text);
const amount = v.nullable(v.number());
const metric = v.picklist(METRICS);

/** How a measured command ended. */
const ExitSchema = v.variant("kind", [
  v.object({ kind: v.literal("running") }),
  v.object({ kind: v.literal("exited"), code: v.number() }),
  v.object({ kind: v.literal("signaled"), signal: text }),
  v.object({ kind: v.literal("timeout"), after_s: v.number() }),
  v.object({ kind: v.literal("interrupted"), signal: text }),
  v.object({ kind: v.literal("not-started"), code: text, message: text }),
  /** A service, which runs until the gate has measured enough. */
  v.object({ kind: v.literal("stopped"), signal: text }),
]);
export type ExitState = DeepReadonly<v.InferOutput<typeof ExitSchema>>;

/** A peak that is more accurate than sampling: the kernel's or the allocator's own high-water mark. */
export const KnownPeakSchema = v.object({
  rank: count,
  device: text,
  metric,
  bytes: v.number(),
  /** "exact" only by the host-peak rule: job cgroup, or one process that did not grow after its last sample. */
  kind: v.picklist(["exact", "sampled"]),
  /** Source: "VmHWM", "cgroup memory.peak", "max_memory_allocated", … */
  source: text,
});
export type KnownPeak = DeepReadonly<v.InferOutput<typeof KnownPeakSchema>>;

/** An event of a recording (process started, phase, out of memory, sampler error). */
export const RecordingMarkSchema = v.object({
  timeNs: v.number(),
  kind: v.picklist(["process-start", "process-exit", "phase", "oom", "source-error", "rate-change", "stop"]),
  text,
  pid: v.optional(v.number()),
});
export type RecordingMark = DeepReadonly<v.InferOutput<typeof RecordingMarkSchema>>;

/** A series whose samples end before its process did: a ring of the probe or the sampler was lost. */
const CutSeriesSchema = v.object({ rank: count, device: text, metric });
export type CutSeries = DeepReadonly<v.InferOutput<typeof CutSeriesSchema>>;

/** One device of one process, with the framework's name and the recording's. */
const ProbeDeviceSchema = v.object({
  /** `cuda:0`, `jax:0`, … as numbered by the process. */
  own_name: text,
  name: text,
  model: known,
  uuid: known,
  total_bytes: amount,
  /** The driver's number of the same device; null when unknown. */
  driver_index: v.nullable(count),
});
export type ProbeDevice = DeepReadonly<v.InferOutput<typeof ProbeDeviceSchema>>;

/** A phase that a process named (`stormlog_gate.phase`), on the recording's clock. */
const ProbePhaseSchema = v.object({
  name: text,
  began_ns: v.number(),
  /** Null without an end: the process was killed, or ended, within it. */
  ended_ns: amount,
});
export type ProbePhase = DeepReadonly<v.InferOutput<typeof ProbePhaseSchema>>;

/** Info that the probe of one process recorded. */
const ProbeProcessSchema = v.object({
  pid: count,
  parent: amount,
  rank: v.nullable(count),
  local_rank: v.nullable(count),
  world_size: v.nullable(count),
  role: v.picklist(["plain", "rank", "agent", "child"]),
  /** "torch", "tensorflow" or "jax"; null when none was imported. */
  framework: known,
  /** Program → version: `torch`, `cuda`, `hip`, `tensorflow`, `jax`, `jaxlib`. */
  versions: v.record(text, text),
  /** Null for a program without Python. */
  python: known,
  /** Source of its heap's numbers: `mallinfo2`, `mallinfo`, `jemalloc`, `mimalloc`, or `none:` and the reason. */
  heap: known,
  /** Source of the numbers of Python's own memory: `pymalloc`, or `none:` and the reason; absent = not known. */
  python_heap: v.optional(known),
  allocator_conf: known,
  /** How its steps were recorded: `optimizer-hook`, `patched-step`, `api` or `file`; null without steps. */
  steps_from: known,
  devices: v.array(ProbeDeviceSchema),
  /** Error of the probe itself; null without one. */
  error: known,
  /** Named phases of the program, in the order in which they were entered, at most 256; absent without any. */
  phases: v.optional(v.array(ProbePhaseSchema)),
  /** Number of further phases; absent = none. */
  phases_dropped: v.optional(count),
});
export type ProbeProcess = DeepReadonly<v.InferOutput<typeof ProbeProcessSchema>>;

/** Info that the probes in the measured processes recorded, once the run was over. */
const ProbeSummarySchema = v.object({
  /** At most 256 of them, those with a rank, steps or a framework first. */
  processes: v.array(ProbeProcessSchema),
  processes_total: count,
});
export type ProbeSummary = DeepReadonly<v.InferOutput<typeof ProbeSummarySchema>>;

/** Files in RAM that outlive a command. */
const files = {
  bytes: v.number(),
  count,
  /** The largest of them, with what each gained in the run. */
  files: v.array(v.object({ name: text, bytes: v.number() })),
};
const LeftBehindSchema = v.object({
  ...files,
  /** New files that no process of the command was seen to have open; absent without any. */
  unknown: v.optional(v.object(files)),
});
export type LeftBehind = DeepReadonly<v.InferOutput<typeof LeftBehindSchema>>;

/** What each role of the command's processes held, at most a dozen of them; pages of a fork count in the parent. */
const RolesSchema = v.object({
  begin_ns: v.number(),
  /** Length of a stretch of the run. */
  bin_ns: v.number(),
  roles: v.array(
    v.object({
      /** "worker 2 of 4 of gunicorn": who has that place, also after a restart. */
      role: text,
      program: text,
      /** Processes that have had it. */
      pids: count,
      /** The process, where it is one. */
      pid: v.exactOptional(count),
      peak_bytes: v.number(),
      /** The least in each stretch, 0 without a process. */
      bytes: v.array(v.number()),
    }),
  ),
});
export type RecordedRoles = DeepReadonly<v.InferOutput<typeof RolesSchema>>;

/**
 * `recording.json`, version 1: written before the command (`complete: false`) and after it.
 * Unknown keys are ignored, so that a later minor release may add some.
 */
export const RecordingInfoSchema = v.object({
  schema: v.literal("stormlog.recording/1"),
  complete: v.boolean(),
  scenario: text,
  /** 1-based number of this run within its bundle. */
  run: count,
  session: text,
  commit: known,
  command: v.object({ argv: v.array(text), shell: v.boolean(), cwd: text }),
  exit: ExitSchema,
  clock: v.object({
    /** CLOCK_MONOTONIC at `timeNs` 0, decimal string. */
    monotonic_start_ns: digits,
    /** Unix nanoseconds at the same time, decimal string. */
    epoch_ns: digits,
    duration_s: amount,
  }),
  identity: v.object({
    rank: count,
    local_rank: count,
    world_size: v.pipe(count, v.minValue(1)),
    job_id: known,
    host: text,
    pid: v.number(),
  }),
  /** Description of an environment; null = unknown. See `verdict/fingerprint.ts`. */
  fingerprint: v.record(text, v.union([text, v.number(), v.null()])),
  sampler: v.object({
    kind: v.picklist(["native", "fallback"]),
    reason: known,
    host_period_ns: v.number(),
    device_period_ns: v.number(),
    /** Reached rates, per second; null until the end. */
    host_rate_hz: amount,
    device_rate_hz: amount,
    ticks: amount,
    missed_ticks: amount,
    /** CPU seconds of the sampler's own threads. */
    cpu_s: amount,
    cpu_budget_percent: amount,
  }),
  sources: v.array(v.object({ name: text, available: v.boolean(), reason: known, capabilities: v.array(text) })),
  peaks: v.array(KnownPeakSchema),
  output: v.nullable(v.object({ bytes: v.number(), kept_bytes: v.number() })),
  /** Sentences about lost data, with the reason. Empty without losses. */
  lost: v.array(text),
  /** Series whose samples end early; absent without any. */
  cut: v.optional(v.array(CutSeriesSchema)),
  /** Absent when no probe was requested. */
  probe: v.optional(ProbeSummarySchema),
  /** Out of memory with its evidence; absent without any. */
  oom: v.optional(OutOfMemorySchema),
  /** The sampled devices; absent without any. */
  devices: v.optional(v.array(RecordedDeviceSchema)),
  /** Processor time of the command's processes, s; absent = not known. */
  cpu_s: v.optional(v.number()),
  /** Bytes that files in RAM had gained, of equal readings the first and the last; absent = none was seen. */
  ram_files: v.optional(v.object({ times_ns: v.array(v.number()), bytes: v.array(v.number()) })),
  /** Absent where the command had one process. */
  processes: v.optional(RolesSchema),
  /** Files in RAM that outlive the command; absent = not known. */
  left_behind: v.optional(LeftBehindSchema),
  /** Load and rest of a service; absent for a command that ends by itself. */
  service: v.optional(ServiceSchema),
});
export type RecordingInfo = DeepReadonly<v.InferOutput<typeof RecordingInfoSchema>>;
export type Fingerprint = RecordingInfo["fingerprint"];
