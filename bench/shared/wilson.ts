/** z of a two-sided 95 % interval. */
const Z = 1.959963984540054;

/**
 * Wilson's 95 % score interval of a proportion, (p̂ + z²/2n ± z√(p̂(1 − p̂)/n + z²/4n²)) / (1 + z²/n) (Wilson 1927,
 * "Probable inference, the law of succession, and statistical inference"). Unlike Wald's interval it is valid for
 * proportions near 0 and 1 and for few tries. [0, 1] without tries.
 */
export function wilsonInterval({ hits, tries }: Readonly<{ hits: number; tries: number }>): readonly [number, number] {
  if (tries <= 0) return [0, 1];
  const share = hits / tries;
  const spread = (Z * Z) / tries;
  const middle = share + spread / 2;
  const half = Z * Math.sqrt((share * (1 - share)) / tries + (Z * Z) / (4 * tries * tries));
  const low = hits === 0 ? 0 : (middle - half) / (1 + spread);
  const high = hits === tries ? 1 : (middle + half) / (1 + spread);
  return [Math.max(0, low), Math.min(1, high)];
}
