import path from "node:path";
import { GateError } from "../../../core/errors.ts";
import { probeDirectory } from "../../../core/probe-directory.ts";
import { readSnapshotFile } from "../../../inputs/snapshot-input.ts";
import { relativePath, userFrames } from "../../../snapshot/frames.ts";
import type { TorchSnapshot } from "../../../snapshot/model.ts";
import { SNAPSHOT_FILE } from "../attribution-evidence.ts";
import { readNativeSamples } from "../native-files.ts";
import { sourceAt, symbolAt } from "../native-site.ts";
import { keepProbeFiles } from "../probe-output.ts";
import { SourceTexts } from "../source-texts.ts";
import { type HeldLine, type HeldOptions, heldLines, heldOnDevice } from "./held-lines.ts";
import type { ReadLine } from "./name-peak-lines.ts";

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

/** What a peak consists of. */
export interface PeakLines {
  /** Most bytes first. */
  readonly lines: readonly ReadLine[];
  /** When the process that held most was at its peak, CLOCK_MONOTONIC; null where that is not known. */
  readonly moment: { readonly pid: number; readonly timeNs: number } | null;
}

/**
 * What each line held at the peak of a run; its files are moved into the bundle. What cannot be read is a note.
 * @param directory absolute run directory
 */
export async function linesAtPeak(directory: string, of: PeakOf): Promise<PeakLines> {
  try {
    return await readLines(directory, of);
  } catch (error) {
    of.warn(`the lines of a peak could not be read: ${error instanceof Error ? error.message : String(error)}`);
    return { lines: [], moment: null };
  }
}

async function readLines(directory: string, { device, root, other, warn }: PeakOf): Promise<PeakLines> {
  const options: HeldOptions = {
    isUserFrame: userFrames({ root, exclude: [probeDirectory()] }),
    relative: (file) => relativePath(relativePath(file, root), other),
  };
  // Both, so that they are in the bundle.
  const { processes, notes } = readNativeSamples(directory);
  const snapshots = keepProbeFiles(directory, SNAPSHOT_FILE);
  const texts = new SourceTexts(root);
  const read = (line: HeldLine): ReadLine => ({ ...line, code: line.at.line > 0 ? texts.at(line.at) : null });
  if (device !== "host") {
    const index = Number(device.split(":")[1] ?? 0);
    return { lines: heldOnDevice(readSnapshots(snapshots, warn), index, options).map(read), moment: null };
  }
  for (const note of notes) warn(note);
  // The first is the process that held most.
  const newest = processes.flatMap(([, samples]) => samples.slice(-1));
  const held = heldLines(newest, options);
  const total = held.reduce((sum, { bytes }) => sum + bytes, 0);
  const lines: ReadLine[] = [];
  for (const line of held) {
    lines.push(read(line.python ? line : await inSource(line, line.bytes >= MIN_LOOKED_UP * total, options.relative)));
  }
  return { lines, moment: newest[0] ?? null };
}

function readSnapshots(files: readonly string[], warn: (note: string) => void): readonly TorchSnapshot[] {
  return files.flatMap((file) => {
    try {
      return [readSnapshotFile(file)];
    } catch (error) {
      if (!(error instanceof GateError)) throw error;
      warn(`${path.basename(file)}: ${error.message}`);
      return [];
    }
  });
}

/** The source line of a place in a module, by its debug information; else its function. */
async function inSource(line: HeldLine, isLarge: boolean, relative: (file: string) => string): Promise<HeldLine> {
  const { place } = line;
  if (place === null) return line;
  // A function of the interpreter stands for any line.
  if (!isLarge || line.isInterpreter) return { ...line, at: { file: relative(place.path), line: 0, function: "" } };
  const source = await sourceAt(place.path, place.offset);
  if (source !== null) return { ...line, at: { ...source, file: relative(source.file) } };
  const name = symbolAt(place.path, place.offset) ?? "";
  return { ...line, at: { file: relative(place.path), line: 0, function: name } };
}
