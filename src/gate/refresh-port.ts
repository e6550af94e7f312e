import type { ScenarioRequest } from "../config/gate-request.ts";
import type { FinishedRun } from "./one-run.ts";

/** What a refresh changes in the gate's story: it measures a session, not one run, and keeps it before it is judged. */
export interface NightlyPort {
  /** Runs that the session of this scenario takes, known once its first run tells the environment; at least 1. */
  runs(scenario: ScenarioRequest, first: FinishedRun): Promise<number>;
  /** The session's runs, all ended well, before anything is made of them. Never throws. */
  measured(scenario: ScenarioRequest, runs: readonly FinishedRun[]): Promise<void>;
}
