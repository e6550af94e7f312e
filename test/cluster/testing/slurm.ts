import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "../../../src/core/package-root.ts";
import { type Ended, type Environment, missingProgram, run, type Started, start } from "./program.ts";

const SCRIPT = path.join(packageRoot(), "scripts", "ci", "slurm.sh");

/** Why no Slurm can be started here; null when it can. */
export function whyNoSlurm(): string | null {
  const missing = missingProgram(["slurmctld", "slurmd", "munged", "srun", "sbatch"]);
  return missing === null ? null : `${missing} is not installed (scripts/ci/cluster.sh installs it)`;
}

export interface BatchEnd {
  readonly code: number;
  /** Slurm's states of the job's finished tasks. */
  readonly states: readonly string[];
}

/** How a job can have ended. Slurm shows short states in between as well, of which `SIGNALING` is one. */
const ENDED: ReadonlySet<string> = new Set(
  "BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED REVOKED TIMEOUT".split(" "),
);
const ASK_MS = 500;

/** Two nodes of ten CPUs under one controller, until `down`, or until this process exits. */
export class Slurm {
  readonly #directory: string;
  readonly #cwd: string;
  readonly env: Environment;

  constructor(directory: string, cwd: string, env: Environment) {
    this.#directory = directory;
    this.#cwd = cwd;
    this.env = { ...env, SLURM_CONF: path.join(directory, "slurm.conf") };
  }

  /** @throws Error with the daemons' output */
  up(): void {
    const argv = [SCRIPT, "up", this.#directory, String(process.pid)];
    const { status, stderr } = spawnSync("bash", argv, { encoding: "utf8", timeout: 60_000 });
    if (status !== 0) throw new Error(`no Slurm: ${stderr}`);
  }

  down(): void {
    spawnSync("bash", [SCRIPT, "down", this.#directory], { stdio: "ignore", timeout: 30_000 });
  }

  /** The same cluster, used from another directory. */
  in(cwd: string): Slurm {
    return new Slurm(this.#directory, cwd, this.env);
  }

  /** `srun` of two nodes with two ranks each, unless `options` override it. */
  srun(options: readonly string[], command: readonly string[], env: Environment = {}): Promise<Ended> {
    return this.startStep(options, command, env).ended;
  }

  startStep(options: readonly string[], command: readonly string[], env: Environment = {}): Started {
    const argv = ["srun", "--nodes=2", "--ntasks-per-node=2", ...options, ...command];
    return start(argv, { cwd: this.#cwd, env: { ...this.env, ...env } });
  }

  /**
   * A batch script, waited for; its output is in the file that `options` name. The worst exit status counts, of the
   * tasks of an array. `sbatch --wait` would work, but polls at growing intervals, up to ten seconds.
   */
  async sbatch(options: readonly string[], script: readonly string[], env: Environment = {}): Promise<BatchEnd> {
    const { code, stdout, stderr } = await this.command(["sbatch", "--parsable", ...options, ...script], env);
    if (code !== 0) throw new Error(`sbatch: ${stderr}`);
    for (;;) {
      const shown = await this.command(["scontrol", "--oneliner", "show", "job", stdout.trim()]);
      const states = [...shown.stdout.matchAll(/ JobState=(\S+)/g)].map(([, state = ""]) => state);
      if (states.length === 0) throw new Error(`scontrol: ${shown.stderr}${shown.stdout}`);
      if (states.every((state) => ENDED.has(state))) {
        const codes = [...shown.stdout.matchAll(/ ExitCode=(\d+):(\d+)/g)].map(
          ([, own, by]) => Number(own) || Number(by),
        );
        return { code: Math.max(...codes), states };
      }
      await new Promise((resolve) => setTimeout(resolve, ASK_MS));
    }
  }

  command(argv: readonly string[], env: Environment = {}): Promise<Ended> {
    return run(argv, { cwd: this.#cwd, env: { ...this.env, ...env } });
  }

  /** Ids of the jobs of this name that run or wait. */
  jobs(name: string): readonly string[] {
    const { stdout } = spawnSync("squeue", ["--noheader", `--name=${name}`, "--format=%A"], {
      env: { ...this.env },
      encoding: "utf8",
    });
    return stdout.split("\n").filter((line) => line !== "");
  }
}

function environmentOf(pid: string): readonly string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "latin1").split("\0");
  } catch {
    return [];
  }
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

/**
 * A node that loses its power, with this job on it: all of its processes, Slurm's own included, disappear at once.
 * @throws Error when one of them is not found
 */
export function killNode(env: Environment, node: string, job: string): void {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const ours = pids.filter((pid) => environmentOf(pid).includes(`SLURM_CONF=${env.SLURM_CONF}`));
  const tasks = ours.filter((pid) => {
    const own = environmentOf(pid);
    return own.includes(`SLURMD_NODENAME=${node}`) && own.includes(`SLURM_JOB_ID=${job}`);
  });
  const steps = new Set(tasks.map(parentOf).filter((pid) => commandLine(pid).startsWith("slurmstepd")));
  const daemon = pids.filter((pid) => commandLine(pid).startsWith(`slurmd -N ${node} -f ${env.SLURM_CONF}`));
  if (tasks.length === 0 || steps.size === 0 || daemon.length !== 1) {
    throw new Error(`${node} has ${tasks.length} tasks, ${steps.size} steps and ${daemon.length} daemons`);
  }
  for (const pid of [...daemon, ...steps, ...tasks]) {
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // Ended in between.
    }
  }
}

const parentOf = (pid: string): string => {
  try {
    return /^PPid:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? "";
  } catch {
    return "";
  }
};
