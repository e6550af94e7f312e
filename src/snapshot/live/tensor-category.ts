import { type Frame, isEngine } from "../model/frames.ts";

/** Kinds of memory in a peak. The first six are found by the probe, the others by where they come from. */
export const CATEGORIES = [
  "parameters",
  "gradients",
  "optimizer_state",
  "buffers",
  "inputs",
  "activations",
  "kept_tensors",
  "temporary",
  "other_tensors",
  "outside_tensors",
] as const;
export type Category = (typeof CATEGORIES)[number];

/** Categories that a source cannot see are named as unseen. */
export const UNSEEN_ON_HOST = ["communication_buffers"] as const;
export const UNSEEN_IN_SNAPSHOTS = ["buffers", "inputs", "communication_buffers", "outside_the_allocator"] as const;

const NAMES = new Set<string>(CATEGORIES);
export const isCategory = (name: string | null): name is Category => name !== null && NAMES.has(name);

/** Phases of a training program, beside those that it names. */
const MODEL_PHASES = new Set(["forward", "evaluation", "backward", "optimizer"]);

/** The parts of a training step that stacks show. */
export type StepPhase = "forward" | "backward" | "optimizer";

/** The part of a training step that a stack belongs to, by its files and the engine; null where none shows it. */
export function phaseOfStack(stack: readonly Frame[]): StepPhase | null {
  if (stack.some(({ file }) => /[\\/]torch[\\/]optim[\\/]/.test(file))) return "optimizer";
  if (stack.some(({ file }) => /[\\/]torch[\\/]autograd[\\/](?:__init__|graph)\.py$/.test(file))) return "backward";
  if (stack.some(({ file }) => /[\\/]torch[\\/]nn[\\/]modules[\\/]module\.py$/.test(file))) return "forward";
  return stack.some(isEngine) ? "backward" : null;
}

/** What is known of memory besides what the probe reports. */
interface AllocationOrigin {
  /** Where PyTorch's allocator of tensors made it. */
  readonly isTensor: boolean;
  /** Where another part of PyTorch made it, such as a workspace of one of its kernels. */
  readonly isTorch: boolean;
  readonly phase: string | null;
  /** Made in an earlier call of a model than the newest at the peak. */
  readonly kept: boolean;
}

/** The category of memory that the probe found in no module and no optimizer, and that autograd did not save. */
export function categoryOf({ isTensor, isTorch, phase, kept }: AllocationOrigin): Category {
  const inModel = phase !== null && MODEL_PHASES.has(phase);
  if (isTensor && inModel && kept && (phase === "forward" || phase === "evaluation")) return "kept_tensors";
  if (inModel && (isTensor || isTorch)) return "temporary";
  return isTensor ? "other_tensors" : "outside_tensors";
}

const MODULE = /[\\/]torch[\\/]nn[\\/]modules[\\/][^\\/]+\.py$/;
const MOVES = new Set(["convert", "_apply", "__init__"]);

/** When memory is released: the phases of the allocations before and after it; null where they show none. */
export interface Release {
  readonly before: StepPhase | null;
  readonly after: StepPhase | null;
}

/**
 * The category of a device's memory by the phase in which it is allocated and the one in which it is released; null
 * where they do not show it.
 * @param released null for memory that is still there at the end
 */
export function categoryByLifetime(stack: readonly Frame[], released: Release | null): Category | null {
  const { before, after } = released ?? { before: null, after: null };
  const isWithinBackward = before === "backward" && after === "backward";
  switch (phaseOfStack(stack)) {
    case "optimizer":
      return before === "optimizer" ? "temporary" : "optimizer_state";
    // Gradients are released between two passes, by `zero_grad`.
    case "backward":
      return isWithinBackward ? "temporary" : "gradients";
    case "forward":
      if (isMoved(stack)) return "parameters";
      if (before === "backward") return "activations";
      return before === "forward" ? "temporary" : null;
    case null:
      if (isMoved(stack)) return "parameters";
      return isWithinBackward ? "activations" : null;
  }
}

function isMoved(stack: readonly Frame[]): boolean {
  return stack.some(({ file, function: name }) => MODULE.test(file) && MOVES.has(name));
}
