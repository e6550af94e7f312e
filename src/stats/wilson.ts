/** How often something happened in how many tries. */
export interface Tally {
  readonly hits: number;
  readonly tries: number;
}

/** z of a two-sided 95 % interval. */
const Z = 1.959963984540054;

/**
 * 95 % interval of a share (E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927): unlike
 * the usual one it is right for shares near 0 and 1 and for few tries. [0, 1] where nothing was tried.
 */
export function wilsonInterval({ hits, tries }: Tally): readonly [number, number] {
  if (tries <= 0) return [0, 1];
  const share = hits / tries;
  const spread = (Z * Z) / tries;
  const middle = share + spread / 2;
  const half = Z * Math.sqrt((share * (1 - share)) / tries + (Z * Z) / (4 * tries * tries));
  const low = hits === 0 ? 0 : (middle - half) / (1 + spread);
  const high = hits === tries ? 1 : (middle + half) / (1 + spread);
  return [Math.max(0, low), Math.min(1, high)];
}

/** "3/40 (2.6 % to 19.9 %)" */
export function tallyText(tally: Tally): string {
  if (tally.tries === 0) return "not tried";
  const [low, high] = wilsonInterval(tally);
  const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
  return `${tally.hits}/${tally.tries} (${percent(low)} to ${percent(high)})`;
}
