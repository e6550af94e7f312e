/**
 * Smallest change that a relative check detects in about nine of ten cases, bytes: with three to six runs that must all
 * exceed the threshold, a true change of margin + 2 sigma puts each of them above it with 98 %.
 */
export function minimalDetectableChange(margin: number, spread: number): number {
  return Math.ceil(margin + 2 * spread);
}
