import { Action, type Stacks, type TraceTable } from "./model.ts";
import { phaseOfStack, type Release, type StepPhase } from "./tensor-category.ts";

const PHASES: readonly (StepPhase | null)[] = [null, "forward", "backward", "optimizer"];
const BACKWARD = PHASES.indexOf("backward");

/**
 * Phases of a history of one device. PyTorch's autograd engine runs a device's backward pass in a thread of its own,
 * whose allocations have no Python frames: they belong to the call of `backward` before them. A release has the stack
 * of its allocation there (`context="alloc"`), so its phase is the one of the allocations around it.
 */
export class TracePhases {
  readonly #stacks: Stacks;
  readonly #trace: TraceTable;
  readonly #byStack = new Map<number, number>();
  /** Stack by entry; of a frameless allocation in a backward pass, the call that began it. */
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
        const thread = this.#outermost(own);
        if (thread !== null) {
          phase = this.#index(own);
          if (PHASES[phase] === "backward") call = { stack: own, thread };
          else if (thread === call?.thread) call = null;
          // What the engine's thread runs in Python, such as a checkpoint, begins at another frame.
          else if (call !== null) phase = BACKWARD;
        } else {
          if (call !== null) this.#stack[i] = call.stack;
          phase = call === null ? 0 : BACKWARD;
        }
      }
      this.#before[i] = phase;
    }
    for (let i = trace.length - 1, next = 0; i >= 0; i--) {
      this.#after[i] = next;
      if (trace.action[i] === Action.alloc) next = this.#before[i] ?? 0;
    }
  }

  /** Function in which the thread of a stack began, whichever line of it is running; null without frames. */
  #outermost(stack: number): string | null {
    const depth = this.#stacks.depth(stack);
    if (depth === 0) return null;
    const { file, function: name } = this.#stacks.frameAt(this.#stacks.at(stack, depth - 1));
    return `${file}\0${name}`;
  }

  #index(stack: number): number {
    let index = this.#byStack.get(stack);
    if (index === undefined) {
      index = PHASES.indexOf(phaseOfStack(this.#stacks.list(stack)));
      this.#byStack.set(stack, index);
    }
    return index;
  }

  /** Stack of an allocation. */
  stack(entry: number): number {
    return this.#stack[entry] ?? 0;
  }

  /** When entry `entry` releases what was allocated with the stack `allocated`. */
  release(entry: number, allocated: number): Release {
    const own = this.#trace.stack[entry] ?? 0;
    if (own !== allocated && this.#stacks.depth(own) > 0) {
      const phase = PHASES[this.#index(own)] ?? null;
      return { before: phase, after: phase };
    }
    return { before: PHASES[this.#before[entry] ?? 0] ?? null, after: PHASES[this.#after[entry] ?? 0] ?? null };
  }
}
