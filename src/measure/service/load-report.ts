/** What a load has sent. */
export interface LoadReport {
  /** Null where its output does not have the number. */
  readonly requests: number | null;
  /** Null where its output does not have their number. */
  readonly failed: number | null;
  readonly failures: readonly string[];
  readonly seconds: number;
}

/** How known generators report their requests, and how many of these failed; the numbers of a pattern add up. */
const KNOWN: readonly {
  /** Recognises it where its requests may be missing. */
  readonly is?: RegExp;
  readonly requests: RegExp;
  readonly failed: RegExp;
  /** It reports failures also where there are none, so that without them their number is unknown. */
  readonly reportsZero?: true;
  /** The same again and again, so that the last match counts. */
  readonly isRunning?: true;
}[] = [
  // k6
  {
    requests: /http_reqs\.*:\s*(\d{1,15})/g,
    failed: /http_req_failed\.*:\s*[\d.]{1,12}%\s*✓?\s*(\d{1,15})/g,
    reportsZero: true,
  },
  // wrk, wrk2
  {
    requests: /\b(\d{1,15}) requests in /g,
    failed:
      /Non-2xx or 3xx responses: (\d{1,15})|Socket errors: connect (\d{1,15}), read (\d{1,15}), write (\d{1,15}), timeout (\d{1,15})/g,
  },
  // hey, oha: one line for each status, and one for each error without an answer
  {
    is: /(?:Status code|Error) distribution:/,
    requests: /^[ \t]{1,16}\[(?:\d{3}\][ \t](\d{1,15}) responses|(\d{1,15})\](?![ \t]\d{1,15} responses))/gm,
    failed: /^[ \t]{1,16}\[(?:[45]\d\d\][ \t](\d{1,15}) responses|(\d{1,15})\](?![ \t]\d{1,15} responses))/gm,
  },
  // ab, which counts answers of another length as failed
  {
    requests: /Complete requests:\s+(\d{1,15})/g,
    failed:
      /Non-2xx responses:\s+(\d{1,15})|\(Connect: (\d{1,15}), Receive: (\d{1,15}), Length: \d{1,15}, Exceptions: (\d{1,15})\)/g,
  },
  // vllm bench serve, sglang's bench_serving
  {
    requests: /(?:Successful|Failed) requests:\s+(\d{1,15})/g,
    failed: /Failed requests:\s+(\d{1,15})/g,
    reportsZero: true,
  },
  // locust
  { requests: /Aggregated\s+(\d{1,15})/g, failed: /Aggregated\s+\d{1,15}\s+(\d{1,15})\(/g, isRunning: true },
];

/** The place of the number in a scenario's own pattern. */
const NUMBER = String.raw`(\d+)`;

/** All else stands for itself: a pattern of a change must not take for ever on an output of its own. */
function plainPattern(text: string): RegExp {
  const [before = "", after = ""] = text.split(NUMBER).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
  return new RegExp(String.raw`${before}(?<!\d)(\d{1,15})${after}`, "g");
}

/** The sum of the numbers of all matches, or of the last one; null without any. */
function sumOf(output: string, pattern: RegExp, isLast = false): number | null {
  const groups = [...output.matchAll(pattern)].slice(isLast ? -1 : 0).flatMap((match) => match.slice(1));
  const sum = groups.reduce((all, group) => all + Number(group ?? 0), 0);
  return groups.length === 0 || sum > Number.MAX_SAFE_INTEGER ? null : sum;
}

/**
 * What a load command reports in its output.
 * @param pattern the user's text, with `(\d+)` in the place of the number; null = the reports of known generators
 */
export function readReport(output: string, pattern: string | null): Pick<LoadReport, "requests" | "failed"> {
  if (pattern !== null) return { requests: sumOf(output, plainPattern(pattern), true), failed: null };
  for (const { is, requests: sent, failed, reportsZero, isRunning } of KNOWN) {
    const requests = is === undefined || is.test(output) ? sumOf(output, sent, isRunning) : null;
    if (requests !== null)
      return { requests, failed: sumOf(output, failed, isRunning) ?? (reportsZero || isRunning ? null : 0) };
  }
  return { requests: null, failed: null };
}
