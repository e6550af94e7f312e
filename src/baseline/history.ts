/**
 * Maximum depth of a baseline ref's history before the next write begins a new root. A nightly refresh of several
 * scenarios reaches it in months, and the objects of so many records stay below a few megabytes.
 */
export const MAX_HISTORY = 500;

const TRAILER = "Stormlog-Depth";

/** Number of commits on the ref up to this one, from its message; 0 without a trailer. */
export function depthOf(message: string): number {
  const [, digits] = new RegExp(`^${TRAILER}: (\\d{1,9})$`, "m").exec(message) ?? [];
  return digits === undefined ? 0 : Number(digits);
}

/** A commit message that contains its depth, so that the history need not be counted. */
export function withDepth(message: string, depth: number): string {
  return `${message}\n\n${TRAILER}: ${depth}\n`;
}
