import { parseSize } from "../../src/core/units.ts";

/** Sizes of two runs may differ by so much: other versions of libraries, another state of the allocator. */
const LARGEST_RATIO = 1.15;
const SMALLEST_BYTES = 6 * 2 ** 20;
/** Accuracies, percent. */
const NEAR_PERCENT = 3;

const SIZE = /^[+-]?\d+(?:\.\d+)? (?:B|KiB|MiB|GiB)$/;
const PERCENT = /^\d+(?:\.\d+)? %$/;
/** Counts and times: of the machine. */
const LOOSE = /^\d+(?:\.\d+)?(?: ?(?:ms|s|min))?$/;
/** Sizes of a phase: its ends are read when the probe has time, which on a busy machine is now and then never. */
const PHASES = new Set(["training", "validation"]);
const WORD = /^(?:–|[a-z]+)$/;
/** A series as block letters. */
const SPARK = /^[\u2581-\u2588\u250a ]+$/;
const GROWS = /^(?:leak|rising)$/;

/** "+60.93 MiB" in bytes. */
export function sizeOf(text: string): number {
  const [, sign = "", size = ""] = /^([+-]?)(.*)$/.exec(text) ?? [];
  return (sign === "-" ? -1 : 1) * parseSize(size.replace(" ", ""));
}

/**
 * Rows of the tables in an output, by their first cell. Bins are two blanks or more apart; a line with a cell that is
 * not a size, share, count, time or word is not a row.
 */
export function rowsOf(output: string): ReadonlyMap<string, readonly string[]> {
  const kinds = [SIZE, PERCENT, LOOSE, WORD];
  const found = output.split("\n").flatMap((line): [string, readonly string[]][] => {
    const [name = "", ...parts] = line.trim().split(/ {2,}/);
    const cells = parts.filter((part) => !SPARK.test(part)).map((part) => part.replace(/^(?:limit|baseline) /, ""));
    const table = cells.length >= 2 && cells.every((cell) => kinds.some((kind) => kind.test(cell)));
    return table && !PHASES.has(name) && (cells.some((cell) => SIZE.test(cell)) || name.endsWith(" class"))
      ? [[name, cells]]
      : [];
  });
  return new Map(found);
}

function near(shown: string, seen: string): boolean {
  if (SIZE.test(shown) && SIZE.test(seen)) {
    const [a, b] = [sizeOf(shown), sizeOf(seen)];
    return Math.abs(a - b) <= Math.max(SMALLEST_BYTES, Math.abs(a) * (LARGEST_RATIO - 1));
  }
  if (PERCENT.test(shown) && PERCENT.test(seen))
    return Math.abs(Number.parseFloat(shown) - Number.parseFloat(seen)) <= NEAR_PERCENT;
  if (LOOSE.test(shown)) return LOOSE.test(seen);
  // Which kind of stillness a series shows may differ from run to run; that it grows may not.
  return shown === "–" || seen === "–" ? shown === seen : WORD.test(seen) && GROWS.test(shown) === GROWS.test(seen);
}

/** Which cells of a row another run does not reproduce, as sentences. */
export function differences(shown: readonly string[], seen: readonly string[] | undefined): readonly string[] {
  if (seen === undefined) return ["the row is missing"];
  return shown.flatMap((cell, i) => (near(cell, seen[i] ?? "") ? [] : [`${cell} is ${seen[i] ?? "nothing"}`]));
}
