import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

/** One way to start a process. */
export interface Competitor<Name extends string> {
  readonly name: Name;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** How it must end; 0 when absent. */
  readonly status?: number;
}

/** Milliseconds from spawn to exit, and of processor time with the descendants that were waited for. */
export type Cost = readonly [wall: number, cpu: number];

export interface Rounds {
  readonly rounds: number;
  readonly warmups: number;
  readonly seed: number;
  readonly cwd: string;
}

/**
 * Times of each competitor, one a round. The order within a round is random: in a fixed one, the first process of a
 * round pays for the caches that the others left, which is as much as several percent.
 * @throws Error when one ends otherwise than it must
 */
export async function timedProcesses<Name extends string>(
  competitors: readonly Competitor<Name>[],
  { rounds, warmups, seed, cwd }: Rounds,
): Promise<Readonly<Record<Name, readonly Cost[]>>> {
  const script = fileURLToPath(new URL("timed_processes.py", import.meta.url));
  const job = { rounds, warmups, seed, cwd, competitors: competitors.map((one) => ({ status: 0, ...one })) };
  return await new Promise((resolve, reject) => {
    const child = execFile("python3", ["-I", script], { maxBuffer: 1 << 26 }, (error, stdout, stderr) => {
      if (error === null) resolve(JSON.parse(stdout));
      else reject(new Error(`the timed processes failed: ${stderr.slice(-2000)}`));
    });
    child.stdin?.end(JSON.stringify(job));
  });
}
