import { lstatSync, readdirSync, renameSync } from "node:fs";
import path from "node:path";
import type { LinePackage } from "../../analysis/document.ts";
import { GateError } from "../../core/errors.ts";
import { readJson } from "../../core/files.ts";
import { groupBy } from "../../core/group-by.ts";
import { makeDirectories } from "../../core/make-directories.ts";
import { type AttributedLine, locationKey } from "../../snapshot/attributed-line.ts";
import { mergedOverProcesses } from "../../snapshot/attribution.ts";
import type { Frame } from "../../snapshot/frames.ts";
import { placeOf } from "../../snapshot/held-growth.ts";
import { growthByLine, type LiveEntry } from "../../snapshot/line-growth.ts";
import { type Mapping, type NativeSample, type NativeStack, parseNative } from "../../snapshot/native-document.ts";
import { PROBE_FOLDER } from "../../telemetry/recording/probe-files.ts";
import { installedPackages } from "./installed-packages.ts";
import type { JudgedGrowth } from "./judged-growth.ts";
import { type Covered, type NamedLine, nameLines } from "./name-lines.ts";
import { sourceAt, symbolAt } from "./native-site.ts";

const NATIVE_FILE = /^(\d{1,10}\.\d{1,9})\.native\.(\d{1,6})\.json$/;
const MAX_BYTES = 32 * 1024 * 1024;
const MAX_PROCESSES = 64;
/** Below this many more samples the Poisson spread of a growth is more than a quarter of it. */
const MIN_SAMPLES_GROWN = 16;

/** Allocators and the run-time libraries that call them for a program: no cause of a growth. */
const RUNTIME =
  /^(?:ld-linux|libc\.|libc-|libm\.|libpthread|libdl\.|librt\.|libstdc\+\+|libc\+\+|libgcc_s|libffi|libgomp|libstormlog_|\[)/;
/** tracemalloc sees what the interpreter itself allocates. */
const INTERPRETER = /^(?:lib)?python[23](?:\.\d+)?(?:[.-]|$)|^libpython/;

/** The place in a native module that allocates growing memory. */
export interface NativeSite {
  /** Absolute path of the program or library. */
  readonly module: string;
  /** The installed package that has it among its files, libraries that its wheel bundles too; null elsewhere. */
  readonly package: LinePackage | null;
  /** The function in the module, as the linker names it; null where the module has no symbol for it. */
  readonly symbol: string | null;
  /** The function that the Python line calls; null when unknown. */
  readonly called: string | null;
}

/** Growing native memory: with a source line, or with its module alone. */
export interface NativeLine {
  readonly named: NamedLine;
  readonly site: NativeSite;
  /** Whether `named.line` is a line of a source file. */
  readonly hasLine: boolean;
}

interface Place {
  readonly path: string;
  readonly offset: number;
}

/** The frame that a stack is counted at, with the allocating place in a module. */
interface Owned {
  readonly frame: Frame;
  readonly python: boolean;
  readonly called: string | null;
  readonly place: Place;
}

interface NativeOptions {
  /** Absolute run directory. */
  readonly directory: string;
  /** Working directory of the command. */
  readonly cwd: string;
  /** Pip's installation report; null for none. */
  readonly pipReport: string | null;
  readonly isUserFrame: (frame: Frame) => boolean;
  readonly growths: readonly JudgedGrowth[];
  readonly slowdown: number;
  /** Lines that are named already: their memory is not counted twice. */
  readonly known: readonly AttributedLine[];
}

/** The native memory that grows, most first, from the preloaded library's files, which are moved into the bundle. */
export async function nativeLines(
  options: NativeOptions,
): Promise<{ readonly lines: readonly NativeLine[]; readonly notes: readonly string[] }> {
  const { processes, notes } = readSamples(options.directory);
  const owners = new Map<string, Map<string, { owned: Owned; bytes: number }>>();
  const lines = processes.flatMap(([id, samples]) => linesOf(id, samples, options, owners));
  const merged = mergedOverProcesses(lines).sort((a, b) => b.growthBytes - a.growthBytes);
  const host = options.growths.filter(({ device }) => device === "host");
  const growthBytes = merged.reduce((sum, line) => sum + line.growthBytes, 0);
  const attribution = {
    lines: merged,
    jumps: [],
    devices: [{ device: "host", growthBytes, explainedShare: null }],
    sources: ["native"],
    notes: [],
  };
  const covered = coveredBy(
    processes.map(([, samples]) => samples),
    options.slowdown,
  );
  const { named } = nameLines(attribution, host, covered);
  const placed = named.flatMap((one) => {
    const [main] = [...(owners.get(locationKey(one.line))?.values() ?? [])].sort((a, b) => b.bytes - a.bytes);
    return main === undefined ? [] : [{ named: one, owned: main.owned }];
  });
  const packages = installedPackages(
    placed.map(({ owned }) => owned.place.path),
    options.pipReport === null ? null : path.resolve(options.cwd, options.pipReport),
  );
  const found: NativeLine[] = [];
  for (const one of placed) {
    const known = packages.get(one.owned.place.path);
    found.push(await resolved(one.named, one.owned, known === undefined ? null : { ...known, relation: "called" }));
  }
  return { lines: found, notes };
}

async function resolved(
  named: NamedLine,
  { python, called, place }: Owned,
  found: LinePackage | null,
): Promise<NativeLine> {
  const symbol = symbolAt(place.path, place.offset);
  const site: NativeSite = { module: place.path, package: found, symbol, called };
  if (python) return { named, site, hasLine: true };
  const source = await sourceAt(place.path, place.offset);
  if (source === null) return { named, site, hasLine: false };
  const line: AttributedLine = { ...named.line, ...source, stack: [source] };
  return { named: { ...named, line }, site, hasLine: true };
}

function linesOf(
  id: string,
  samples: readonly NativeSample[],
  { isUserFrame, known }: NativeOptions,
  owners: Map<string, Map<string, { owned: Owned; bytes: number }>>,
): AttributedLine[] {
  const live = samples.map(({ step, timeNs, totalBytes, stacks, mappings }) => {
    const ordered = [...mappings].sort((a, b) => a.start - b.start);
    const entries = stacks.flatMap((stack): LiveEntry[] => {
      const owned = ownedBy(stack, ordered, isUserFrame);
      if (owned === null || known.some(({ file, line }) => file === owned.frame.file && line === owned.frame.line)) {
        return [];
      }
      const key = locationKey(owned.frame);
      const places = owners.get(key) ?? new Map<string, { owned: Owned; bytes: number }>();
      owners.set(key, places);
      const place = `${owned.place.path}\0${owned.place.offset}`;
      places.set(place, { owned, bytes: (places.get(place)?.bytes ?? 0) + stack.bytes });
      return [{ bytes: stack.bytes, count: stack.count, kind: "native", stack: [owned.frame] }];
    });
    return { step, timeNs, totalBytes, entries };
  });
  return growthByLine(live, { isUserFrame: () => true })
    .lines.filter(({ countGrowth, trend }) => countGrowth >= MIN_SAMPLES_GROWN && trend === "grows")
    .map((line) => ({
      ...placeOf(line),
      placed: "allocated" as const,
      device: "host",
      processes: [id],
      allocatedAt: null,
      keptBy: null,
      hint: null,
    }));
}

/** Where a stack's memory is counted; null for the interpreter's own, which tracemalloc sees, and where unknown. */
function ownedBy(
  stack: NativeStack,
  mappings: readonly Mapping[],
  isUserFrame: (frame: Frame) => boolean,
): Owned | null {
  const places = stack.native.flatMap((address) => {
    const place = placeAt(address, mappings);
    return place === null || RUNTIME.test(path.basename(place.path)) ? [] : [place];
  });
  const [innermost] = places;
  if (innermost === undefined || INTERPRETER.test(path.basename(innermost.path))) return null;
  const line = stack.python.find(isUserFrame);
  if (line !== undefined) {
    const frame = { file: line.file, line: line.line, function: line.function };
    return { frame, python: true, called: line.called, place: innermost };
  }
  const own = places.find((place) =>
    isUserFrame({ file: place.path.replace(/\.so[.\d]*$/, ""), line: 1, function: "" }),
  );
  const place = stack.python.length > 0 ? innermost : (own ?? innermost);
  // Its line is found once it is known to grow; until then the place in the file stands for it.
  return { frame: { file: place.path, line: place.offset, function: "" }, python: false, called: null, place };
}

/** The file that contains the call before a return address. */
function placeAt(address: number, mappings: readonly Mapping[]): Place | null {
  const call = address - 1;
  let low = 0;
  let high = mappings.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((mappings[middle]?.start ?? 0) <= call) low = middle + 1;
    else high = middle;
  }
  const found = mappings[low - 1];
  return found === undefined || call >= found.end
    ? null
    : { path: found.path, offset: call - found.start + found.offset };
}

