import { isEngine, isPython } from "../model/frames.ts";
import { Action } from "../model/keys.ts";
import type { Stacks, TraceTable } from "../model/snapshot.ts";
import { phaseOfStack, type Release, type StepPhase } from "./tensor-category.ts";

/** What a stack shows: its phase, as an index of {@link PHASES}, and the function in which its thread began. */
interface ShownStack {
  readonly phase: number;
  /** Whichever line of it is running. */
  readonly thread: string;
  /** Of the engine, without a frame of Python. */
  readonly isEngine: boolean;
}

const PHASES: readonly (StepPhase | null)[] = [null, "forward", "backward", "optimizer"];
const BACKWARD = PHASES.indexOf("backward");

/**
 * Phases of a history of one device. PyTorch's autograd engine runs a device's backward pass in a thread of its own,
 * whose allocations have no frames of Python, and native ones by default: they belong to the call of `backward` before
 * them. A release has the stack of its allocation there (`context="alloc"`), so its phase is the one of the allocations
 * around it.
 */
export class TracePhases {
  readonly #stacks: Stacks;
  readonly #trace: TraceTable;
  readonly #byStack = new Map<number, ShownStack | null>();
  /** Stack by entry; of an allocation without Python in a backward pass, the call that began it. */
  readonly #stack: Uint32Array;
  /** By entry, as an index of {@link PHASES}: of the newest allocation until then, and of the next one after it. */
  readonly #before: Uint8Array;
  readonly #after: Uint8Array;

  constructor(stacks: Stacks, trace: TraceTable) {
    this.#stacks = stacks;
    this.#trace = trace;
    this.#stack = trace.stack.slice(0, trace.length);
    this.#before = new Uint8Array(trace.length);
    this.#after = new Uint8Array(trace.length);
    let call: { readonly stack: number; readonly thread: string } | null = null;
    let phase = 0;
    for (let i = 0; i < trace.length; i++) {
      if (trace.action[i] === Action.alloc) {
        const own = trace.stack[i] ?? 0;
        const shown = this.#shown(own);
        if (shown !== null && !shown.isEngine) {
          phase = shown.phase;
          if (phase === BACKWARD) call = { stack: own, thread: shown.thread };
          else if (shown.thread === call?.thread) call = null;
          // What the engine's thread runs in Python, such as a checkpoint, begins at another frame.
          else if (call !== null) phase = BACKWARD;
        } else {
          if (call !== null) this.#stack[i] = call.stack;
          phase = call === null && shown === null ? 0 : BACKWARD;
        }
      }
      this.#before[i] = phase;
    }
    for (let i = trace.length - 1, next = 0; i >= 0; i--) {
      this.#after[i] = next;
      if (trace.action[i] === Action.alloc) next = this.#before[i] ?? 0;
    }
  }

  /** Null for a stack without frames. Found once for each stack, of which a history has far fewer than entries. */
  #shown(stack: number): ShownStack | null {
    const known = this.#byStack.get(stack);
    if (known !== undefined) return known;
    const frames = this.#stacks.list(stack);
    const outermost = frames.at(-1);
    const shown =
      outermost === undefined
        ? null
        : {
            phase: PHASES.indexOf(phaseOfStack(frames)),
            thread: `${outermost.file}\0${outermost.function}`,
            isEngine: frames.some(isEngine) && !frames.some(isPython),
          };
    this.#byStack.set(stack, shown);
    return shown;
  }

  /** Stack of an allocation. */
  stack(entry: number): number {
    return this.#stack[entry] ?? 0;
  }

  /** Backward passes that begin in entries [from, to). */
  backwardPasses(from: number, to: number): number {
    let passes = 0;
    for (let i = from; i < to; i++)
      if (this.#before[i] === BACKWARD && (i === 0 || this.#before[i - 1] !== BACKWARD)) passes++;
    return passes;
  }

  /** When entry `entry` releases what was allocated with the stack `allocated`. */
  release(entry: number, allocated: number): Release {
    const own = this.#trace.stack[entry] ?? 0;
    const shown = own === allocated ? null : this.#shown(own);
    if (shown !== null) {
      const phase = PHASES[shown.phase] ?? null;
      return { before: phase, after: phase };
    }
    return { before: PHASES[this.#before[entry] ?? 0] ?? null, after: PHASES[this.#after[entry] ?? 0] ?? null };
  }
}
