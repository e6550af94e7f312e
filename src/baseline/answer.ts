import type { Measurements } from "../analysis/measurements.ts";
import { skippedMetrics } from "../analysis/parse-measurements.ts";
import { plural } from "../core/text.ts";
import { ofKnownMetric } from "../telemetry/recording/model.ts";
import type { Band } from "./band.ts";
import { type BaselineRecord, type BaselineRun, earlierRuns, MIN_EPOCH_RUNS, toMeasurements } from "./record.ts";

/** Description of the used baseline in a report. */
interface BaselineFacts {
  readonly source: string;
  readonly runs: number;
  readonly sessions: number;
  readonly newest_iso: string | null;
  readonly commit: string | null;
  /** Runs of the level before, whose spread is used while the accepted level has too few runs. */
  readonly earlier_runs?: number;
}

/** Result of looking for a baseline. */
export type BaselineAnswer =
  | {
      readonly kind: "found";
      /** Its fingerprint may still conflict with the candidate's. The verdict then names the field. */
      readonly measurements: Measurements;
      readonly envelopes: readonly Band[];
      readonly summary: BaselineFacts;
      /** What its peak consists of, as written, and when its level was opened; absent where that was not measured. */
      readonly peak?: { readonly text: string; readonly opened: string };
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

/** The answer of a record; `ancestors` are the commits whose runs count, null = all. */
export function found(
  source: string,
  record: BaselineRecord,
  runs: readonly BaselineRun[],
  ancestors: ReadonlySet<string> | null,
  given: readonly string[],
): BaselineAnswer {
  const measurements = toMeasurements(record, runs);
  const warnings = [...given, ...skippedMetrics(`the baseline in ${source}`, measurements)];
  const earlier = earlierRuns(record, runs, ancestors);
  const envelopes = ofKnownMetric(record.envelopes);
  const facts = factsOf(source, runs);
  if (earlier.length === 0) return { kind: "found", measurements, envelopes, summary: facts, warnings };
  const note = `the accepted level in ${source} has ${plural(runs.length, "run")}: until it has ${MIN_EPOCH_RUNS}, it is judged with the spread of the ${earlier.length} runs before it`;
  return {
    kind: "found",
    measurements: { ...measurements, runs: [...earlier, ...measurements.runs] },
    envelopes,
    summary: { ...facts, earlier_runs: earlier.length },
    warnings: [...warnings, note],
  };
}

/**
 * Combines the reasons why no store has a baseline, those of stores that exist first. Where no store exists, there is
 * none yet: a report's first line has what is before the colon. The next step is that of the first store that exists.
 */
export function noneOf(answers: readonly AbsentBaseline[]): AbsentBaseline {
  const existing = [...answers].sort((a, b) => Number(a.missing) - Number(b.missing));
  const reasons = existing.map(({ reason }) => reason).join("; ");
  const missing = answers.every((answer) => answer.missing);
  return {
    kind: "absent",
    reason: missing ? `no baseline yet: ${reasons}` : reasons,
    nextStep: existing[0]?.nextStep ?? NextStep.record,
    missing,
    warnings: answers.flatMap(({ warnings }) => warnings),
  };
}