function coveredBy(processes: readonly (readonly NativeSample[])[], slowdown: number): Covered {
  const spans = processes.flatMap((samples) => {
    const [first, last] = [samples[0], samples.at(-1)];
    return first === undefined || last === undefined ? [] : [{ first, last }];
  });
  const steps = spans.flatMap(({ first, last }) =>
    first.step === null || last.step === null ? [] : [last.step - first.step],
  );
  const seconds = spans.map(({ first, last }) => (last.timeNs - first.timeNs) / 1e9);
  return {
    steps: steps.length === 0 ? null : Math.max(...steps),
    seconds: seconds.length === 0 ? null : Math.max(...seconds),
    slowdown,
  };
}

function readSamples(directory: string): {
  readonly processes: readonly (readonly [string, readonly NativeSample[]])[];
  readonly notes: readonly string[];
} {
  const from = path.join(directory, PROBE_FOLDER);
  const to = path.join(directory, "snapshots");
  const notes: string[] = [];
  let names: string[];
  try {
    names = readdirSync(from).filter((name) => NATIVE_FILE.test(name));
  } catch {
    return { processes: [], notes };
  }
  // The measured program could have made a symbolic link.
  const regular = names.filter((name) => lstatSync(path.join(from, name), { throwIfNoEntry: false })?.isFile());
  if (regular.length > 0) makeDirectories(to);
  const read = regular.flatMap((name) => {
    const file = path.join(to, name);
    renameSync(path.join(from, name), file);
    try {
      const refuse = () =>
        new GateError("LINES_INVALID", "the list of stacks is damaged or too large", { kind: "error" });
      const sample = parseNative(readJson(file, refuse, MAX_BYTES), file);
      // Programs that allocate next to nothing, such as a shell.
      return sample.stacks.length === 0 ? [] : [{ process: name.split(".").slice(0, 2).join("."), sample }];
    } catch (error) {
      if (!(error instanceof GateError)) throw error;
      notes.push(`${name}: ${error.message}`);
      return [];
    }
  });
  const processes = [...groupBy(read, ({ process }) => process)].slice(0, MAX_PROCESSES).map(([id, own]) => {
    const samples = own.map(({ sample }) => sample).sort((a, b) => a.moment - b.moment);
    return [id, samples] as const;
  });
  return { processes, notes };
}
