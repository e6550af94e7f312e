import { cpus } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "./evidence.ts";
import { type Ended, run } from "./processes.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const OWN = fileURLToPath(new URL(".", import.meta.url));

/** What every measurement needs from its machine. */
export interface Machine {
  readonly python: string;
  /** The bundled command line. */
  readonly cli: string;
  /** Without the gate's own variables; with the fake library's where it is used. */
  readonly env: NodeJS.ProcessEnv;
  /** Small mode: a fake NVML and no GPU. */
  readonly fake: boolean;
  /** In which PyTorch is a stand-in with CUDA; the same as `env` on hardware. */
  readonly cudaEnv: NodeJS.ProcessEnv;
  /** Of the command lines of training jobs: cuda, or cpu with fakes. */
  readonly device: "cuda" | "cpu";
  /** Temporary; deleted at the end. */
  readonly work: string;
  /** Output directory of the documents. */
  readonly out: string;
}

export function program(name: string): string {
  return path.join(OWN, name);
}

/** Runs one of this directory's Python programs, which prints one line of JSON last. */
export async function python(
  machine: Machine,
  name: string,
  args: readonly string[],
  { timeoutS, env = machine.env }: { readonly timeoutS: number; readonly env?: NodeJS.ProcessEnv },
): Promise<JsonObject> {
  const ended = await run(machine.python, [program(name), ...args], { env, timeoutMs: timeoutS * 1e3 });
  if (ended.code !== 0) throw new Error(`${name} ended with ${ended.code}: ${ended.stderr.slice(-1500)}`);
  return JSON.parse(ended.stdout.trim().split("\n").at(-1) ?? "") as JsonObject;
}

/** Runs the gate's command line. */
export function gate(
  machine: Machine,
  args: readonly string[],
  { timeoutS, env = machine.env }: { readonly timeoutS: number; readonly env?: NodeJS.ProcessEnv },
): Promise<Ended> {
  return run(process.execPath, [machine.cli, ...args], { env, cwd: machine.work, timeoutMs: timeoutS * 1e3 });
}

/** The machine's facts in the documents. Throws when the gate's command line does not run. */
export async function environment(machine: Machine): Promise<JsonObject> {
  const facts = await python(machine, "environment.py", [], { timeoutS: 120 });
  const version = await gate(machine, ["--version"], { timeoutS: 30 });
  if (version.code !== 0) throw new Error(`${machine.cli} does not run: ${version.stderr.slice(-500)}`);
  return {
    ...facts,
    gate: version.stdout.trim(),
    node: process.versions.node,
    cpu: cpus()[0]?.model.trim() ?? null,
    cores: cpus().length,
  };
}
