import { GateError } from "../../core/errors.ts";
import { readJson } from "../../core/files.ts";
import { groupBy } from "../../core/group-by.ts";
import { type NativeSample, parseNative } from "../../snapshot/growth/native-document.ts";
import { keepProbeFiles, processOf, readKept } from "../run/probe-output.ts";

/** The samples of the processes that held most, each process by its moments. */
export interface NativeSamples {
  readonly processes: readonly (readonly [string, readonly NativeSample[]])[];
  /** Files that could not be read, with the reasons. */
  readonly notes: readonly string[];
}

/**
 * Read the files of the preloaded library, and move them from the probe's directory to the run's `snapshots/`.
 * @param directory absolute run directory  @throws Error when the files cannot be moved (no space, no permission)
 */
export function readNativeSamples(directory: string): NativeSamples {
  const notes: string[] = [];
  const refuse = () => new GateError("LINES_INVALID", "the list of stacks is damaged or too large");
  const parse = (file: string) => ({
    process: processOf(file),
    sample: parseNative(readJson(file, refuse, 32 * 1024 * 1024), file),
  });
  const read = readKept(keepProbeFiles(directory, /^(\d{1,10}\.\d{1,9})\.native\.(\d{1,6})\.json$/), parse, (note) =>
    notes.push(note),
  );
  // Programs without stacks allocate next to nothing, such as a shell.
  const seen = read.filter(({ sample }) => sample.stacks.length > 0);
  const processes = [...groupBy(seen, ({ process }) => process)].map(([id, own]) => {
    const samples = own.map(({ sample }) => sample).sort((a, b) => a.moment - b.moment);
    return [id, samples] as const;
  });
  const most = ([, samples]: (typeof processes)[number]): number =>
    samples.reduce((highest, { totalBytes }) => Math.max(highest, totalBytes), 0);
  return { processes: processes.sort((a, b) => most(b) - most(a)).slice(0, 64), notes };
}
