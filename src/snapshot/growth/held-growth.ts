import { groupBy } from "../../core/group-by.ts";
import { type Frame, lineKey, ownerOf } from "../model/frames.ts";
import { type AttributedLine, placeOf } from "./attributed-line.ts";
import { type Contribution, type HintEvidence, hintFor } from "./hints.ts";
import { type GrowthLine, growthByLine } from "./line-growth.ts";
import type { LinesSample } from "./lines-document.ts";
import { type HeldEntry, type HeldSample, type Retainer, retainerText } from "./retainer.ts";

type HeldLine = Omit<AttributedLine, "processes">;

/** Lines of one process that ended higher, from the samples it wrote. */
export interface HeldGrowth {
  /** Those that grow, and those that rose once. */
  readonly lines: readonly HeldLine[];
  /** Growth of everything counted, bytes, by device. */
  readonly growth: ReadonlyMap<string, number>;
  readonly notes: readonly string[];
}

/** Counts of a process besides memory. */
export type Facts = Pick<HintEvidence, "optimizersGrown" | "gradientsNeverZeroed">;

/** Samples needed to distinguish growth from churn. With fewer, the one at the process's end is used too. */
const ENOUGH_MOMENTS = 3;

/**
 * V8's heap is sampled every 4 KiB on average (`probe/node/heap.cjs`): a growth of fewer than 16 samples, whose Poisson
 * spread is a quarter of it, cannot be distinguished from code that is compiled late. Bytes.
 */
const MIN_SAMPLED_GROWTH_BYTES = 16 * 4096;
const isResolved = ({ kind, growthBytes }: GrowthLine): boolean =>
  kind !== "object" || growthBytes >= MIN_SAMPLED_GROWTH_BYTES;

type IsUserFrame = (frame: Frame) => boolean;

/** Growth by line of one process. Memory is attributed to the line that retains it where that is known. */
export function heldGrowth(moments: readonly LinesSample[], isUserFrame: IsUserFrame): HeldGrowth {
  const samples = samplesOf(moments);
  const retainers = retainersOf(samples, isUserFrame);
  const facts = factsOf(moments);
  const growth = new Map<string, number>();
  const devices = [...new Set(samples.flatMap(({ entries }) => entries.map(deviceOf)))];
  const lines = devices.flatMap((device) => {
    const own = samples.map((sample) => onDevice(sample, device));
    const placed = own.map((sample) => ({
      ...sample,
      entries: sample.entries.map((entry) => placedAt(entry, retainers)),
    }));
    const found = growthByLine(placed, isUserFrame);
    growth.set(device, found.totalGrowthBytes);
    const contributions = contributionsByLine(own, retainers, isUserFrame);
    const isMoved = (entry: HeldEntry): boolean => retainers.has(makingKey(entry));
    const candidates = [...found.lines, ...found.discarded.filter(({ trend }) => trend === "once")];
    return candidates.filter(isResolved).map((line) => {
      const parts = contributions.get(lineKey(line)) ?? [];
      const main = parts[0]?.entry;
      const held: HeldLine = {
        ...placeOf(line),
        device,
        placed: main !== undefined && isMoved(main) ? "kept" : "allocated",
        allocatedAt: main === undefined ? null : (ownerOf(main.stack, isUserFrame)?.frame ?? null),
        keptBy: main?.retainer === undefined ? null : retainerText(main.retainer),
        hint: hintFor({ contributions: parts, ...facts }),
      };
      return held;
    });
  });
  const few = samples.length > 0 && samples.length < ENOUGH_MOMENTS;
  const notes = few ? [`only ${samples.length} samples were written: churn cannot be distinguished from growth`] : [];
  return { lines, growth, notes };
}

/** Counts of the last sample that has them, compared with the first. */
export function factsOf(moments: readonly LinesSample[]): Facts {
  const counted = moments.filter(({ facts }) => "optimizers" in facts).sort((a, b) => a.moment - b.moment);
  const first = counted[0]?.facts;
  const last = counted.at(-1)?.facts;
  return {
    optimizersGrown:
      first === undefined || last === undefined ? null : (last.optimizers ?? 0) - (first.optimizers ?? 0),
    gradientsNeverZeroed: last?.gradients_never_zeroed ?? null,
  };
}

/**
 * One sample per number, summed over the sources. Samples that lack a source are ignored, and the one at the process's
 * end where functions have released what they held, unless there are too few without it.
 */
