import path from "node:path";
import { fileURLToPath } from "node:url";
import { builtSteps } from "./build-steps.ts";
import { runStepFile, type StepOptions, type StepResult } from "./mini-runner.ts";
import type { StageTwo } from "./stage-two.ts";
import { actionNode } from "./tools.ts";

const BUILT = await builtSteps();
const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

/** The built report as the runner starts it. */
export function runReport(
  stage: StageTwo,
  inputs: Readonly<Record<string, string>> = {},
  more: Partial<StepOptions> = {},
): Promise<StepResult> {
  const env = more.env ?? stage.env();
  return runStepFile({
    node: actionNode(),
    script: path.join(BUILT, "action/report.js"),
    cwd: ROOT,
    env,
    inputs: { token: "report", ...inputs },
    ...more,
  });
}
