import { groupBy } from "../../core/group-by.ts";
import { type Frame, lineKey, ownerOf } from "../model/frames.ts";
import { type AttributedLine, placeOf } from "./attributed-line.ts";
import { factsOf, heldGrowth } from "./held-growth.ts";
import { hintFor } from "./hints.ts";
import type { GrowthLine, LineGrowth } from "./line-growth.ts";
import type { LinesSample } from "./lines-document.ts";
import { type HeldEntry, type Retainer, retainerText } from "./retainer.ts";

/** Everything one process of an attribution run wrote. */
export interface ProcessEvidence {
  /** Unique name per process image: `<pid>.<n>` of its files, because process ids are reused. */
  readonly process: string;
  readonly moments: readonly LinesSample[];
  /** Growth by device, from memory snapshots. */
  readonly devices: readonly { readonly device: string; readonly growth: LineGrowth }[];
}

/** Result of one attribution run. */
export interface Attribution {
  /** Growing lines, most growth first. On every device the shares are of its own growth. */
  readonly lines: readonly AttributedLine[];
  /** Lines that rose once and stayed, most growth first. */
  readonly jumps: readonly AttributedLine[];
  /** Growth of live memory by device, first to last sample, bytes, and the share that the lines explain. */
  readonly devices: readonly {
    readonly device: string;
    readonly growthBytes: number;
    readonly explainedShare: number | null;
  }[];
  readonly sources: readonly string[];
  readonly notes: readonly string[];
}

/** Lines with a smaller share of their device's growth are omitted. */
const MIN_SHARE = 0.01;

/** The lines that hold growing memory, from the files of all processes of a run. */
export function attribute(
  evidence: readonly ProcessEvidence[],
  options: { readonly isUserFrame: (frame: Frame) => boolean },
): Attribution {
  const notes = new Set<string>();
  const sources = new Set<string>();
  const found: AttributedLine[] = [];
  const growth = new Map<string, number>();
  const grew = (device: string, bytes: number) => growth.set(device, (growth.get(device) ?? 0) + bytes);
  for (const { process: id, moments, devices } of evidence) {
    for (const { source, notes: own } of moments) {
      sources.add(source);
      for (const note of own) notes.add(note);
    }
    const held = heldGrowth(moments, options.isUserFrame);
    for (const note of held.notes) notes.add(note);
    for (const [device, bytes] of held.growth) grew(device, bytes);
    found.push(...held.lines.map((line) => ({ ...line, processes: [id] })));
    for (const { device, growth: own } of devices) {
      sources.add("torch-snapshot");
      grew(device, own.totalGrowthBytes);
      found.push(
        ...deviceLines(
          device,
          [...own.lines, ...own.discarded.filter(({ trend }) => trend === "once")],
          moments,
          options.isUserFrame,
        ).map((line) => ({ ...line, processes: [id] })),
      );
    }
  }
  const merged = mergedOverProcesses(found.filter(({ trend }) => trend !== "once"));
  const whole = new Map(
    [...growth].map(([device, bytes]) => [device, Math.max(bytes, sumOn(device, merged))] as const),
  );
  const lines = merged
    .map((line) => ({ ...line, share: shareOf(line.growthBytes, whole.get(line.device) ?? 0) ?? 0 }))
    .filter(({ share }) => share >= MIN_SHARE)
    .sort((a, b) => b.growthBytes - a.growthBytes || (lineKey(a) < lineKey(b) ? -1 : 1));
  const jumps = mergedOverProcesses(found.filter(({ trend }) => trend === "once"));
  return {
    lines,
    jumps: jumps.sort((a, b) => b.growthBytes - a.growthBytes),
    devices: [...growth].map(([device, growthBytes]) => ({
      device,
      growthBytes,
      explainedShare: shareOf(sumOn(device, lines), whole.get(device) ?? 0),
    })),
    sources: [...sources],
    notes: [...notes],
  };
}

function sumOn(device: string, lines: readonly AttributedLine[]): number {
  return lines.reduce((sum, line) => sum + (line.device === device ? line.growthBytes : 0), 0);
}

function shareOf(part: number, whole: number): number | null {
  return whole > 0 ? Math.min(1, part / whole) : null;
}

/** The same line of several processes (ranks) as one, with summed bytes and the other fields of the largest. */
export function mergedOverProcesses(lines: readonly AttributedLine[]): AttributedLine[] {
  return [...groupBy(lines, (line) => `${line.device}\0${lineKey(line)}`).values()].flatMap((group) => {
    const [largest] = [...group].sort((a, b) => b.growthBytes - a.growthBytes);
    if (largest === undefined) return [];
    const sum = (of: (line: AttributedLine) => number): number => group.reduce((total, line) => total + of(line), 0);
    const rate = (of: (line: AttributedLine) => number | null): number | null =>
      group.some((line) => of(line) === null) ? null : sum((line) => of(line) ?? 0);
    return [
      {
        ...largest,
        processes: [...new Set(group.flatMap(({ processes }) => processes))],
        bytesPerStep: rate(({ bytesPerStep }) => bytesPerStep),
        bytesPerSecond: rate(({ bytesPerSecond }) => bytesPerSecond),
        growthBytes: sum(({ growthBytes }) => growthBytes),
        countGrowth: sum(({ countGrowth }) => countGrowth),
      },
    ];
  });
}

/**
 * Growing lines of a device whose allocator recorded its history, which contains where memory is allocated.
 * A line is attributed to the retainer of most of its known blocks, as reported by the process.
 */
function deviceLines(
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
