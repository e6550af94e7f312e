import { seriesOf } from "../../analysis/series/series.ts";
import { messageOf } from "../../core/errors.ts";
import { groupBy } from "../../core/group-by.ts";
import { probeDirectory } from "../../core/probe-directory.ts";
import { readSnapshotFile } from "../../inputs/snapshot-input.ts";
import type { NativeSample } from "../../snapshot/growth/native-document.ts";
import { type Frame, relativePath, userFrames } from "../../snapshot/model/frames.ts";
import type { Metric } from "../../telemetry/recording/metrics.ts";
import { SourceTexts } from "../lines/source-texts.ts";
import { type NativeSamples, readNativeSamples } from "../native/native-files.ts";
import { sourceAt, symbolAt } from "../native/native-site.ts";
import { SNAPSHOT_FILE } from "../run/attribution-evidence.ts";
import { keepProbeFiles, readKept } from "../run/probe-output.ts";
import type { MeasuredOnce } from "../run/run-once.ts";
import { type HeldOptions, type HeldPart, heldInHeap, heldOnDevice } from "./held-parts.ts";
import type { ReadPart } from "./name-peak-lines.ts";

/** Places of modules below this share of all memory are not looked up in debug information. */
const MIN_LOOKED_UP = 0.02;

/** Whose memory, and where the code lies. */
interface PeakOf {
  /** "host", "cuda:0", … */
  readonly device: string;
  readonly metric: Metric;
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

/** The run whose peak it is. */
type PeakRun = Pick<MeasuredOnce, "directory" | "recording">;

/** What is live at the peak of a run; its files are moved into the bundle. What cannot be read is a note. */
export async function peakOfRun(run: PeakRun, of: PeakOf): Promise<PeakOfRun> {
  try {
    return await readPeak(run, of);
  } catch (error) {
    of.warn(`the lines of a peak could not be read: ${messageOf(error)}`);
    return { parts: [], unseen: null, inputs: {}, moment: null };
  }
}

async function readPeak(run: PeakRun, { device, metric, root, other, warn }: PeakOf): Promise<PeakOfRun> {
  const { directory } = run;
  const options: HeldOptions = {
    isUserFrame: userFrames({ root, exclude: [probeDirectory()] }),
    relative: (file) => relativePath(relativePath(file, root), other),
  };
  // Both, so that they are in the bundle.
  const { processes, notes } = readNativeSamples(directory);
  const snapshots = keepProbeFiles(directory, SNAPSHOT_FILE);
  const newest = metric === "host" ? samplesAtPeak(processes, run) : lastSamples(processes).slice(0, 1);
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

type Processes = NativeSamples["processes"];

/** What each process held most, the largest first. A heap is that of one process. */
const lastSamples = (processes: Processes): NativeSample[] => processes.flatMap(([, samples]) => samples.slice(-1));

/** The probe counts a little later than the sampler reads, or earlier. */
const SAME_TIME_NS = 50e6;

/** What each process that lived at the peak of their sum had held most until then, the largest first. */
function samplesAtPeak(processes: Processes, { recording }: PeakRun): NativeSample[] {
  const host = recording === null ? undefined : seriesOf(recording).find(({ metric }) => metric === "host");
  if (recording === null || host === undefined || host.bytes.length === 0) return lastSamples(processes);
  const highest = host.bytes.reduce((best, bytes, at) => (bytes > (host.bytes[best] ?? 0) ? at : best), 0);
  const peakNs = 1e9 * (host.timeS[highest] ?? 0);
  const startNs = Number(recording.info?.clock.monotonic_start_ns ?? 0);
  const lived = (pid: number): boolean =>
    recording.marks
      .filter((mark) => mark.pid === pid)
      .every(({ kind, timeNs }) =>
        kind === "process-start" ? timeNs <= peakNs + SAME_TIME_NS : timeNs >= peakNs || kind !== "process-exit",
      );
  return processes
    .flatMap(([, samples]) => {
      const until = samples.filter(({ timeNs }) => timeNs - startNs <= peakNs + SAME_TIME_NS).at(-1) ?? samples[0];
      return until !== undefined && lived(until.pid) ? [until] : [];
    })
    .sort((a, b) => b.totalBytes - a.totalBytes);
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
