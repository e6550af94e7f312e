import { type AttributedLine, placeKey } from "./attributed-line.ts";
import { type Frame, ownerOf } from "./frames.ts";
import { factsOf, placeOf } from "./held-growth.ts";
import { hintFor } from "./hints.ts";
import type { GrowthLine } from "./line-growth.ts";
import type { LinesMoment } from "./lines-document.ts";
import { type HeldEntry, type Keeper, keeperText } from "./retainer.ts";

/**
 * Growing lines of a device whose allocator recorded its history. That knows where memory is allocated; what keeps it is told by
 * the process, for some of the blocks: a line most of whose known blocks have one keeper is told of the line of that keeper.
 */
export function deviceLines(
  device: string,
  lines: readonly GrowthLine[],
  moments: readonly LinesMoment[],
  isUserFrame: (frame: Frame) => boolean,
): Omit<AttributedLine, "processes">[] {
  const keepers = keepersByLine(device, moments, isUserFrame);
  const facts = factsOf(moments);
  return lines.map((line) => {
    const keeper = keepers.get(placeKey(line));
    const place = keeper === undefined ? undefined : ownerOf(keeper.stack, isUserFrame)?.frame;
    const entry: HeldEntry = {
      bytes: line.lastBytes,
      count: 1,
      kind: line.kind,
      stack: line.stack,
      ...(keeper === undefined ? {} : { keeper }),
    };
    const { file, line: number, function: name } = line;
    return {
      ...placeOf(line),
      ...(keeper === undefined || place === undefined ? {} : { ...place, user: true, stack: keeper.stack }),
      device,
      placed: keeper === undefined ? ("allocated" as const) : ("kept" as const),
      allocatedAt: { file, line: number, function: name },
      keptBy: keeper === undefined ? null : keeperText(keeper),
      hint: hintFor({ contributions: [{ entry, growthBytes: line.growthBytes }], ...facts }),
    };
  });
}

/** The keeper of most of the known blocks of each allocating line, at the last moment that knows any. */
function keepersByLine(
  device: string,
  moments: readonly LinesMoment[],
  isUserFrame: (frame: Frame) => boolean,
): ReadonlyMap<string, Keeper> {
  const found = new Map<string, Keeper>();
  for (const { heldOnDevices } of [...moments].sort((a, b) => a.moment - b.moment)) {
    const weights = new Map<string, Map<Keeper, number>>();
    for (const { device: own, bytes, stack, keeper } of heldOnDevices) {
      const owner = ownerOf(stack, isUserFrame);
      if (own !== device || owner === null || !keeper.stack.some(isUserFrame)) continue;
      const key = placeKey(owner.frame);
      const line = weights.get(key) ?? new Map<Keeper, number>();
      line.set(keeper, (line.get(keeper) ?? 0) + bytes);
      weights.set(key, line);
    }
    for (const [key, line] of weights) {
      const [heaviest] = [...line].sort(([, a], [, b]) => b - a);
      if (heaviest !== undefined) found.set(key, heaviest[0]);
    }
  }
  return found;
}
