/** What a load has sent. */
export interface LoadReport {
  /** Null where its output does not have the number. */
  readonly requests: number | null;
  /** Null where its output does not have their number. */
  readonly failed: number | null;
  readonly failures: readonly string[];
}

/** Numbers of a report: those of its last match, or of all of them. */
interface Numbers {
  readonly pattern: RegExp;
  readonly isSum?: true;
}

/** How known generators report their requests, and how many of these failed. */
const KNOWN: readonly {
  /** Recognises it where its requests may be missing. */
  readonly is?: RegExp;
  readonly requests: Numbers;
  /** Added up; a percentage is of the requests. */
  readonly failed: readonly (Numbers & { readonly isPercent?: true })[];
  /** It reports failures also where there are none, so that without them their number is unknown. */
  readonly reportsZero?: true;
}[] = [
  // k6
  {
    requests: { pattern: /http_reqs\.*:\s*(\d{1,15})/g },
    failed: [{ pattern: /http_req_failed\.*:\s*(\d{1,3}(?:\.\d{1,9})?)%/g, isPercent: true }],
    reportsZero: true,
  },
  // wrk, wrk2
  {
    requests: { pattern: /\b(\d{1,15}) requests in /g },
    failed: [
      { pattern: /Non-2xx or 3xx responses: (\d{1,15})/g },
      { pattern: /Socket errors: connect (\d{1,15}), read (\d{1,15}), write (\d{1,15}), timeout (\d{1,15})/g },
    ],
  },
  // hey, oha: one line for each status, and one for each error without an answer
  {
    is: /(?:Status code|Error) distribution:/,
    requests: {
      pattern:
        /^[ \t]{1,16}\[(?:\d{3}\][ \t]{1,16}(\d{1,15}) responses|(\d{1,15})\](?![ \t]{1,16}\d{1,15} responses))/gm,
      isSum: true,
    },
    failed: [
      {
        pattern:
          /^[ \t]{1,16}\[(?:[45]\d\d\][ \t]{1,16}(\d{1,15}) responses|(\d{1,15})\](?![ \t]{1,16}\d{1,15} responses))/gm,
        isSum: true,
      },
    ],
  },
  // ab, which counts answers of another length as failed
  {
    requests: { pattern: /Complete requests:\s+(\d{1,15})/g },
    failed: [
      { pattern: /Non-2xx responses:\s+(\d{1,15})/g },
      { pattern: /\(Connect: (\d{1,15}), Receive: (\d{1,15}), Length: \d{1,15}, Exceptions: (\d{1,15})\)/g },
    ],
  },
  // vllm bench serve, sglang's bench_serving
  {
    requests: { pattern: /(?:Successful|Failed) requests:\s+(\d{1,15})/g, isSum: true },
    failed: [{ pattern: /Failed requests:\s+(\d{1,15})/g }],
    reportsZero: true,
  },
  // locust
  {
    requests: { pattern: /Aggregated\s+(\d{1,15})/g },
    failed: [{ pattern: /Aggregated\s+\d{1,15}\s+(\d{1,15})\(/g }],
    reportsZero: true,
  },
];

/** The place of the number in a scenario's own pattern. */
const NUMBER = String.raw`(\d+)`;

/** All else stands for itself: a pattern of a change must not take for ever on an output of its own. */
function plainPattern(text: string): RegExp {
  const [before = "", after = ""] = text.split(NUMBER).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(String.raw`${before}(?<!\d)(\d{1,15})${after}`, "g");
}

/** The sum of the numbers; null without any. */
function sumOf(output: string, { pattern, isSum }: Numbers): number | null {
  const matches = [...output.matchAll(pattern)];
  const groups = (isSum ? matches : matches.slice(-1)).flatMap((match) => match.slice(1));
  const numbers = groups.filter((group) => group !== undefined).map(Number);
  const sum = numbers.reduce((all, one) => all + one, 0);
  return numbers.length === 0 || sum > Number.MAX_SAFE_INTEGER ? null : sum;
}

/**
 * What a load command reports in its output.
 * @param pattern the user's text, with `(\d+)` in the place of the number; null = the reports of known generators
 */
export function readReport(output: string, pattern: string | null): Omit<LoadReport, "failures"> {
  if (pattern !== null) return { requests: sumOf(output, { pattern: plainPattern(pattern) }), failed: null };
  for (const { is, requests: sent, failed, reportsZero } of KNOWN) {
    if (is !== undefined && !is.test(output)) continue;
    const requests = sumOf(output, sent);
    if (requests === null) continue;
    const found = failed.flatMap((numbers) => {
      const sum = sumOf(output, numbers);
      return sum === null ? [] : [numbers.isPercent ? Math.round((sum / 100) * requests) : sum];
    });
    const isKnown = found.length > 0 || reportsZero === undefined;
    return { requests, failed: isKnown ? found.reduce((all, one) => all + one, 0) : null };
  }
  return { requests: null, failed: null };
}
