/**
 * Commits on a baseline ref before the next write begins a new root: a nightly refresh of several scenarios reaches it in months, and
 * the objects of so many records stay a few megabytes.
 */
export const MAX_HISTORY = 500;

const TRAILER = "Stormlog-Depth";

/** Commits on the ref up to this one, as its message tells; 0 when it does not. */
export function depthOf(message: string): number {
  const [, digits] = new RegExp(`^${TRAILER}: (\\d{1,9})$`, "m").exec(message) ?? [];
  return digits === undefined ? 0 : Number(digits);
}

/** A commit message that carries its depth, so that nobody has to count the history. */
export function withDepth(message: string, depth: number): string {
  return `${message}\n\n${TRAILER}: ${depth}\n`;
}
