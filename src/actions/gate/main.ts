import * as core from "@actions/core";
import { ExitCode } from "../../core/exit-codes.ts";
import { actionsArtifactStore } from "../../github/artifact.ts";
import { readInputs } from "./inputs.ts";
import { watchInterruption } from "./interrupt.ts";
import { runStep } from "./run-step.ts";

const code = await runStep(
  readInputs(process.env),
  {
    runner: core,
    env: process.env,
    engine: async (inputs, io) => (await import("./gate-engine.ts")).gateEngine(inputs, io),
    artifacts: actionsArtifactStore(),
    markdown: async (report, options) =>
      (await import("../../report/summary-markdown.ts")).renderSummary(report, options),
    write: (chunk) => process.stdout.write(chunk),
  },
  // Past hope means that the runner is about to kill us; what is on disk is the post step's then.
  ({ timeoutMs }) => watchInterruption(timeoutMs, () => process.exit(ExitCode.interrupted)).signal,
);
// An upload that missed its deadline may still hold the process; nothing waits for it any more.
process.exit(code);
