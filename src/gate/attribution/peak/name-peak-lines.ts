import { groupBy } from "../../../core/group-by.ts";
import { functionKey, type LinePair, linePairs } from "../../../snapshot/line-pairs.ts";
import { lineKey } from "../../../snapshot/owners.ts";
import type { HeldLine } from "./held-lines.ts";

/** A held line with its text; null where that could not be read. */
export type ReadLine = HeldLine & { readonly code: string | null };

/** A line of which more, or much, is live at the peak. */
export interface PeakLine {
  readonly line: ReadLine;
  /** Bytes of the same line of the base at its peak; null without a base. */
  readonly before: number | null;
  /** Of the difference of the peaks, or of the peak without a base; 0 to 1. */
  readonly share: number;
}

/** Smallest share of a line that is named as a cause, and of one that is mentioned beside it. */
const MIN_SHARE = 0.2;
const MIN_MENTION = 0.05;
/** Standard deviations of the samples that a difference must exceed: some hundred lines are compared at once. */
const MIN_DEVIATIONS = 4;
const MAX_LINES = 4;

/** An edit may move a line: its text shows that it is the same one. */
const textKey = ({ at, code }: ReadLine): string =>
  code === null ? lineKey(at) : `${functionKey({ at })}\0text\0${code}`;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Lines of one key as one, named after the largest. */
function summed(lines: readonly ReadLine[], keyOf: (line: ReadLine) => string): ReadLine[] {
  return [...groupBy(lines, keyOf).values()].map((own) => {
    const [first] = [...own].sort((a, b) => b.bytes - a.bytes) as [ReadLine, ...ReadLine[]];
    const [bytes, variance] = [sum(own.map((line) => line.bytes)), sum(own.map((line) => line.variance))];
    return { ...first, bytes, variance };
  });
}

/** The lines of both sides. What is left of a function on both sides, without a partner, is compared as a whole. */
function paired(after: readonly ReadLine[], before: readonly ReadLine[]): readonly LinePair<ReadLine>[] {
  const pairs = linePairs(summed(before, textKey), summed(after, textKey), textKey);
  const added = pairs.flatMap((pair) => (pair.before === null && pair.after !== null ? [pair.after] : []));
  const gone = pairs.flatMap((pair) => (pair.after === null && pair.before !== null ? [pair.before] : []));
  const replaced = linePairs(summed(gone, functionKey), summed(added, functionKey), functionKey);
  return [...pairs.filter((pair) => pair.before !== null && pair.after !== null), ...replaced];
}

/**
 * The lines that hold more at the peak than those of the base, the largest difference first.
 * @param difference bytes by which the judged peak is higher than the base's
 */
export function higherLines(
  after: readonly ReadLine[],
  before: readonly ReadLine[],
  difference: number,
): readonly PeakLine[] {
  const higher = paired(after, before).flatMap((pair): PeakLine[] => {
    if (pair.after === null) return [];
    const bytes = pair.after.bytes - (pair.before?.bytes ?? 0);
    const deviation = Math.sqrt(pair.after.variance + (pair.before?.variance ?? 0));
    if (bytes <= MIN_DEVIATIONS * deviation) return [];
    return [{ line: pair.after, before: pair.before?.bytes ?? 0, share: Math.min(1, bytes / difference) }];
  });
  return shown(higher.sort((a, b) => b.line.bytes - (b.before ?? 0) - (a.line.bytes - (a.before ?? 0))));
}

/** The lines that hold most of a peak. @param peak judged bytes */
export function largestLines(after: readonly ReadLine[], peak: number): readonly PeakLine[] {
  const all = summed(after, textKey)
    .filter(({ bytes, variance }) => bytes > MIN_DEVIATIONS * Math.sqrt(variance))
    .map((line) => ({ line, before: null, share: Math.min(1, line.bytes / peak) }));
  return shown(all.sort((a, b) => b.line.bytes - a.line.bytes));
}

/** Nothing where no line has a fifth: then many lines differ a little, and none of them is the cause. */
function shown(lines: readonly PeakLine[]): readonly PeakLine[] {
  const named = lines.filter(({ line: { at }, share }) => share >= MIN_MENTION && (at.line > 0 || at.function !== ""));
  return (named[0]?.share ?? 0) < MIN_SHARE ? [] : named.slice(0, MAX_LINES);
}
