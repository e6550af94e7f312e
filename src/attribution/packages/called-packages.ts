import type { LinePackage } from "../../analysis/series/document.ts";
import type { AttributedLine } from "../../snapshot/growth/attributed-line.ts";
import type { NativeSample, NativeStack } from "../../snapshot/growth/native-document.ts";
import type { NativeSamples } from "../native/native-files.ts";
import { calledPlace, type ModuleOffset } from "../native/native-owner.ts";
import { symbolNames } from "../native/native-site.ts";
import { packagesBy } from "./installed-packages.ts";
import { PYTORCH } from "./line-packages.ts";

/** Below so many more samples their Poisson spread is more than a quarter of the growth. */
export const MIN_SAMPLES_GROWN = 16;
/** Part of a line's growth that must be one library's, so that the line is said to call it. */
const MIN_CALLED_SHARE = 0.5;

/** Growth between the first and the last moment of a process. */
interface Growth {
  readonly bytes: number;
  readonly samples: number;
}

/**
 * The installed packages whose compiled code allocates what lines of Python keep, although no Python frame of theirs is
 * on the stack; a line that calls none is absent.
 * @param lines lines that allocate what grows; those of another language have no samples
 * @param pipReport absolute path of pip's installation report; null for none
 */
export function calledPackages<T extends AttributedLine>(
  lines: readonly T[],
  { processes }: NativeSamples,
  pipReport: string | null,
): ReadonlyMap<T, LinePackage> {
  const nameOf = symbolNames();
  const called = lines.flatMap((line) => {
    const own = processes.filter(([id]) => line.processes.includes(id)).map(([, samples]) => samples);
    const file = calledFile(line, own, nameOf);
    return file === null ? [] : [{ of: line, file, relation: "called" as const }];
  });
  return packagesBy(called, pipReport);
}

/**
 * The library that allocates most of what a line keeps; null where none does, or the samples are too few. What grew by
 * one block is left out: a table that was made larger, such as tracemalloc's own, which can be larger than the leak.
 */
export function calledFile(
  line: Pick<AttributedLine, "file" | "line">,
  processes: readonly (readonly Pick<NativeSample, "stacks" | "mappings">[])[],
  nameOf: (place: ModuleOffset) => string | null,
): string | null {
  const byFile = new Map<string | null, Growth>();
  for (const samples of processes) {
    for (const [sample, sign] of [[samples[0], -1] as const, [samples.at(-1), 1] as const]) {
      if (sample === undefined) continue;
      const mappings = [...sample.mappings].sort((a, b) => a.start - b.start);
      for (const stack of sample.stacks) {
        if (!isAllocatedAt(stack, line)) continue;
        const place = calledPlace(stack, mappings, nameOf);
        const file = place === null || PYTORCH.test(place.path) ? null : place.path;
        const { bytes, samples: count } = byFile.get(file) ?? { bytes: 0, samples: 0 };
        byFile.set(file, { bytes: bytes + sign * stack.bytes, samples: count + sign * stack.count });
      }
    }
  }
  const grown = [...byFile].filter(([, { bytes, samples }]) => bytes > 0 && samples > 1);
  const whole = grown.reduce((sum, [, { bytes }]) => sum + bytes, 0);
  const [file, most] = grown.sort(([, a], [, b]) => b.bytes - a.bytes)[0] ?? [null, { bytes: 0, samples: 0 }];
  return most.samples >= MIN_SAMPLES_GROWN && most.bytes >= MIN_CALLED_SHARE * whole ? file : null;
}

/** Whether the line is the innermost of Python: no other Python code is between it and the library. */
function isAllocatedAt({ python }: NativeStack, { file, line }: Pick<AttributedLine, "file" | "line">): boolean {
  const [innermost] = python;
  return innermost !== undefined && innermost.file === file && innermost.line === line;
}
