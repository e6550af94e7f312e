import { type Frame, NO_FRAMES } from "../model/frames.ts";
import type { Stacks } from "../model/snapshot.ts";

/** Number of the line for memory without a stack. */
export const NO_LINE = 0;

/** Source line of each stack of a snapshot. Lines are numbered; {@link NO_LINE} is memory without a stack. */
export interface Owners {
  /** Line by stack. */
  readonly line: Uint32Array;
  readonly lines: readonly { readonly frame: Frame; readonly user: boolean }[];
}

/** The innermost frame of user code of every stack, else its innermost frame, else {@link NO_LINE}. */
export function ownersOf(stacks: Stacks, isUserFrame: (frame: Frame) => boolean): Owners {
  const line = new Uint32Array(stacks.count);
  const lines = [{ frame: NO_FRAMES, user: false }];
  const byFrame = new Uint32Array(stacks.frameCount);
  const user = new Uint8Array(stacks.frameCount);
  for (let frame = 0; frame < user.length; frame++) user[frame] = isUserFrame(stacks.frameAt(frame)) ? 1 : 0;
  const numbered = (frame: number): number => {
    let number = byFrame[frame] as number;
    if (number === 0) {
      number = lines.push({ frame: stacks.frameAt(frame), user: user[frame] === 1 }) - 1;
      byFrame[frame] = number;
    }
    return number;
  };
  for (let stack = 0; stack < line.length; stack++) {
    const depth = stacks.depth(stack);
    if (depth === 0) continue;
    let owner = stacks.at(stack, 0);
    for (let place = 0; place < depth; place++) {
      const frame = stacks.at(stack, place);
      if (user[frame] === 1) {
        owner = frame;
        break;
      }
    }
    line[stack] = numbered(owner);
  }
  return { line, lines };
}
