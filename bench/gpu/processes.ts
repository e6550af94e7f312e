import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
}

export interface StartOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd?: string;
  readonly timeoutMs: number;
}

const living = new Set<ChildProcess>();

/** Starts a process as the leader of a new process group. */
export function begin(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(command, args, { ...options, detached: true });
  living.add(child);
  child.once("exit", () => living.delete(child));
  return child;
}

/** Leaves no process behind when a call has to end. A gate that dies ends the command that it measures. */
export function endAll(): void {
  for (const child of living) endGroup(child);
}

/** The process and all it started: it leads a process group. */
export function endGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // Already gone.
  }
}

/** Runs a command to its end, or to its time limit. */
export function run(command: string, args: readonly string[], options: StartOptions): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const child = begin(command, args, {
      env: options.env,
      stdio: ["ignore", "pipe", "pipe"],
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    child.stdout?.on("data", (chunk: Buffer) => out.push(chunk));
    child.stderr?.on("data", (chunk: Buffer) => err.push(chunk));
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      // On SIGTERM the gate ends its command and writes its evidence.
      child.kill("SIGINT");
      setTimeout(() => endGroup(child), 5_000).unref();
    }, options.timeoutMs);
    child.on("error", (error) => {
      clearTimeout(timer);
      reject(error);
    });
    child.on("close", (code) => {
      clearTimeout(timer);
      const stderr = Buffer.concat(err).toString();
      if (late)
        reject(
          new Error(
            `${command} ${args.join(" ")} took longer than ${options.timeoutMs / 1e3} s\n${stderr.slice(-1000)}`,
          ),
        );
      else resolve({ code, stdout: Buffer.concat(out).toString(), stderr, seconds: (performance.now() - began) / 1e3 });
    });
  });
}

/** A helper process that runs each request of its standard input and answers with a line of JSON. */
export class Helper {
  readonly child: ChildProcess;
  readonly #answers: AsyncIterator<string>;
  #complaint = "";

  constructor(command: string, args: readonly string[], env: NodeJS.ProcessEnv) {
    const child = begin(command, args, { env, stdio: ["pipe", "pipe", "pipe"] });
    this.child = child;
    child.on("error", (error) => {
      this.#complaint += error.message;
    });
    child.stdin?.on("error", () => {});
    child.stderr?.on("data", (chunk: Buffer) => {
      this.#complaint = `${this.#complaint}${chunk}`.slice(-2000);
    });
    this.#answers = createInterface({ input: child.stdout as Readable })[Symbol.asyncIterator]();
  }

  async ask(line: string): Promise<unknown> {
    this.child.stdin?.write(`${line}\n`);
    return this.answer();
  }

  async answer(): Promise<unknown> {
    const { value, done } = await this.#answers.next();
    if (done) throw new Error(`a helper ended early: ${this.#complaint || this.child.spawnargs.join(" ")}`);
    return JSON.parse(value) as unknown;
  }

  end(): void {
    endGroup(this.child);
  }
}
