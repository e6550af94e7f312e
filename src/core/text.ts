import { groupBy } from "./group-by.ts";

/** "1 run", "2 runs"; `many` where the plural is not the noun with an "s". */
export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : many}`;
}

/** Text with its line breaks replaced by spaces, for output of one line each. */
export function oneLine(text: string): string {
  return text.replace(/[\r\n]+/g, " ");
}

/** Every note once, with the number of equal ones: one cause shows in every run. */
export function countedNotes(notes: readonly string[]): string[] {
  return [...groupBy(notes, (note) => note)].map(([note, { length }]) =>
    length === 1 ? note : `${note} (${length} times)`,
  );
}
