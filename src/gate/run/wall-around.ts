import path from "node:path";
import type { GateRequest } from "../../config/gate-request.ts";
import { holding } from "../../git/git.ts";
import { rankIdentity } from "../../measure/environment/identity.ts";
import { type RaisedWall, raiseWall } from "../../measure/launch/wall.ts";

type Walled = Pick<GateRequest, "isolation" | "stream" | "root" | "source" | "baselines" | "scenarios" | "env">;

/** What is read before measuring, and what a measured command has no reason to write: absolute paths. */
export function readBefore({ root, source, baselines }: Walled): {
  readonly files: readonly string[];
  readonly directories: readonly string[];
} {
  const named = baselines.filter((spec) => !/^(file|ref|bundle|artifact):/.test(spec));
  const stores = baselines.filter((spec) => spec.startsWith("file:")).map((spec) => spec.slice("file:".length));
  return {
    files: [...(source === undefined ? [] : [source.file]), ...named.map((file) => path.resolve(root, file))],
    directories: stores.map((store) => path.resolve(root, store)),
  };
}

/**
 * The wall for the runs of a request: what was read before, the repositories and `written` are read-only behind it.
 * @param written where the gate itself writes  @throws GateError ISOLATION_UNAVAILABLE
 */
export async function wallAround(request: Walled, written: readonly string[]): Promise<RaisedWall> {
  const { isolation, env, root, scenarios, stream } = request;
  if (isolation === "off") return raiseWall(isolation, [], env);
  const { files, directories } = readBefore(request);
  const repositories = await Promise.all([root, ...scenarios.map(({ cwd }) => cwd)].map(gitDirectories));
  // A pod of an indexed job whose size is not known.
  const isRank = rankIdentity(env).world_size > 1 || env.JOB_COMPLETION_INDEX !== undefined;
  const kept = stream === null ? written : [...written, stream];
  return raiseWall(isolation, [...kept, ...files, ...directories, ...repositories.flat()], env, isRank);
}

async function gitDirectories(cwd: string): Promise<readonly string[]> {
  const held = await holding(cwd);
  if (typeof held === "string") return [];
  const { gitDirectory, common, top } = held.repository;
  return [gitDirectory, common, path.join(top, ".git")];
}
