import os from "node:os";
import path from "node:path";
import type { GateRequest } from "../../config/gate-request.ts";
import type { Command } from "../../core/process/command.ts";
import type { Environment } from "../../core/process/environment.ts";
import { rankIdentity } from "../../measure/environment/identity.ts";
import { inSlurmStep, restarts, setting } from "../../measure/environment/launcher-environment.ts";

/** Which part of its job this process records. */
export type ShardOrigin =
  /** The only recording, as far as is known. */
  | { readonly kind: "alone" }
  /** One rank. */
  | { readonly kind: "rank"; readonly directory: string }
  /** One of several nodes, with several ranks under one gate; `number` is null where the launcher has none. */
  | { readonly kind: "node"; readonly directory: string; readonly number: number | null };

/** Programs that start the ranks of one node (or of all) themselves. */
const LAUNCHERS: ReadonlySet<string> = new Set([
  "torchrun",
  "accelerate",
  "deepspeed",
  "horovodrun",
  "mpirun",
  "mpiexec",
  "mpiexec.hydra",
  "orterun",
  "prterun",
  "srun",
]);
const LAUNCHER_MODULE =
  /^(?:torch\.distributed\.(?:run|launch)|accelerate\.commands\.launch|deepspeed(?:\.launcher\.\w+)?)$/;

/** Arguments of a command; a shell script is split at blanks, which is enough to find a launcher and its options. */
function argumentsOf(command: Command): readonly string[] {
  return command.kind === "argv" ? command.argv : command.script.split(/[\s;&|()]+/).filter((arg) => arg !== "");
}

function launchesRanks(args: readonly string[], shell: boolean): boolean {
  const looked = shell ? args : args.slice(0, 3);
  return looked.some(
    (arg, at) => LAUNCHERS.has(path.basename(arg)) || (args[at - 1] === "-m" && LAUNCHER_MODULE.test(arg)),
  );
}

/** Value of the first of these options, written `--name value` or `--name=value`, `_` and `-` alike. */
function optionOf(args: readonly string[], names: readonly string[]): string | null {
  for (const [at, arg] of args.entries()) {
    const [name = "", ...value] = arg.split("=");
    if (!names.includes(name.replaceAll("_", "-"))) continue;
    return value.length > 0 ? value.join("=") : (args[at + 1] ?? null);
  }
  return null;
}

const whole = (text: string | null): number | null => (text !== null && /^\d{1,6}$/.test(text) ? Number(text) : null);

/** "2" and "1:4" (elastic: at least, at most). */
function nodesOf(text: string | null): number {
  const max = text?.split(":").at(-1) ?? null;
  return whole(max) ?? 1;
}

interface Node {
  readonly several: boolean;
  readonly number: number | null;
}

/** The node, under a launcher that is started once per node. */
function nodeOf(args: readonly string[], env: Environment): Node {
  const asked = optionOf(args, ["--nnodes", "--num-machines", "--num-nodes"]) ?? setting(env, "PET_NNODES");
  const nodes = nodesOf(asked);
  const agent = whole(optionOf(args, ["--node-rank", "--machine-rank"])) ?? whole(setting(env, "PET_NODE_RANK"));
  const pod = whole(setting(env, "JOB_COMPLETION_INDEX"));
  const step =
    inSlurmStep(env) && (whole(setting(env, "SLURM_STEP_NUM_TASKS")) ?? whole(setting(env, "SLURM_NTASKS")) ?? 1) > 1;
  const number = agent ?? pod ?? (step ? whole(setting(env, "SLURM_PROCID")) : null);
  // A node number implies several nodes, unless the launcher is given one node.
  return { several: nodes > 1 || pod !== null || (agent !== null && whole(asked) !== 1) || step, number };
}

/** The host's name, for the name of a directory. */
function hostPart(host: string): string {
  const name =
    host
      .split(".")[0]
      ?.replace(/[^A-Za-z0-9_-]/g, "-")
      .slice(0, 63) ?? "";
  return name === "" ? "unknown" : name;
}

/** The id of a torchrun job is only in its command until a worker runs. */
export function withCommandsJob(env: Environment, command: Command): Environment {
  const id = optionOf(argumentsOf(command), ["--rdzv-id"]);
  // In a script the shell may compute the name.
  if (id === null || /[$`]/.test(id) || setting(env, "PET_RDZV_ID") !== null) return env;
  return { ...env, PET_RDZV_ID: id };
}

/** Which part of its job this process records, by the launcher's variables and the command. @throws RANK_INVALID */
export function shardOrigin(command: Command, env: Environment, host: string): ShardOrigin {
  const args = argumentsOf(command);
  const again = restarts(env);
  const within = (name: string) => (again === 0 ? name : `restart-${again}/${name}`);
  if (launchesRanks(args, command.kind === "shell")) {
    const { several, number } = nodeOf(args, env);
    return several ? { kind: "node", directory: within(`node-${hostPart(host)}`), number } : { kind: "alone" };
  }
  const { rank, world_size } = rankIdentity(env);
  const pod = setting(env, "JOB_COMPLETION_INDEX") !== null;
  if (world_size <= 1 && !pod) return { kind: "alone" };
  return { kind: "rank", directory: within(`rank-${String(rank).padStart(4, "0")}`) };
}

/** The request with a bundle of its own, where several processes of a job are judged at once and merged afterwards. */
export function ownBundle(request: GateRequest): GateRequest {
  const [scenario] = request.scenarios;
  if (scenario === undefined) return request;
  const origin = shardOrigin(scenario.command, { ...request.env, ...scenario.env }, os.hostname());
  if (origin.kind === "alone") return request;
  const directory = origin.kind === "rank" ? origin.directory : `${origin.directory}-${origin.number ?? 0}`;
  const env = withCommandsJob(request.env, scenario.command);
  return { ...request, env, bundle: path.join(request.bundle, directory) };
}
