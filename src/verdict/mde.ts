/**
 * Smallest change a relative check would have found about nine times in ten: the margin and two spreads, bytes. (With three
 * to six runs that must all lie above the threshold, a true change of margin + 2 sigma puts each of them above with 98 %.)
 */
export function minimalDetectableChange(margin: number, spread: number): number {
  return Math.ceil(margin + 2 * spread);
}
