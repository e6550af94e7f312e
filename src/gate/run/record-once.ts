import os from "node:os";
import type { GateRequest, ScenarioRequest } from "../../config/gate-request.ts";
import { messageOf } from "../../core/errors.ts";
import { withoutLinks } from "../../core/files.ts";
import { freezeRefs } from "../../git/git.ts";
import { viewRepository } from "../../git/repository-view.ts";
import type { RaisedWall } from "../../measure/launch/wall.ts";
import { sessionId } from "../../measure/session/session.ts";
import type { GatePorts } from "../ports/ports.ts";
import { type FinishedRun, oneRun, writeFilesOf } from "./one-run.ts";
import { claimShardDirectory } from "./shard-directory.ts";
import { shardOrigin, withCommandsJob } from "./shard-origin.ts";
import { wallAround } from "./wall-around.ts";

/** The run with the features of its samples stored beside them; `merge` computes what is missing. */
async function withFeatures(finished: FinishedRun): Promise<FinishedRun> {
  if (finished.writeError !== null || finished.recording === null) return finished;
  const { writeFeatures } = await import("../../report/bundle/features-document.ts");
  try {
    await writeFeatures(finished.directory);
    return finished;
  } catch (error) {
    return { ...finished, warnings: [...finished.warnings, `features were not stored (${messageOf(error)})`] };
  }
}

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
  const claimed = claimShardDirectory(withoutLinks(output), shardOrigin(scenario.command, env, os.hostname()), session);
  const release = await freezeRefs([request.root], ports.interrupt);
  let wall: RaisedWall | undefined;
  try {
    wall = await wallAround({ ...request, scenarios: [scenario] }, [claimed.directory]);
    const { commit } = await viewRepository(scenario.cwd, request.env);
    const finished = await oneRun(
      request,
      scenario,
      {
        role: "candidate",
        number: 1,
        directory: claimed.directory,
        command: scenario.command,
        cwd: scenario.cwd,
        session,
        commit,
        wall,
      },
      ports,
    );
    return await withFeatures(await writeFilesOf(finished, request));
  } catch (error) {
    claimed.release();
    throw error;
  } finally {
    wall?.lower();
    release();
  }
}
