import type { Measurements } from "../analysis/measurements.ts";
import type { Envelope } from "./envelope.ts";
import { type BaselineRecord, type BaselineRun, toMeasurements } from "./record.ts";

/** What a report says of the baseline that was used. */
export interface BaselineFacts {
  readonly source: string;
  readonly runs: number;
  readonly sessions: number;
  readonly newest_iso: string | null;
  readonly commit: string | null;
}

/** The answer to "what may this run be compared with?". */
export type BaselineAnswer =
  | {
      readonly kind: "found";
      /** Its fingerprint may still conflict with the candidate's; the verdict then names the field. */
      readonly measurements: Measurements;
      readonly envelopes: readonly Envelope[];
      readonly summary: BaselineFacts;
      readonly warnings: readonly string[];
    }
  | {
      readonly kind: "absent";
      /** No sentence of its own, so that a colon and the next step fit behind it. */
      readonly reason: string;
      /** What to do, as an imperative without a full stop. */
      readonly nextStep: string;
      /** True when no store was there at all, which says less than a store that could not be used. */
      readonly missing: boolean;
      readonly warnings: readonly string[];
    };

export type AbsentBaseline = Extract<BaselineAnswer, { readonly kind: "absent" }>;

/** What to do about a baseline that cannot be compared with. */
export const NextStep = {
  record: "run `stormlog-gate baseline refresh` on the main branch and keep the result",
  again: "run `stormlog-gate baseline refresh` on the main branch again, and see whether the nightly job still runs",
  upgrade: "use a newer stormlog-gate",
  repair: "look with `stormlog-gate baseline verify`, take the record out of the store, then refresh",
  retry: "run the job again, or see its permissions",
} as const;

export function absent(
  reason: string,
  nextStep: string = NextStep.record,
  warnings: readonly string[] = [],
): AbsentBaseline {
  return { kind: "absent", reason, nextStep, missing: false, warnings };
}

function factsOf(source: string, runs: readonly BaselineRun[]): BaselineFacts {
  const newest = runs.at(-1);
  return {
    source,
    runs: runs.length,
    sessions: new Set(runs.map(({ session }) => session)).size,
    newest_iso: newest?.time ?? null,
    commit: newest?.commit ?? null,
  };
}

export function found(
  source: string,
  record: BaselineRecord,
  runs: readonly BaselineRun[],
  warnings: readonly string[],
): BaselineAnswer {
  return {
    kind: "found",
    measurements: toMeasurements(record, runs),
    envelopes: record.envelopes,
    summary: factsOf(source, runs),
    warnings,
  };
}

/** Why none of several places has a baseline, as one answer. The next step is that of the first that was there. */
export function noneOf(answers: readonly AbsentBaseline[]): AbsentBaseline {
  const telling = answers.find(({ missing }) => !missing) ?? answers[0];
  return {
    kind: "absent",
    reason: answers.map(({ reason }) => reason).join("; "),
    nextStep: telling?.nextStep ?? NextStep.record,
    missing: answers.every(({ missing }) => missing),
    warnings: answers.flatMap(({ warnings }) => warnings),
  };
}
