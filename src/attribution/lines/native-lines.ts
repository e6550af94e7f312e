import type { LinePackage } from "../../analysis/series/document.ts";
import { groupBy } from "../../core/group-by.ts";
import { type AttributedLine, placeOf } from "../../snapshot/growth/attributed-line.ts";
import { mergedOverProcesses } from "../../snapshot/growth/attribution.ts";
import { growthByLine, type LiveEntry } from "../../snapshot/growth/line-growth.ts";
import type { NativeSample } from "../../snapshot/growth/native-document.ts";
import { type Frame, lineKey } from "../../snapshot/model/frames.ts";
import type { NativeSamples } from "../native/native-files.ts";
import { type ModuleOffset, ownedBy, type Placed } from "../native/native-owner.ts";
import { passesMemoryOn, sourceAt, symbolAt, symbolNames } from "../native/native-site.ts";
import { MIN_SAMPLES_GROWN } from "../packages/called-packages.ts";
import { packagesBy } from "../packages/installed-packages.ts";
import type { JudgedGrowth } from "../run/judged-growth.ts";
import { coveredBy, MIN_LEAK_SHARE, type NamedLine, nameLines } from "./name-lines.ts";

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

/** Memory of one place in a module. */
interface OwnedBytes {
  readonly owned: Placed;
  readonly bytes: number;
}

interface NativeOptions {
  readonly samples: NativeSamples;
  /** Absolute path of pip's installation report; null for none. */
  readonly pipReport: string | null;
  readonly isUserFrame: (frame: Frame) => boolean;
  readonly growths: readonly JudgedGrowth[];
  readonly slowdown: number;
  /** Lines that are named already: their memory is not counted twice. */
  readonly known: readonly AttributedLine[];
}

/** The native memory that grows, most first. */
export async function nativeLines(options: NativeOptions): Promise<readonly NativeLine[]> {
  const { processes } = options.samples;
  const owners = new Map<string, Map<string, OwnedBytes>>();
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
    const [main] = [...(owners.get(lineKey(one.line))?.values() ?? [])].sort((a, b) => b.bytes - a.bytes);
    return main === undefined ? [] : [{ named: one, owned: main.owned }];
  });
  const packages = packagesBy(
    placed.map((one) => ({ of: one, file: one.owned.place.path, relation: "called" as const })),
    options.pipReport,
  );
  const found: NativeLine[] = [];
  for (const one of placed) found.push(await resolved(one.named, one.owned, packages.get(one) ?? null));
  return [...groupBy(found, ({ named: { line }, hasLine }) => `${hasLine} ${lineKey(line)}`).values()].map(together);
}

/** Places of one source line as one. */
function together(places: readonly NativeLine[]): NativeLine {
  const [first] = places as [NativeLine];
  const share = Math.min(
    1,
    places.reduce((sum, { named }) => sum + named.share, 0),
  );
  const kind = share >= MIN_LEAK_SHARE ? "leak" : first.named.kind;
  return places.length === 1 ? first : { ...first, named: { ...first.named, kind, share } };
}

async function resolved(
  named: NamedLine,
  { python, called, place }: Placed,
  found: LinePackage | null,
): Promise<NativeLine> {
  const symbol = symbolAt(place);
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
  owners: Map<string, Map<string, OwnedBytes>>,
): AttributedLine[] {
  const nameAt = symbolNames();
  const passesOn = (place: ModuleOffset): boolean => passesMemoryOn(nameAt(place) ?? "");
  const live = samples.map(({ step, timeNs, totalBytes, stacks, mappings }) => {
    const ordered = [...mappings].sort((a, b) => a.start - b.start);
    const entries = stacks.flatMap((stack): LiveEntry[] => {
      const owned = ownedBy(stack, ordered, isUserFrame, passesOn);
      // What the interpreter allocates, tracemalloc sees.
      if (owned === null || owned.place === null || owned.isInterpreter) return [];
      if (known.some(({ file, line }) => file === owned.frame.file && line === owned.frame.line)) return [];
      const key = lineKey(owned.frame);
      const places = owners.get(key) ?? new Map<string, OwnedBytes>();
      owners.set(key, places);
      const place = `${owned.place.path}\0${owned.place.offset}`;
      places.set(place, {
        owned: { ...owned, place: owned.place },
        bytes: (places.get(place)?.bytes ?? 0) + stack.bytes,
      });
      return [{ bytes: stack.bytes, count: stack.count, kind: "native", stack: [owned.frame] }];
    });
    return { step, timeNs, totalBytes, entries };
  });
  // As many samples as small blocks of that growth have: a large block is one sample, of its own size.
  const interval = Math.max(...samples.map(({ intervalBytes }) => intervalBytes));
  return growthByLine(live, () => true)
    .lines.filter(({ growthBytes, trend }) => growthBytes >= MIN_SAMPLES_GROWN * interval && trend === "grows")
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
