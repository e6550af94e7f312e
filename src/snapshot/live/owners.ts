import { BACKWARD_PASS, type Frame, isEngine, isPython, NO_FRAMES } from "../model/frames.ts";
import type { Stacks } from "../model/snapshot.ts";

/** Number of the line for memory without a stack. */
export const NO_LINE = 0;

/** How much a frame says of where memory comes from; other frames are 0. */
const [ENGINE, PYTHON, USER] = [1, 2, 3] as const;

/** Source line of each stack of a snapshot. Lines are numbered; {@link NO_LINE} is memory without a stack. */
export interface Owners {
  /** Line by stack. */
  readonly line: Uint32Array;
  readonly lines: readonly { readonly frame: Frame; readonly user: boolean }[];
}

/**
 * The innermost frame of user code of every stack, else of Python, else the backward pass where the stack is of its
 * engine, else its innermost frame, else {@link NO_LINE}. PyTorch records native frames by default.
 */
export function ownersOf(stacks: Stacks, isUserFrame: (frame: Frame) => boolean): Owners {
  const line = new Uint32Array(stacks.count);
  const lines = [{ frame: NO_FRAMES, user: false }];
  let backward = NO_LINE;
  const byFrame = new Uint32Array(stacks.frameCount);
  const worth = Uint8Array.from({ length: stacks.frameCount }, (_, index) => {
    const frame = stacks.frameAt(index);
    if (isUserFrame(frame)) return USER;
    return isPython(frame) ? PYTHON : isEngine(frame) ? ENGINE : 0;
  });
  const numbered = (frame: number): number => {
    let number = byFrame[frame] as number;
    if (number === 0) {
      number = lines.push({ frame: stacks.frameAt(frame), user: worth[frame] === USER }) - 1;
      byFrame[frame] = number;
    }
    return number;
  };
  for (let stack = 0; stack < line.length; stack++) {
    const depth = stacks.depth(stack);
    if (depth === 0) continue;
    let owner = stacks.at(stack, 0);
    for (let place = 0; place < depth && worth[owner] !== USER; place++) {
      const frame = stacks.at(stack, place);
      if ((worth[frame] ?? 0) > (worth[owner] ?? 0)) owner = frame;
    }
    if (worth[owner] === ENGINE && backward === NO_LINE)
      backward = lines.push({ frame: BACKWARD_PASS, user: false }) - 1;
    line[stack] = worth[owner] === ENGINE ? backward : numbered(owner);
  }
  return { line, lines };
}
