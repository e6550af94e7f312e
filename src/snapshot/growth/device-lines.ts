import { type Frame, lineKey, ownerOf } from "../model/frames.ts";
import { type AttributedLine, placeOf } from "./attributed-line.ts";
import { factsOf } from "./held-growth.ts";
import { hintFor } from "./hints.ts";
import type { GrowthLine } from "./line-growth.ts";
import type { LinesSample } from "./lines-document.ts";
import { type HeldEntry, type Retainer, retainerText } from "./retainer.ts";

/**
 * Growing lines of a device whose allocator recorded its history, which contains where memory is allocated.
 * A line is attributed to the retainer of most of its known blocks, as reported by the process.
 */
export function deviceLines(
  device: string,
  lines: readonly GrowthLine[],
  moments: readonly LinesSample[],
  isUserFrame: (frame: Frame) => boolean,
): Omit<AttributedLine, "processes">[] {
  const retainers = retainersByLine(device, moments, isUserFrame);
  const facts = factsOf(moments);
  return lines.map((line) => {
    const retainer = retainers.get(lineKey(line));
    const place = retainer === undefined ? undefined : ownerOf(retainer.stack, isUserFrame)?.frame;
    const entry: HeldEntry = {
      bytes: line.lastBytes,
      count: 1,
      kind: line.kind,
      stack: line.stack,
      ...(retainer === undefined ? {} : { retainer }),
    };
    const { file, line: number, function: name } = line;
    return {
      ...placeOf(line),
      ...(retainer === undefined || place === undefined ? {} : { ...place, user: true, stack: retainer.stack }),
      device,
      placed: retainer === undefined ? ("allocated" as const) : ("kept" as const),
      allocatedAt: { file, line: number, function: name },
      keptBy: retainer === undefined ? null : retainerText(retainer),
      hint: hintFor({ contributions: [{ entry, growthBytes: line.growthBytes }], ...facts }),
    };
  });
}

/** The retainer of most of the known blocks of each allocating line, in the last sample with any. */
function retainersByLine(
  device: string,
  moments: readonly LinesSample[],
  isUserFrame: (frame: Frame) => boolean,
): ReadonlyMap<string, Retainer> {
  const found = new Map<string, Retainer>();
  for (const { heldOnDevices } of [...moments].sort((a, b) => a.moment - b.moment)) {
    const weights = new Map<string, Map<Retainer, number>>();
    for (const { device: own, bytes, stack, retainer } of heldOnDevices) {
      const owner = ownerOf(stack, isUserFrame);
      if (own !== device || owner === null || !retainer.stack.some(isUserFrame)) continue;
      const key = lineKey(owner.frame);
      const line = weights.get(key) ?? new Map<Retainer, number>();
      line.set(retainer, (line.get(retainer) ?? 0) + bytes);
      weights.set(key, line);
    }
    for (const [key, line] of weights) {
      const [heaviest] = [...line].sort(([, a], [, b]) => b - a);
      if (heaviest !== undefined) found.set(key, heaviest[0]);
    }
  }
  return found;
}
