import path from "node:path";
import type { AnalysisDocument } from "../../analysis/series/document.ts";
import type { GateRequest, ScenarioRequest } from "../../config/gate-request.ts";
import type { Recording, RecordingInfo } from "../../telemetry/recording/model.ts";
import type { Judgement } from "../../verdict/model/judgement.ts";

/** A run as far as attribution reads it. */
export interface MeasuredOnce {
  /** Absolute run directory. */
  readonly directory: string;
  readonly info: RecordingInfo;
  readonly recording: Recording | null;
  readonly analysis: AnalysisDocument | null;
  readonly ending:
    | { readonly kind: "ok" }
    | { readonly kind: "failed"; readonly message: string }
    | { readonly kind: "interrupted" };
}

/** What attribution adds to a run. */
export interface OncePlan {
  readonly env: Readonly<Record<string, string>>;
  /** Seconds left for it. */
  readonly limitS: number;
}

/** A run that ended itself, or the reason why it was ended. */
export type RanOnce =
  | { readonly kind: "whole"; readonly finished: MeasuredOnce }
  | { readonly kind: "stopped"; readonly reason: string };

/** Run the candidate once more: all that attribution needs of the gate. */
export type RunOnce = (plan: OncePlan) => Promise<RanOnce>;

/** The scenario whose memory is attributed to lines, and the way to run it once more. */
export interface AttributionSubject {
  readonly request: GateRequest;
  readonly scenario: ScenarioRequest;
  /** Top of the scenario's repository, or its directory. */
  readonly root: string;
  /** The newest run of the candidate. */
  readonly judged: MeasuredOnce;
  readonly judgement: Judgement;
  /** Why no run may begin now; null when one may. */
  readonly stopReason: () => string | null;
  readonly run: RunOnce;
  readonly log: (line: string) => void;
  readonly warn: (note: string) => void;
  /** Takes why no line is named; the last one is what a reader needs. */
  readonly noLine: (reason: string) => void;
}

/** All attribution runs of a scenario together take at most the judged run's length and this, seconds. */
export const EXTRA_TIME_S = 60;

/** Pip's installation report, by the variable with which pip is asked for it: absolute; null for none. */
export function pipReportOf({ scenario, request }: AttributionSubject): string | null {
  const report = scenario.env.PIP_REPORT ?? request.env.PIP_REPORT;
  return report === undefined ? null : path.resolve(scenario.cwd, report);
}
