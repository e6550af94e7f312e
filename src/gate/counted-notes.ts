import { groupBy } from "../core/group-by.ts";

/** Every note once, with the number of equal ones: one cause shows in every run. */
export function countedNotes(notes: readonly string[]): string[] {
  return [...groupBy(notes, (note) => note)].map(([note, { length }]) =>
    length === 1 ? note : `${note} (${length} times)`,
  );
}
