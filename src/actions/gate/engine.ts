import type { Environment } from "../../core/environment.ts";
import type { GateReport } from "../../report/documents/model.ts";
import type { ActionInputs } from "./inputs.ts";

/** What the engine may use of the step it runs in. */
export interface EngineIo {
  /** Absolute directory for the bundle; does not exist yet. */
  readonly bundleDir: string;
  readonly env: Environment;
  /** Fires with a GateError as its reason; the engine then ends the measured tree and leaves a bundle within 5 s. */
  readonly interrupt: AbortSignal;
  /** One line of progress, without a newline. */
  log(line: string): void;
  stdout(chunk: Uint8Array): void;
  stderr(chunk: Uint8Array): void;
}

export interface EngineOutcome {
  readonly report: GateReport;
  readonly bundleDir: string;
}

/**
 * The gate itself, from inputs to bundle.
 * @throws GateError when there is nothing to report on (wrong inputs, broken configuration)
 */
export type Engine = (inputs: ActionInputs, io: EngineIo) => Promise<EngineOutcome>;
