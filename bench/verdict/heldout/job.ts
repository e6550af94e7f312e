import type { Block } from "./caching-allocator.ts";
import type { Machine } from "./machine.ts";

/** Behaviour around the steps of a job: a cache, a phase, a leak. */
export interface Behaviour {
  /** After the model is loaded, before the first step. */
  start?(machine: Machine): void;
  before?(machine: Machine): void;
  after?(machine: Machine): void;
}

/** Parameters of a job; bytes, seconds, counts. */
export interface JobShape {
  readonly steps: number;
  readonly stepSeconds: number;
  readonly weights: number;
  /** Optimizer state over weights: 0 inference or SGD, 1 momentum, 2 Adam. */
  readonly optimizer: number;
  /** Activations of each layer at scale 1. */
  readonly layers: readonly number[];
  /** Backward passes per optimizer step. */
  readonly accumulate: number;
  readonly training: boolean;
  /** Whether gradients live on between steps (`set_to_none=False`). */
  readonly keepsGradients: boolean;
}

/** States recorded while the model loads. */
export const LOADING_MARKS = 8;

/** Bytes that stay between steps, once the optimizer has its state. */
export const residentBytes = ({ weights, optimizer, training, keepsGradients }: JobShape): number =>
  weights * (1 + (training ? optimizer : 0) + (training && keepsGradients ? 1 : 0));

export const activationBytes = ({ layers }: JobShape): number => layers.reduce((sum, bytes) => sum + bytes, 0);

/** Forward and, while training, backward: activations go up layer by layer and come down again. */
function pass(machine: Machine, shape: JobShape, seconds: number, backward: boolean): void {
  const { layers } = shape;
  const beat = seconds / (layers.length * (backward ? 2 : 1) + 1);
  const held: Block[][] = [];
  for (const layer of layers) {
    held.push(machine.tensors(layer * machine.scale));
    if (!backward && held.length > 1) machine.drop(held.shift() ?? []);
    machine.mark(beat * machine.draw.uniform(0.7, 1.3));
  }
  while (held.length > 0) {
    machine.drop(held.pop() ?? []);
    if (backward) machine.mark(beat * machine.draw.uniform(0.7, 1.3));
  }
  machine.mark(beat * 0.2);
}

/** One evaluation over `batches` batches: forward passes only, results kept until it ends. */
export function evaluate(machine: Machine, shape: JobShape, batches: number, kept: number): void {
  const results: Block[][] = [];
  for (let i = 0; i < batches; i++) {
    pass(machine, shape, shape.stepSeconds / 3, false);
    if (kept > 0) results.push(machine.tensors(kept));
  }
  for (const result of results) machine.drop(result);
  machine.mark(shape.stepSeconds / 10);
}

/** Runs a job to its end. */
export function runJob(machine: Machine, shape: JobShape, behaviours: readonly Behaviour[]): void {
  for (let i = 0; i < LOADING_MARKS; i++) {
    machine.tensors(shape.weights / LOADING_MARKS);
    machine.mark(shape.stepSeconds / 4);
  }
  for (const behaviour of behaviours) behaviour.start?.(machine);
  let gradients: Block[] | null = null;
  let optimizerHasState = shape.optimizer === 0;
  for (machine.step = 0; machine.step < shape.steps; machine.step++) {
    for (const behaviour of behaviours) behaviour.before?.(machine);
    const seconds = shape.stepSeconds * Math.max(0.3, 1 + 0.05 * machine.draw.normal()) * (0.5 + 0.5 * machine.scale);
    pass(machine, shape, seconds, shape.training);
    if (shape.training) {
      gradients ??= machine.tensors(shape.weights);
      machine.mark(seconds / 20);
      if ((machine.step + 1) % shape.accumulate === 0) {
        if (!optimizerHasState) machine.tensors(shape.weights * shape.optimizer);
        optimizerHasState = true;
        const workspace = machine.tensors(shape.weights / 16);
        machine.mark(seconds / 10);
        machine.drop(workspace);
        if (!shape.keepsGradients) {
          machine.drop(gradients);
          gradients = null;
        }
      }
    }
    for (const behaviour of behaviours) behaviour.after?.(machine);
    machine.mark(seconds / 20);
  }
}
