import type { ScenarioRequest } from "../../config/gate-request.ts";
import type { FinishedRun } from "../run/one-run.ts";

/** What a caller of the gate changes in how each scenario is measured and judged. */
export interface ScenarioHooks {
  /** Candidate runs before the first judgement, at least 1; called after the first run, which has the environment. */
  readonly candidateRuns: (scenario: ScenarioRequest, first: FinishedRun) => number | Promise<number>;
  /** Called with these runs, all ended well, before the baseline is read. Must not throw. */
  readonly measured: (scenario: ScenarioRequest, runs: readonly FinishedRun[]) => void | Promise<void>;
  /** Whether an anchor breach may ask for runs; otherwise the anchor is checked last, on the baseline's runs. */
  readonly anchorAsksForRuns: boolean;
  /** Whether the caller writes to the baselines while a scenario is measured, which is then nothing to report. */
  readonly writesBaselines: boolean;
}

/** The gate on its own: as many runs as the scenario asks for, and every limit checked together. */
export const NO_HOOKS: ScenarioHooks = {
  candidateRuns: ({ repeats }) => (repeats === "auto" ? 1 : repeats),
  measured: () => {},
  anchorAsksForRuns: true,
  writesBaselines: false,
};
