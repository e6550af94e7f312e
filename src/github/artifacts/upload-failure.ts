import { DeadlineError } from "../api/deadline.ts";

/** Text of an upload's failure -> meaning and remedy. The client throws plain errors without a code. */
const MEANINGS: readonly (readonly [RegExp, (found: RegExpExecArray) => string])[] = [
  [
    /unable to get the (ACTIONS_RUNTIME_TOKEN|ACTIONS_RESULTS_URL)/i,
    ([, name]) => `this runner offers no artifact service (${name} is not set).`,
  ],
  [
    /not currently supported on GHES/i,
    () =>
      "GitHub Enterprise Server has another artifact service. Upload the directory in the output bundle-path with " +
      "actions/upload-artifact@v3-node20 in a step of your own.",
  ],
  [
    /invalid token specified|failed to get backend ids/i,
    () => "the runner's token for the artifact service (ACTIONS_RUNTIME_TOKEN) cannot be read.",
  ],
  [
    /storage quota|insufficient usage/i,
    () =>
      "the artifact storage of this account is full (insufficient usage). Delete old artifacts, shorten retention-days, or raise the limit.",
  ],
  [
    /\(409\)|already exists/i,
    () => "every name it tried is taken in this run (409). Give each job its own artifact-name, or the input matrix.",
  ],
  [
    /\(401\)/,
    () => "the artifact service refused the job's token (401). It ends with the job, at the latest after 24 hours.",
  ],
  [/\((429)\)/, () => "the artifact service asks for fewer requests (429), five times. Run the job again later."],
  [/\((5\d\d)\)/, ([, status]) => `the artifact service failed (${status}), five times. Run the job again later.`],
  [
    /is not valid JSON|Unexpected (token|end of JSON)/i,
    () => "the artifact service's answer is not JSON. Is there a proxy in between?",
  ],
  [
    /\b(E[A-Z]{4,}|UND_ERR_\w+)\b/,
    ([, code]) =>
      `the artifact service or its store could not be reached (${code}). Check the runner's network and proxy.`,
  ],
  [
    /<Code>(\w{1,60})<\/Code>/,
    ([, code]) => `the store behind the artifact service refused the upload (${code}). Run the job again.`,
  ],
  [
    /FinalizeArtifact.*?(?:: )?(?:\(\d+\) )?([^:()]*(?:mismatch|digest|hash)[^:]*)/i,
    ([, detail]) => `the artifact service received other bytes than were sent (${detail?.trim()}). Run the job again.`,
  ],
  [/response from backend was not ok/i, () => "the artifact service refused it without a reason. Run the job again."],
  [/non-retryable error: Failed request: (\(\d+\) .*)$/, ([, detail]) => `the artifact service refused it: ${detail}.`],
];

/** Add meaning and remedy to a failure, for {@link degradedWarning}. @returns the given error when it is unknown */
export function explainUpload(error: unknown): unknown {
  if (error instanceof DeadlineError || !(error instanceof Error)) return error;
  const text = error.message.replace(/\s+/g, " ");
  for (const [pattern, meaning] of MEANINGS) {
    const found = pattern.exec(text);
    if (found !== null) return new Error(meaning(found));
  }
  return error;
}
