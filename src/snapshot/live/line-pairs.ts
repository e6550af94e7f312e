import { groupBy } from "../../core/group-by.ts";
import { type Frame, lineKey } from "../model/frames.ts";

/** A line on both sides of a comparison, or on one. */
export interface LinePair<T> {
  readonly before: T | null;
  readonly after: T | null;
}

interface Located {
  readonly at: Frame;
}

/**
 * Pairs of the same line on both sides. An edit above a line moves it: what is left of a function pairs in the order of
 * its lines where both sides have as many.
 * @param keyOf unique on each side
 */
export function linePairs<T extends Located>(
  before: readonly T[],
  after: readonly T[],
  keyOf: (line: T) => string = ({ at }) => lineKey(at),
): readonly LinePair<T>[] {
  const earlier = new Map(before.map((line) => [keyOf(line), line]));
  const found: LinePair<T>[] = [];
  const added: T[] = [];
  for (const line of after) {
    const key = keyOf(line);
    const same = earlier.get(key);
    if (same === undefined) added.push(line);
    else found.push({ before: same, after: line });
    earlier.delete(key);
  }
  const byLine = (a: T, b: T): number => a.at.line - b.at.line;
  const removed = groupBy([...earlier.values()], functionKey);
  for (const [name, own] of groupBy(added, functionKey)) {
    const gone = [...(removed.get(name) ?? [])].sort(byLine);
    if (gone.length !== own.length) {
      found.push(...own.map((line) => ({ before: null, after: line })));
      continue;
    }
    removed.delete(name);
    for (const [index, line] of [...own].sort(byLine).entries()) {
      found.push({ before: gone[index] ?? null, after: line });
    }
  }
  for (const gone of removed.values()) found.push(...gone.map((line) => ({ before: line, after: null })));
  return found;
}

/** Key of the function that a line is in. */
export function functionKey({ at }: Located): string {
  return `${at.file}\0${at.function}`;
}
