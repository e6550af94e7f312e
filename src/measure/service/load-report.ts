/** What a load has sent. */
export interface LoadReport {
  /** Null where its output does not have the number. */
  readonly requests: number | null;
  readonly failed: number;
  readonly failures: readonly string[];
}

/** How known generators report their requests: the last match of one counts, or the sum of its matches. */
const KNOWN: readonly { readonly pattern: RegExp; readonly isSum?: true }[] = [
  // k6
  { pattern: /http_reqs[.\s]*:\s*(\d+)/g },
  // wrk, wrk2
  { pattern: /(\d+) requests in /g },
  // hey, oha: one line for each status
  { pattern: /\[\d{3}\]\s+(\d+) responses/g, isSum: true },
  // ab
  { pattern: /Complete requests:\s+(\d+)/g },
  // vllm bench serve, sglang's bench_serving
  { pattern: /Successful requests:\s+(\d+)/g },
  // locust
  { pattern: /Aggregated\s+(\d+)/g },
];

const numbersOf = (output: string, pattern: RegExp): readonly number[] =>
  [...output.matchAll(pattern)].map((match) => Number(match[1])).filter(Number.isSafeInteger);

/**
 * The requests that a load command reports in its output.
 * @param pattern the user's, with the number as its first group; null = those of known generators
 */
export function reportedRequests(output: string, pattern: string | null): number | null {
  const known = pattern === null ? KNOWN : [{ pattern: new RegExp(pattern, "g") }];
  for (const { pattern: own, isSum } of known) {
    const numbers = numbersOf(output, own);
    if (numbers.length > 0) return isSum ? numbers.reduce((sum, one) => sum + one, 0) : (numbers.at(-1) ?? null);
  }
  return null;
}
