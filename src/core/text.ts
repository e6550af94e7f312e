import { groupBy } from "./group-by.ts";

/** "1 run", "2 runs"; `many` where the plural is not the noun with an "s". */
export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : many}`;
}

/** Text with its line breaks replaced by spaces, for output of one line each. */
export function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, " ");
}

/** The first of many reasons, for one sentence that counts them; not escaped. */
export function firstReasons(reasons: readonly string[]): string {
  const shown = reasons.slice(0, 3).map((reason) => cutText(oneLine(reason), 200));
  return [...shown, ...(reasons.length > shown.length ? [`${reasons.length - shown.length} more`] : [])].join("; ");
}

/** Every note once, with the number of equal ones: one cause shows in every run. */
export function countedNotes(notes: readonly string[]): string[] {
  return [...groupBy(notes, (note) => note)].map(([note, { length }]) =>
    length === 1 ? note : `${note} (${length} times)`,
  );
}

const MAX_EDITS = 3;
/** Share of the longer word that must agree, as commander does it. */
const MIN_SIMILARITY = 0.4;

/** Edits between two words, where two swapped neighbours are one edit (optimal string alignment). */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before[j - 2]! + 1 : replaced;
      row.push(Math.min(replaced, swapped, last[j]! + 1, row[j - 1]! + 1));
    }
    before = last;
    last = row;
  }
  return last[b.length]!;
}

/** The candidate that a misspelt word most likely means; undefined where none is near. */
export function closestWord(word: string, candidates: Iterable<string>): string | undefined {
  let found: string | undefined;
  let edits = MAX_EDITS + 1;
  for (const candidate of candidates) {
    const longer = Math.max(word.length, candidate.length);
    // A long word cannot be near a short one, and is not worth the table.
    if (longer - Math.min(word.length, candidate.length) > MAX_EDITS) continue;
    const distance = editDistance(word.toLowerCase(), candidate);
    if (distance < edits && (longer - distance) / longer > MIN_SIMILARITY) [found, edits] = [candidate, distance];
  }
  return found;
}

/** "Did you mean …? " with what {@link closestWord} found, to begin a hint; empty where nothing is near. */
export function didYouMean(word: string, candidates: Iterable<string>, prefix = ""): string {
  const found = closestWord(word, candidates);
  return found === undefined ? "" : `Did you mean ${prefix}${found}? `;
}

/** A text of at most `most` UTF-16 units: a longer one ends in "…", never in half a character. Cut before escaping. */
export function cutText(text: string, most: number): string {
  if (text.length <= most) return text;
  const end = text.charCodeAt(most - 2);
  return `${text.slice(0, end >= 0xd800 && end <= 0xdbff ? most - 2 : most - 1)}…`;
}

const COLLATOR = new Intl.Collator("en", { numeric: true });

/** Total order of names: numbers by value, then by character. */
export function compareNames(a: string, b: string): number {
  return COLLATOR.compare(a, b) || (a < b ? -1 : a > b ? 1 : 0);
}
