import { messageOf } from "../../core/errors.ts";
import { groupBy } from "../../core/group-by.ts";
import { probeDirectory } from "../../core/probe-directory.ts";
import { readSnapshotFile } from "../../inputs/snapshot-input.ts";
import { type Frame, relativePath, userFrames } from "../../snapshot/model/frames.ts";
import { SourceTexts } from "../lines/source-texts.ts";
import { readNativeSamples } from "../native/native-files.ts";
import { sourceAt, symbolAt } from "../native/native-site.ts";
import { SNAPSHOT_FILE } from "../run/attribution-evidence.ts";
import { keepProbeFiles, readKept } from "../run/probe-output.ts";
import { type HeldOptions, type HeldPart, heldInHeap, heldOnDevice } from "./held-parts.ts";
import type { ReadPart } from "./name-peak-lines.ts";

/** Places of modules below this share of all memory are not looked up in debug information. */
const MIN_LOOKED_UP = 0.02;

/** Whose memory, and where the code lies. */
interface PeakOf {
  /** "host", "cuda:0", … */
  readonly device: string;
  /** Top of the code that ran. */
  readonly root: string;
  /** Top of the candidate's code, which a base may use in parts. */
  readonly other: string;
  readonly warn: (note: string) => void;
}

/** What a peak consists of. Its lines, categories and phases are sums over the same parts. */
export interface PeakOfRun {
  /** Most bytes first. */
  readonly parts: readonly ReadPart[];
  /** Categories that this source cannot see; null where it sees none at all. */
  readonly unseen: readonly string[] | null;
  /** Arguments, versions and the like of the process that held most, by name. */
  readonly inputs: Readonly<Record<string, string>>;
  /** When the process that held most was at its peak, CLOCK_MONOTONIC; null where that is not known. */
  readonly moment: { readonly pid: number; readonly timeNs: number } | null;
}

/**
 * What is live at the peak of a run; its files are moved into the bundle. What cannot be read is a note.
 * @param directory absolute run directory
 */
export async function peakOfRun(directory: string, of: PeakOf): Promise<PeakOfRun> {
  try {
    return await readPeak(directory, of);
  } catch (error) {
    of.warn(`the lines of a peak could not be read: ${messageOf(error)}`);
    return { parts: [], unseen: null, inputs: {}, moment: null };
  }
}

async function readPeak(directory: string, { device, root, other, warn }: PeakOf): Promise<PeakOfRun> {
  const options: HeldOptions = {
    isUserFrame: userFrames({ root, exclude: [probeDirectory()] }),
    relative: (file) => relativePath(relativePath(file, root), other),
  };
  // Both, so that they are in the bundle.
  const { processes, notes } = readNativeSamples(directory);
  const snapshots = keepProbeFiles(directory, SNAPSHOT_FILE);
  // The first is the process that held most.
  const newest = processes.flatMap(([, samples]) => samples.slice(-1));
  const inputs = newest[0]?.inputs ?? {};
  const texts = new SourceTexts(root);
  const read = (part: HeldPart): ReadPart => ({ ...part, code: part.at.line > 0 ? texts.at(part.at) : null });
  if (device !== "host") {
    const index = Number(device.split(":")[1] ?? 0);
    const held = heldOnDevice(readKept(snapshots, readSnapshotFile, warn), index, options);
    return { parts: held.parts.map(read), unseen: held.unseen, inputs, moment: null };
  }
  for (const note of [...notes, ...newest.flatMap((sample) => sample.notes)]) warn(note);
  const held = heldInHeap(newest, options);
  const sources = await placesInSource(held.parts, options.relative);
  const parts = held.parts.map((part) => read({ ...part, at: sources.get(placeKey(part)) ?? part.at }));
  return { parts, unseen: held.unseen, inputs, moment: newest[0] ?? null };
}

const placeKey = ({ python, place }: HeldPart): string =>
  python || place === null ? "" : `${place.path}\0${place.offset}`;

/** The source line of each place in a module, by debug information where much is held there; else its function. */
async function placesInSource(
  parts: readonly HeldPart[],
  relative: (file: string) => string,
): Promise<ReadonlyMap<string, Frame>> {
  const total = parts.reduce((sum, { bytes }) => sum + bytes, 0);
  const found = new Map<string, Frame>();
  for (const [key, own] of groupBy(parts, placeKey)) {
    const [first] = own;
    if (key === "" || first?.place == null) continue;
    const { path: file, offset } = first.place;
    const isLarge = own.reduce((sum, { bytes }) => sum + bytes, 0) >= MIN_LOOKED_UP * total;
    const named = (name: string): Frame => ({ file: relative(file), line: 0, function: name });
    // A function of the interpreter stands for any line.
    if (!isLarge || first.isInterpreter) {
      found.set(key, named(""));
      continue;
    }
    const source = await sourceAt(file, offset);
    found.set(key, source === null ? named(symbolAt(first.place) ?? "") : { ...source, file: relative(source.file) });
  }
  return found;
}
