import { groupBy } from "../../core/group-by.ts";
import { functionKey, type LinePair, linePairs } from "../../snapshot/live/line-pairs.ts";
import { lineKey } from "../../snapshot/model/frames.ts";
import type { HeldPart } from "./held-parts.ts";

/** A held part with the text of its line; null where that could not be read. */
export type ReadPart = HeldPart & { readonly code: string | null };

/** A line of which more, or much, is live at the peak; its parts as one. */
export interface NamedPeakLine {
  readonly line: ReadPart;
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
/** Characters of a line's text that are compared: what is stored with a baseline has no more. */
export const COMPARED_CODE = 60;

/** An edit may move a line: its text shows that it is the same one. */
const textKey = ({ at, code }: ReadPart): string =>
  code === null ? lineKey(at) : `${functionKey({ at })}\0text\0${code.slice(0, COMPARED_CODE)}`;

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** The value of the parts with the most bytes. */
function largest<T>(parts: readonly ReadPart[], of: (part: ReadPart) => T): T | null {
  const sums = [...groupBy(parts, of)].map(([value, own]) => [value, sum(own.map(({ bytes }) => bytes))] as const);
  return sums.sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;
}

/** Parts of one key as one, named after the largest, with the category and phase that have most of it. */
function summed(parts: readonly ReadPart[], keyOf: (part: ReadPart) => string): ReadPart[] {
  return [...groupBy(parts, keyOf).values()].map((own) => {
    const [first] = [...own].sort((a, b) => b.bytes - a.bytes) as [ReadPart, ...ReadPart[]];
    const [bytes, variance] = [sum(own.map((part) => part.bytes)), sum(own.map((part) => part.variance))];
    const [category, phase] = [largest(own, (part) => part.category), largest(own, (part) => part.phase)];
    return { ...first, bytes, variance, category, phase };
  });
}

/** Parts of one line, category and phase as one, most bytes first. */
export function summedLines(parts: readonly ReadPart[]): readonly ReadPart[] {
  const keyOf = (part: ReadPart) => `${textKey(part)}\0${part.category}\0${part.phase}`;
  return summed(parts, keyOf).sort((a, b) => b.bytes - a.bytes);
}

/** The lines of both sides. What is left of a function on both sides, without a partner, is compared as a whole. */
export function pairedLines(after: readonly ReadPart[], before: readonly ReadPart[]): readonly LinePair<ReadPart>[] {
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
  after: readonly ReadPart[],
  before: readonly ReadPart[],
  difference: number,
): readonly NamedPeakLine[] {
  const higher = pairedLines(after, before).flatMap((pair): NamedPeakLine[] => {
    if (pair.after === null) return [];
    const bytes = pair.after.bytes - (pair.before?.bytes ?? 0);
    const deviation = Math.sqrt(pair.after.variance + (pair.before?.variance ?? 0));
    if (bytes <= MIN_DEVIATIONS * deviation) return [];
    return [{ line: pair.after, before: pair.before?.bytes ?? 0, share: Math.min(1, bytes / difference) }];
  });
  const named = shown(higher.sort((a, b) => b.line.bytes - (b.before ?? 0) - (a.line.bytes - (a.before ?? 0))));
  // Where no line has a fifth many differ a little, and none of them is the cause.
  return (named[0]?.share ?? 0) < MIN_SHARE ? [] : named;
}

/** The lines that hold most of a peak, which needs no cause. @param peak judged bytes */
export function largestLines(after: readonly ReadPart[], peak: number): readonly NamedPeakLine[] {
  const all = summed(after, ({ at }) => `${at.file}:${at.line || at.function}`)
    .filter(({ bytes, variance }) => bytes > MIN_DEVIATIONS * Math.sqrt(variance))
    .map((line) => ({ line, before: null, share: Math.min(1, line.bytes / peak) }));
  return shown(all.sort((a, b) => b.line.bytes - a.line.bytes));
}

const shown = (lines: readonly NamedPeakLine[]): readonly NamedPeakLine[] =>
  lines.filter(({ line: { at }, share }) => share >= MIN_MENTION && (at.line > 0 || at.function !== "")).slice(0, 4);