function samplesOf(moments: readonly LinesSample[]): readonly HeldSample[] {
  const sources = new Set(moments.map(({ source }) => source));
  const whole = [...groupBy(moments, ({ moment }) => moment)]
    .sort(([a], [b]) => a - b)
    .map(([, own]) => own)
    .filter((own) => own.length === sources.size);
  const read = whole.filter((own) => own.every(({ unread }) => !unread));
  const counted = read.length >= ENOUGH_MOMENTS ? read : whole;
  const regular = counted.filter((own) => own.every(({ ended }) => !ended));
  const bytes = (own: readonly LinesSample[] = []) => own.reduce((sum, { sample }) => sum + sample.totalBytes, 0);
  const isHeld = bytes(counted.at(-1)) >= bytes(regular.at(-1));
  return (regular.length >= ENOUGH_MOMENTS && !isHeld ? regular : counted).map((own) => ({
    step: own[0]?.sample.step ?? null,
    timeNs: own[0]?.sample.timeNs ?? null,
    totalBytes: bytes(own),
    entries: own.flatMap(({ sample }) => sample.entries),
  }));
}

/** Device of an entry: tensors on a device name it, everything else is host memory. */
function deviceOf({ kind }: HeldEntry): string {
  return kind.startsWith("tensor:") ? kind.slice("tensor:".length) : "host";
}

function onDevice(sample: HeldSample, device: string): HeldSample {
  const entries = sample.entries.filter((entry) => deviceOf(entry) === device);
  const sum = (some: readonly HeldEntry[]): number => some.reduce((total, { bytes }) => total + bytes, 0);
  // Counted and not listed: many small blocks of host memory.
  const totalBytes = device === "host" ? sample.totalBytes - sum(sample.entries) + sum(entries) : sum(entries);
  return { ...sample, totalBytes, entries };
}

function makingKey({ kind, operator, stack, grad, autocast }: HeldEntry): string {
  const calls = stack.map(({ file, line }) => `${file}:${line}`).join("\n");
  return `${kind}\0${operator ?? ""}\0${grad ?? ""}\0${autocast ?? ""}\0${calls}`;
}

/** Retainer of each stack, from the last sample with one (recognised only after growth), if its line is user code. */
function retainersOf(samples: readonly HeldSample[], isUserFrame: IsUserFrame): ReadonlyMap<string, Retainer> {
  const retainers = new Map<string, Retainer>();
  for (const { entries } of samples) {
    for (const entry of entries) {
      if (entry.retainer?.stack.some(isUserFrame)) retainers.set(makingKey(entry), entry.retainer);
    }
  }
  return retainers;
}

/** The entry at the line of its retainer. */
function placedAt(entry: HeldEntry, retainers: ReadonlyMap<string, Retainer>): HeldEntry {
  const retainer = retainers.get(makingKey(entry));
  return retainer === undefined ? entry : { ...entry, retainer, stack: retainer.stack };
}

/** The allocation stacks attributed to each line, most growth first. */
function contributionsByLine(
  samples: readonly HeldSample[],
  retainers: ReadonlyMap<string, Retainer>,
  isUserFrame: IsUserFrame,
): ReadonlyMap<string, readonly Contribution[]> {
  const bytesOf = (sample: HeldSample | undefined) => groupBy(sample?.entries ?? [], makingKey);
  const sum = (entries: readonly HeldEntry[]): number => entries.reduce((total, { bytes }) => total + bytes, 0);
  const first = bytesOf(samples[0]);
  const found = new Map<string, Contribution[]>();
  for (const [key, entries] of bytesOf(samples.at(-1))) {
    const [entry] = entries;
    const growthBytes = sum(entries) - sum(first.get(key) ?? []);
    if (entry === undefined || growthBytes <= 0) continue;
    const retainer = retainers.get(key);
    const owner = ownerOf(retainer === undefined ? entry.stack : retainer.stack, isUserFrame);
    if (owner === null) continue;
    const place = lineKey(owner.frame);
    const own = found.get(place) ?? [];
    own.push({ entry: retainer === undefined ? entry : { ...entry, retainer }, growthBytes });
    found.set(place, own);
  }
  for (const own of found.values()) own.sort((a, b) => b.growthBytes - a.growthBytes);
  return found;
}
