import { groupBy } from "../../core/group-by.ts";
import { type Frame, lineKey } from "../model/frames.ts";
import type { AttributedLine } from "./attributed-line.ts";
import { deviceLines } from "./device-lines.ts";
import { heldGrowth } from "./held-growth.ts";
import type { LineGrowth } from "./line-growth.ts";
import type { LinesSample } from "./lines-document.ts";

export type { AttributedLine } from "./attributed-line.ts";

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
