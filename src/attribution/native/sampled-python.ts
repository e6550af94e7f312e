import type { ProcessEvidence } from "../../snapshot/growth/attribution.ts";
import { type Frame, ownerOf } from "../../snapshot/model/frames.ts";
import { MIN_MOMENTS } from "../run/attribution-plan.ts";
import type { NativeSamples } from "./native-files.ts";

/**
 * Python's live memory by the samples of its allocator, where tracemalloc was read too seldom: it had more blocks than
 * a pause allows, or the program stopped it.
 */
export function withSampledPython(
  processes: readonly ProcessEvidence[],
  samples: NativeSamples,
  isUserFrame: (frame: Frame) => boolean,
): readonly ProcessEvidence[] {
  return processes.map((process) => {
    const traced = process.moments.filter(({ source }) => source === "tracemalloc");
    const read = traced.filter(({ unread, ended }) => !unread && !ended);
    const own = samples.processes.find(([id]) => id === process.process)?.[1] ?? [];
    if (read.length >= MIN_MOMENTS || own.length <= read.length) return process;
    const lineOf = (stack: readonly Frame[]): string => {
      const frame = ownerOf(stack, isUserFrame)?.frame;
      return `${frame?.file}:${frame?.line}`;
    };
    const entries = traced.flatMap(({ sample }) => sample.entries);
    const retainers = new Map(
      entries.flatMap(({ stack, retainer }) => (retainer === undefined ? [] : [[lineOf(stack), retainer] as const])),
    );
    const sampled = own.flatMap(({ pid, moment, step, timeNs, stacks }) => {
      const beside = traced.find((one) => one.moment === moment);
      if (beside === undefined) return [];
      const inPython = stacks.filter(({ isPython }) => isPython);
      const totalBytes = inPython.reduce((sum, { bytes }) => sum + bytes, 0);
      const live = inPython
        .filter(({ python }) => python.length > 0)
        .map(({ bytes, count, python }) => {
          const retainer = retainers.get(lineOf(python));
          return { bytes, count, kind: "python", stack: python, ...(retainer === undefined ? {} : { retainer }) };
        });
      return [{ ...beside, pid, unread: false, sample: { step, timeNs, totalBytes, entries: live } }];
    });
    const last = sampled.at(-1)?.sample;
    const placed = last?.entries.reduce((sum, { bytes }) => sum + bytes, 0) ?? 0;
    // The code that allocates is not always found.
    if (last === undefined || 2 * placed < last.totalBytes) return process;
    const others = process.moments.filter(({ source }) => source !== "tracemalloc");
    return { ...process, moments: [...sampled, ...others] };
  });
}
