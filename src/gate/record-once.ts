import os from "node:os";
import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import { currentCommit } from "../measure/environment/commit.ts";
import { sessionId } from "../measure/session/session.ts";
import { type FinishedRun, oneRun } from "./one-run.ts";
import type { GatePorts } from "./ports.ts";
import { claimShardDirectory, shardOrigin, withCommandsJob } from "./shard-origin.ts";

/**
 * Measure a scenario once, without a verdict, into `output`, or below it for one of several ranks or nodes.
 * @throws GateError RUN_DIRECTORY_IN_USE, RUN_DIRECTORY_UNWRITABLE, SESSION_INVALID, RANK_INVALID, those of `oneRun`
 */
export async function recordOnce(
  request: GateRequest,
  scenario: ScenarioRequest,
  output: string,
  ports: GatePorts,
): Promise<FinishedRun> {
  const env = { ...request.env, ...scenario.env };
  const session = sessionId(withCommandsJob(env, scenario.command));
  const claimed = claimShardDirectory(output, shardOrigin(scenario.command, env, os.hostname()), session);
  try {
    return await oneRun(
      request,
      scenario,
      {
        role: "candidate",
        number: 1,
        directory: claimed.directory,
        command: scenario.command,
        cwd: scenario.cwd,
        session,
        commit: await currentCommit(scenario.cwd, request.env),
      },
      ports,
    );
  } catch (error) {
    claimed.release();
    throw error;
  }
}
