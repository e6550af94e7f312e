import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import { currentCommit } from "../measure/commit.ts";
import { sessionId } from "../measure/session.ts";
import { type FinishedRun, oneRun } from "./one-run.ts";
import type { GatePorts } from "./ports.ts";

/** Measure a scenario once into `directory`; nothing is judged. */
export async function recordOnce(
  request: GateRequest,
  scenario: ScenarioRequest,
  directory: string,
  ports: GatePorts,
): Promise<FinishedRun> {
  return oneRun(
    request,
    scenario,
    {
      role: "candidate",
      number: 1,
      directory,
      command: scenario.command,
      cwd: scenario.cwd,
      session: sessionId(request.env),
      commit: await currentCommit(scenario.cwd, request.env),
    },
    ports,
  );
}
