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
  { pattern: /http_reqs\.*:\s*(\d{1,15})/g },
  // wrk, wrk2
  { pattern: /\b(\d{1,15}) requests in /g },
  // hey, oha: one line for each status
  { pattern: /\[\d{3}\]\s+(\d{1,15}) responses/g, isSum: true },
  // ab
  { pattern: /Complete requests:\s+(\d{1,15})/g },
  // vllm bench serve, sglang's bench_serving
  { pattern: /Successful requests:\s+(\d{1,15})/g },
  // locust
  { pattern: /Aggregated\s+(\d{1,15})/g },
];

/** The place of the number in a scenario's own pattern. */
const NUMBER = String.raw`(\d+)`;

/** All else stands for itself: a pattern of a change must not take for ever on an output of its own. */
function plainPattern(text: string): RegExp {
  const [before = "", after = ""] = text.split(NUMBER).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(String.raw`${before}(?<!\d)(\d{1,15})${after}`, "g");
}

const numbersOf = (output: string, pattern: RegExp): readonly number[] =>
  [...output.matchAll(pattern)].map((match) => Number(match[1])).filter(Number.isSafeInteger);

/**
 * The requests that a load command reports in its output.
 * @param pattern the user's text, with `(\d+)` in the place of the number; null = those of known generators
 */
export function reportedRequests(output: string, pattern: string | null): number | null {
  const known = pattern === null ? KNOWN : [{ pattern: plainPattern(pattern) }];
  for (const { pattern: own, isSum } of known) {
    const numbers = numbersOf(output, own);
    if (numbers.length > 0) return isSum ? numbers.reduce((sum, one) => sum + one, 0) : (numbers.at(-1) ?? null);
  }
  return null;
}
