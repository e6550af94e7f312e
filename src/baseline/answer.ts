import type { Measurements } from "../analysis/measurements.ts";
import type { Envelope } from "./envelope.ts";
import { type BaselineRecord, type BaselineRun, toMeasurements } from "./record.ts";

/** Description of the used baseline in a report. */
export interface BaselineFacts {
  readonly source: string;
  readonly runs: number;
  readonly sessions: number;
  readonly newest_iso: string | null;
  readonly commit: string | null;
}

/** Result of looking for a baseline. */
export type BaselineAnswer =
  | {
      readonly kind: "found";
      /** Its fingerprint may still conflict with the candidate's. The verdict then names the field. */
      readonly measurements: Measurements;
      readonly envelopes: readonly Envelope[];
      readonly summary: BaselineFacts;
      readonly warnings: readonly string[];
    }
  | {
      readonly kind: "absent";
      /** Without a full stop, because a colon and the next step follow. */
      readonly reason: string;
      /** Next step, as an imperative without a full stop. */
      readonly nextStep: string;
      /** True when the store does not exist, which is a weaker reason than an unusable store. */
      readonly missing: boolean;
      readonly warnings: readonly string[];
    };

export type AbsentBaseline = Extract<BaselineAnswer, { readonly kind: "absent" }>;

/** Next steps for a baseline that cannot be used. */
export const NextStep = {
  record: "run `stormlog-gate baseline refresh` on the main branch and keep the result",
  again: "run `stormlog-gate baseline refresh` on the main branch again, and check whether the nightly job still runs",
  upgrade: "use a newer stormlog-gate",
  repair: "inspect it with `stormlog-gate baseline verify`, remove the record from the store, then refresh",
  retry: "run the job again, or check its permissions",
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

/** Combines the reasons why no store has a baseline. The next step is that of the first store that exists. */
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
