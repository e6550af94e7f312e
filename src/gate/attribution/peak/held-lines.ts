import type { Frame } from "../../../snapshot/frames.ts";
import type { TorchSnapshot } from "../../../snapshot/model.ts";
import type { NativeSample } from "../../../snapshot/native-document.ts";
import { lineKey, ownersOf } from "../../../snapshot/owners.ts";
import { peakCompositions } from "../../../snapshot/peak-composition.ts";
import { ownedBy, type Place } from "../native-owner.ts";

/** Memory of one line that is live at the peaks of the processes. */
export interface HeldLine {
  /** From the top of the code that ran. A place in a module, until its line is known. */
  readonly at: Frame;
  readonly python: boolean;
  readonly bytes: number;
  /** Of an estimate from samples, bytes squared; 0 where every allocation is known. */
  readonly variance: number;
  /** The stack with the most bytes, innermost first. */
  readonly stack: readonly Frame[];
  /** The function that the line calls there; null when unknown. */
  readonly called: string | null;
  /** The allocating place there; null where only the C library is below the line. */
  readonly place: Place | null;
  /** Whether the interpreter itself allocates there. */
  readonly isInterpreter: boolean;
}

export interface HeldOptions {
  readonly isUserFrame: (frame: Frame) => boolean;
  /** The name of a file from the top of the code that ran. */
  readonly relative: (file: string) => string;
}

/** Samples of more than so many intervals are certain to be taken, so their sizes are exact. */
const CERTAIN_INTERVALS = 2;

/**
 * Variance of the sum of `count` samples of allocations that are drawn by a Poisson process over their bytes, each
 * weighted by the inverse of its chance (Horvitz and Thompson, 1952): count b^2 (1 - p) for weights of b bytes, where
 * 1 - p falls as exp(-b / interval). Small allocations all weigh the interval, so 1 - p is taken as 1 for them.
 */
function sampledVariance(bytes: number, count: number, interval: number): number {
  const each = bytes / count / interval;
  const missed = each < CERTAIN_INTERVALS ? 1 : Math.exp(-each);
  return (bytes ** 2 / count) * missed;
}

/** What each line holds in the C heap at the peaks of its processes, most first. @param samples one of each process */
export function heldLines(samples: readonly NativeSample[], { isUserFrame, relative }: HeldOptions): HeldLine[] {
  const lines = new Map<string, { line: HeldLine; most: number }>();
  for (const { stacks, mappings, intervalBytes } of samples) {
    const ordered = [...mappings].sort((a, b) => a.start - b.start);
    for (const stack of stacks) {
      const owned = ownedBy(stack, ordered, isUserFrame);
      if (owned === null) continue;
      const { bytes, count } = stack;
      const at = { ...owned.frame, file: relative(owned.frame.file) };
      const frames = stack.python.map((frame) => ({
        file: relative(frame.file),
        line: frame.line,
        function: frame.function,
      }));
      const variance = sampledVariance(bytes, count, intervalBytes);
      const { python, called, place, isInterpreter } = owned;
      const own: HeldLine = { at, python, bytes, variance, stack: frames, called, place, isInterpreter };
      const known = lines.get(lineKey(at));
      if (known === undefined) {
        lines.set(lineKey(at), { line: own, most: bytes });
        continue;
      }
      const shown = bytes > known.most ? own : known.line;
      known.most = Math.max(known.most, bytes);
      known.line = { ...shown, bytes: known.line.bytes + bytes, variance: known.line.variance + variance };
    }
  }
  return [...lines.values()].map(({ line }) => line).sort((a, b) => b.bytes - a.bytes);
}

/**
 * What each line holds at the peak of one device, most first, by the recorded history of its allocator; nothing without
 * one, since the snapshot itself shows another moment.
 */
export function heldOnDevice(
  snapshots: readonly TorchSnapshot[],
  device: number,
  { isUserFrame, relative }: HeldOptions,
): HeldLine[] {
  const lines = new Map<string, HeldLine>();
  for (const snapshot of snapshots) {
    const compositions = peakCompositions(snapshot, ownersOf(snapshot.stacks, isUserFrame));
    const own = compositions.find((one) => one.device === device && one.moment === "peak");
    for (const { frame, bytes, stack } of own?.lines ?? []) {
      const at = { ...frame, file: relative(frame.file) };
      const known = lines.get(lineKey(at));
      const frames = stack.map((one) => ({ ...one, file: relative(one.file) }));
      const unsampled = { python: true, variance: 0, called: null, place: null, isInterpreter: false };
      lines.set(lineKey(at), { at, stack: frames, ...unsampled, ...known, bytes: bytes + (known?.bytes ?? 0) });
    }
  }
  return [...lines.values()].sort((a, b) => b.bytes - a.bytes);
}
