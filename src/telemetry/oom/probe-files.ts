import { readdirSync } from "node:fs";
import path from "node:path";
import { readHead } from "../../core/files.ts";
import { NO_SIZES, type OomSizes, type OutOfMemory } from "../recording/out-of-memory.ts";
import { OOM_FILE, type ProbeOom, probeOom } from "../recording/probe-record.ts";
import { PROBE_FOLDER } from "../recording/run-files.ts";
import { deviceIn, sizesIn } from "./sizes.ts";
import { pythonStack } from "./stack.ts";

/** Text of a small regular file; null without. Never follows a link or blocks: the measured program may create it. */
export function smallText(file: string): string | null {
  try {
    // Maximum number of bytes of one file: a record contains one traceback.
    return readHead(file, 1 << 20, "refuse").toString("utf8");
  } catch {
    return null;
  }
}

/** The out-of-memory records that the probe left, by process and number; empty when there are none. */
export function readProbeOoms(runDirectory: string): ProbeOom[] {
  const directory = path.join(runDirectory, PROBE_FOLDER);
  let names: string[];
  try {
    names = readdirSync(directory).filter((name) => OOM_FILE.test(name));
  } catch {
    return [];
  }
  names.sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
  // Maximum number of records of one run. A loop that swallows errors writes more; the first contain the cause.
  return names.slice(0, 64).flatMap((name) => {
    const text = smallText(path.join(directory, name));
    if (text === null) return [];
    const base = OOM_FILE.exec(name)?.[1] ?? "";
    return [probeOom(name, text, smallText(path.join(directory, `${base}.info`)) ?? "")];
  });
}

/** Errors by time. The first is the cause; those that follow (other ranks, retries) are counted. */
export function inOrder(records: readonly ProbeOom[]): readonly ProbeOom[] {
  return [...records].sort((a, b) => Number((a.monotonicNs ?? 0n) - (b.monotonicNs ?? 0n)));
}

/** Sizes of the record, or of its message where the record has none. */
function sizesOf({ sizes, message }: ProbeOom): OomSizes {
  const known = Object.entries(sizes).filter(([, bytes]) => bytes !== null);
  return { ...(message === null ? NO_SIZES : sizesIn(message)), ...Object.fromEntries(known) };
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
