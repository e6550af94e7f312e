import { NO_SIZES, type OomSizes, type OutOfMemory } from "../recording/out-of-memory.ts";
import type { ProbeOom } from "../recording/probe-record.ts";
import { deviceIn, sizesIn } from "./sizes.ts";
import { pythonStack } from "./stack.ts";

/** Errors by time. The first is the cause; those that follow (other ranks, retries) are counted. */
export function inOrder(records: readonly ProbeOom[]): readonly ProbeOom[] {
  return [...records].sort((a, b) => Number((a.monotonicNs ?? 0n) - (b.monotonicNs ?? 0n)));
}

/** Sizes of the record, or of its message where the record has none. */
function sizesOf({ sizes, message }: ProbeOom): OomSizes {
  const named = message === null ? NO_SIZES : sizesIn(message);
  return {
    requested_bytes: sizes.requested_bytes ?? named.requested_bytes,
    allocated_bytes: sizes.allocated_bytes ?? named.allocated_bytes,
    reserved_bytes: sizes.reserved_bytes ?? named.reserved_bytes,
    free_bytes: sizes.free_bytes ?? named.free_bytes,
    total_bytes: sizes.total_bytes ?? named.total_bytes,
  };
}

function runtimeOf({ kind, exception, message }: ProbeOom): string {
  if (kind.startsWith("torch") || /torch/i.test(exception ?? "")) return "torch";
  return /DefaultCPUAllocator|(?:CUDA|HIP|XPU|MPS backend) out of memory/.test(message ?? "") ? "torch" : "python";
}

/** Facts of a probe's record of an error; `startNs` is CLOCK_MONOTONIC at the recording's time zero. */
export function probeWitness(record: ProbeOom, startNs: bigint) {
  return {
    runtime: runtimeOf(record),
    time_ns: record.monotonicNs === null ? null : Math.max(0, Number(record.monotonicNs - startNs)),
    pid: record.pid,
    rank: record.rank,
    device: record.device ?? deviceIn(record.message ?? ""),
    exception: record.exception,
    message: record.message,
    ...sizesOf(record),
    step: record.step,
    stack: record.traceback === null ? [] : pythonStack(record.traceback.split("\n")),
  } satisfies Partial<OutOfMemory>;
}
