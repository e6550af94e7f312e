import type { GateRequest } from "../../config/gate-request.ts";
import { type FinishedRun, writeFilesOf } from "./one-run.ts";

/** Runs whose files are still to be written. Nothing that judges a run reads them, so the verdict does not wait. */
export class RunFiles {
  readonly #request: GateRequest;
  #pending: FinishedRun[] = [];

  constructor(request: GateRequest) {
    this.#request = request;
  }

  /** Takes a run. After a lack of memory its files are written at once: its report says what they could not hold. */
  async take(run: FinishedRun): Promise<FinishedRun> {
    if (run.info.oom !== undefined) return writeFilesOf(run, this.#request);
    this.#pending.push(run);
    return run;
  }

  /** Writes what is pending. Call it after the verdict, and before a command starts, which nothing may run beside. */
  async write(): Promise<readonly string[]> {
    const pending = this.#pending;
    this.#pending = [];
    const notes: string[] = [];
    for (const run of pending) {
      const { warnings } = await writeFilesOf(run, this.#request);
      notes.push(...warnings.slice(run.warnings.length));
    }
    return notes;
  }
}
