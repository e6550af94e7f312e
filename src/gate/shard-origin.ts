import { existsSync, mkdirSync, readdirSync, rmdirSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import type { GateRequest } from "../config/gate-request.ts";
import type { Command } from "../core/command.ts";
import type { Environment } from "../core/environment.ts";
import { GateError } from "../core/errors.ts";
import { rankIdentity } from "../measure/environment/identity.ts";
import { inSlurmStep, restarts, setting } from "../measure/launch/launcher-environment.ts";
import { makeDirectories } from "../measure/session/make-directories.ts";
import { unwritable } from "../measure/session/run-directory.ts";
import { isNamedSession } from "../measure/session/session.ts";
import { RECORDING_FILE, readRecordingInfo } from "../telemetry/recording/run-info.ts";

/** Where the recording of this process belongs among those of the same job. */
export type ShardOrigin =
  /** Nothing says that there are others. */
  | { readonly kind: "alone" }
  /** One rank. */
  | { readonly kind: "rank"; readonly directory: string }
  /** One of several nodes, with several ranks under one gate; `number` is null where the launcher does not tell it. */
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

/** Words of a command; those of a shell script by blanks alone, which is enough to find a launcher and its options. */
function wordsOf(command: Command): readonly string[] {
  return command.kind === "argv" ? command.argv : command.script.split(/[\s;&|()]+/).filter((word) => word !== "");
}

function launchesRanks(words: readonly string[], shell: boolean): boolean {
  const looked = shell ? words : words.slice(0, 3);
  return looked.some(
    (word, at) => LAUNCHERS.has(path.basename(word)) || (words[at - 1] === "-m" && LAUNCHER_MODULE.test(word)),
  );
}

/** Value of the first of these options, written `--name value` or `--name=value`, `_` and `-` alike. */
function optionOf(words: readonly string[], names: readonly string[]): string | null {
  for (const [at, word] of words.entries()) {
    const [name = "", ...value] = word.split("=");
    if (!names.includes(name.replaceAll("_", "-"))) continue;
    return value.length > 0 ? value.join("=") : (words[at + 1] ?? null);
  }
  return null;
}

const whole = (text: string | null): number | null => (text !== null && /^\d{1,6}$/.test(text) ? Number(text) : null);

/** "2" and "1:4" (elastic: at least, at most). */
function nodesOf(text: string | null): number {
  const most = text?.split(":").at(-1) ?? null;
  return whole(most) ?? 1;
}

interface Node {
  readonly several: boolean;
  readonly number: number | null;
}

/** What is known of the node under a launcher that is itself started once a node. */
function nodeOf(words: readonly string[], env: Environment): Node {
  const asked = optionOf(words, ["--nnodes", "--num-machines", "--num-nodes"]) ?? setting(env, "PET_NNODES");
  const nodes = nodesOf(asked);
  const agent = whole(optionOf(words, ["--node-rank", "--machine-rank"])) ?? whole(setting(env, "PET_NODE_RANK"));
  const pod = whole(setting(env, "JOB_COMPLETION_INDEX"));
  const step =
    inSlurmStep(env) && (whole(setting(env, "SLURM_STEP_NUM_TASKS")) ?? whole(setting(env, "SLURM_NTASKS")) ?? 1) > 1;
  const number = agent ?? pod ?? (step ? whole(setting(env, "SLURM_PROCID")) : null);
  // A number alone speaks of others, unless there is said to be one node.
  return { several: nodes > 1 || pod !== null || (agent !== null && whole(asked) !== 1) || step, number };
}

/** A host's own name as part of a directory's. */
function hostPart(host: string): string {
  const name =
    host
      .split(".")[0]
      ?.replace(/[^A-Za-z0-9_-]/g, "-")
      .slice(0, 63) ?? "";
  return name === "" ? "unknown" : name;
}

/** Named torchrun jobs tell their name in the command alone, as long as no worker runs. */
export function withCommandsJob(env: Environment, command: Command): Environment {
  const id = optionOf(wordsOf(command), ["--rdzv-id"]);
  // In a script the name may be the shell's to make.
  if (id === null || /[$`]/.test(id) || setting(env, "PET_RDZV_ID") !== null) return env;
  return { ...env, PET_RDZV_ID: id };
}

/**
 * Whether this process is one of several that record the same job, by the launcher's variables and the command itself.
 * @param host name of this machine
 * @throws GateError RANK_INVALID
 */
export function shardOrigin(command: Command, env: Environment, host: string): ShardOrigin {
  const words = wordsOf(command);
  const again = restarts(env);
  const within = (name: string) => (again === 0 ? name : `restart-${again}/${name}`);
  if (launchesRanks(words, command.kind === "shell")) {
    const { several, number } = nodeOf(words, env);
    return several ? { kind: "node", directory: within(`node-${hostPart(host)}`), number } : { kind: "alone" };
  }
  const { rank, world_size } = rankIdentity(env);
  const pod = setting(env, "JOB_COMPLETION_INDEX") !== null;
  if (world_size <= 1 && !pod) return { kind: "alone" };
  return { kind: "rank", directory: within(`rank-${String(rank).padStart(4, "0")}`) };
}

/** A shard's directory, made for this process alone. */
export interface ClaimedDirectory {
  readonly directory: string;
  /** Take the directory away again, where nothing was put into it. */
  readonly release: () => void;
}

/** More agents than anybody starts on one machine. */
const MAX_AGENTS = 1024;

/** What a shard that lies there says of itself, for a message. */
function sessionThere(directory: string): string | null {
  try {
    return readRecordingInfo(directory).session;
  } catch {
    return null;
  }
}

function taken(directory: string, session: string): GateError {
  const other = sessionThere(directory);
  const whose =
    other === null ? "" : other === session ? " of this very job" : `, of the job ${other}; this is the job ${session}`;
  return new GateError("RUN_DIRECTORY_IN_USE", `there is a shard in this directory already${whose}`, {
    kind: "error",
    where: directory,
    hint: "Give every job an output directory of its own (--output results/$SLURM_JOB_ID), or remove the old shards.",
  });
}

/** Made by this process: false when it was there. Its parents may come into being by several processes at once. */
function make(directory: string): boolean {
  try {
    makeDirectories(path.dirname(directory));
    mkdirSync(directory);
    return true;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST" && existsSync(directory)) return false;
    throw unwritable(directory, error);
  }
}

function claimed(directory: string): ClaimedDirectory {
  const release = () => {
    try {
      rmdirSync(directory);
    } catch {
      // It holds something, which is the rule.
    }
  };
  return { directory, release };
}

/** A shard of another named job on the same host: numbers alone would let two jobs pass for one. */
function strangerIn(parent: string, prefix: string, session: string): string | null {
  if (!isNamedSession(session)) return null;
  const names = existsSync(parent) ? readdirSync(parent).filter((name) => name.startsWith(`${prefix}-`)) : [];
  return (
    names
      .map((name) => path.join(parent, name))
      .find((directory) => {
        const other = existsSync(path.join(directory, RECORDING_FILE)) ? sessionThere(directory) : null;
        return other !== null && other !== session;
      }) ?? null
  );
}

/**
 * The directory of this process's recording below `output`, made atomically: no two processes ever get the same one. A recording
 * that stands alone gets `output` itself, which is not made here.
 * @throws GateError RUN_DIRECTORY_IN_USE, RUN_DIRECTORY_UNWRITABLE
 */
export function claimShardDirectory(output: string, place: ShardOrigin, session: string): ClaimedDirectory {
  if (place.kind === "alone") return { directory: output, release: () => {} };
  const base = path.join(output, place.directory);
  if (place.kind === "rank" || place.number !== null) {
    const directory = place.kind === "rank" ? base : `${base}-${place.number}`;
    if (!make(directory)) throw taken(directory, session);
    return claimed(directory);
  }
  const stranger = strangerIn(path.dirname(base), path.basename(base), session);
  if (stranger !== null) throw taken(stranger, session);
  for (let number = 0; number < MAX_AGENTS; number += 1) {
    const directory = `${base}-${number}`;
    if (make(directory)) return claimed(directory);
  }
  throw taken(base, session);
}

/**
 * The request with a bundle of its own below the one that was asked for, where several processes of a job judge themselves at
 * once; they are merged afterwards.
 */
export function ownBundle(request: GateRequest): GateRequest {
  const [scenario] = request.scenarios;
  if (scenario === undefined) return request;
  const place = shardOrigin(scenario.command, { ...request.env, ...scenario.env }, os.hostname());
  if (place.kind === "alone") return request;
  const directory = place.kind === "rank" ? place.directory : `${place.directory}-${place.number ?? 0}`;
  const env = withCommandsJob(request.env, scenario.command);
  return { ...request, env, bundle: path.join(request.bundle, directory) };
}
