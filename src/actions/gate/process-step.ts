import { ExitCode } from "../../core/exit-codes.ts";
import { actionsArtifactStore } from "../../github/artifacts/artifact.ts";
import { actionsRunner } from "./actions-runner.ts";
import type { Engine } from "./engine.ts";
import { readInputs } from "./inputs.ts";
import { watchInterruption } from "./interrupt.ts";
import { runStep } from "./run-step.ts";

/** Be the step: this process's inputs, signals and streams around an engine. Never returns. */
export async function runProcessStep(engine: Engine): Promise<never> {
  // The runner may close our output before us; that is no reason to end with a stack trace.
  process.stdout.on("error", () => {});
  const code = await runStep(
    readInputs(process.env),
    {
      runner: actionsRunner,
      env: process.env,
      engine,
      artifacts: actionsArtifactStore(),
      markdown: async (report, options) =>
        (await import("../../report/markdown/summary-markdown.ts")).renderSummary(report, options),
      write: (chunk) => process.stdout.write(chunk),
    },
    // Past hope means that the runner is about to kill us; what is on disk is the post step's then.
    ({ timeoutMs }) => watchInterruption(timeoutMs, () => process.exit(ExitCode.interrupted)).signal,
  );
  // An upload that missed its deadline may still hold the process; nothing waits for it any more.
  process.exit(code);
}
