import path from "node:path";
import type { NativeSample } from "../../snapshot/growth/native-document.ts";
import { ownersOf } from "../../snapshot/live/owners.ts";
import { peakCompositions } from "../../snapshot/live/peak-composition.ts";
import {
  CATEGORIES,
  type Category,
  categoryOf,
  isCategory,
  phaseOfStack,
  UNSEEN_IN_SNAPSHOTS,
  UNSEEN_ON_HOST,
} from "../../snapshot/live/tensor-category.ts";
import type { Frame } from "../../snapshot/model/frames.ts";
import type { TorchSnapshot } from "../../snapshot/model/snapshot.ts";
import { type ModuleOffset, ownedBy } from "../native/native-owner.ts";

/** Memory of one stack, category and phase that is live at the peaks of the processes. */
export interface HeldPart {
  /** From the top of the code that ran. A place in a module, until its line is known; without a file where unknown. */
  readonly at: Frame;
  readonly python: boolean;
  readonly category: Category | null;
  /** In which it was allocated: "forward", or a phase that the program names; null outside of any. */
  readonly phase: string | null;
  readonly bytes: number;
  /** Of an estimate from samples, bytes squared; 0 where every allocation is known. */
  readonly variance: number;
  /** Innermost first. */
  readonly stack: readonly Frame[];
  /** The function that the line calls there; null when unknown. */
  readonly called: string | null;
  /** The allocating place there; null where only the C library is below the line. */
  readonly place: ModuleOffset | null;
  /** Whether the interpreter itself allocates there. */
  readonly isInterpreter: boolean;
}

/** What a peak consists of. Its lines, categories and phases are sums over the same parts. */
export interface Composition {
  readonly parts: readonly HeldPart[];
  /** Categories that this source cannot see; null where it sees none at all. */
  readonly unseen: readonly string[] | null;
}

export interface HeldOptions {
  readonly isUserFrame: (frame: Frame) => boolean;
  /** The name of a file from the top of the code that ran. */
  readonly relative: (file: string) => string;
}

/** Samples of more than so many intervals are certain to be taken, so their sizes are exact. */
const CERTAIN_INTERVALS = 2;
/** Estimates with a smaller share of deviation are as good as exact, and stay as they are. */
const MIN_DEVIATION = 0.01;

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

const NOWHERE: Frame = { file: "", line: 0, function: "" };

/**
 * Estimates of parts whose sum is known, adjusted by generalised least squares: the residual goes to the parts in
 * proportion to their variances. Returns them as they are where none has one.
 */
function adjusted(parts: readonly HeldPart[], heapBytes: number): HeldPart[] {
  const own = ({ bytes, variance }: HeldPart): number => (variance > (MIN_DEVIATION * bytes) ** 2 ? variance : 0);
  const total = parts.reduce((sum, part) => sum + own(part), 0);
  if (total === 0) return [...parts];
  const residual = heapBytes - parts.reduce((sum, { bytes }) => sum + bytes, 0);
  return parts.map((part) => ({ ...part, bytes: Math.max(0, part.bytes + (residual * own(part)) / total) }));
}

function partsOf(sample: NativeSample, { isUserFrame, relative }: HeldOptions): HeldPart[] {
  const ordered = [...sample.mappings].sort((a, b) => a.start - b.start);
  const named = (frame: Frame): Frame => ({ file: relative(frame.file), line: frame.line, function: frame.function });
  const found = sample.stacks.flatMap((stack): HeldPart[] => {
    const owned = ownedBy(stack, ordered, isUserFrame);
    const module = owned?.place == null ? "" : path.basename(owned.place.path);
    // PyTorch's libraries, and the one that allocates the memory of tensors.
    const origin = { isTensor: /^libc10\.so/.test(module), isTorch: /^lib(?:torch|c10)[._]/.test(module) };
    const frames = stack.python.map(named);
    const byStack = phaseOfStack(stack.python);
    const where = {
      at: owned === null ? NOWHERE : named(owned.frame),
      python: owned?.python ?? false,
      stack: frames,
      called: owned?.called ?? null,
      place: owned?.place ?? null,
      isInterpreter: owned?.isInterpreter ?? false,
    };
    return stack.parts.map(({ category, phase: own, kept, bytes, count }) => {
      // A model that is called in a backward pass is computed once more for it.
      const entered = byStack === "forward" ? (own ?? byStack) : (byStack ?? own);
      // What autograd saves is for training, also where a checkpoint computes without it.
      const phase = category === "activations" && entered === "evaluation" ? "forward" : entered;
      return {
        ...where,
        category: isCategory(category) ? category : categoryOf({ ...origin, phase, kept }),
        phase,
        bytes,
        variance: sampledVariance(bytes, count, sample.intervalBytes),
      };
    });
  });
  return sample.heapBytes === null ? found : adjusted(found, sample.heapBytes);
}

/** What the C heap holds at the peaks of its processes, most first. @param samples one of each process */
export function heldInHeap(samples: readonly NativeSample[], options: HeldOptions): Composition {
  const seen = new Set(samples.flatMap(({ categories }) => categories ?? []));
  const parts = samples.flatMap((sample) => partsOf(sample, options)).sort((a, b) => b.bytes - a.bytes);
  if (seen.size === 0) return { parts: parts.map((part) => ({ ...part, category: null })), unseen: null };
  // The first six categories are those that the probe finds.
  return { parts, unseen: [...CATEGORIES.slice(0, 6).filter((one) => !seen.has(one)), ...UNSEEN_ON_HOST] };
}

/**
 * What is live at the peak of one device, most first, by the recorded history of its allocator; nothing without one,
 * since the snapshot itself shows another moment.
 */
export function heldOnDevice(
  snapshots: readonly TorchSnapshot[],
  device: number,
  { isUserFrame, relative }: HeldOptions,
): Composition {
  const parts = snapshots.flatMap((snapshot) => {
    const compositions = peakCompositions(snapshot, ownersOf(snapshot.stacks, isUserFrame));
    const own = compositions.find((one) => one.device === device && one.moment === "peak");
    return (own?.parts ?? []).map(({ frame, bytes, stack, phase, category }): HeldPart => {
      const named = (one: Frame): Frame => ({ ...one, file: relative(one.file) });
      const exact = { python: true, variance: 0, called: null, place: null, isInterpreter: false };
      return { at: named(frame), stack: stack.map(named), bytes, phase, category, ...exact };
    });
  });
  return { parts: parts.sort((a, b) => b.bytes - a.bytes), unseen: UNSEEN_IN_SNAPSHOTS };
}
