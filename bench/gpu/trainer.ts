import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { begin, endGroup } from "./processes.ts";

/** Time limit for starting PyTorch and the GPU on a cold disk. */
const START_MS = 90_000;
/** Time limit for the gate to finish a recording. */
const FINISH_MS = 15_000;

/** The parent of a process, by the second field after its name. */
const parentOf = (pid: number): number =>
  Number(/\) \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, "latin1"))?.[1] ?? 0);

/** One training process and its observer, both stopped while another one runs. */
export class Trainer {
  readonly #watcher: ChildProcess;
  readonly #socket: Socket;
  readonly #answers: AsyncIterator<string>;
  #pid = 0;

  private constructor(watcher: ChildProcess, socket: Socket) {
    this.#watcher = watcher;
    this.#socket = socket;
    socket.on("error", () => {});
    this.#answers = createInterface({ input: socket })[Symbol.asyncIterator]();
  }

  /** @param file of the socket over which the program talks */
  static async start(command: string, args: readonly string[], env: NodeJS.ProcessEnv, file: string): Promise<Trainer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(file, resolve));
    const watcher = begin(command, args, { env, stdio: ["ignore", "ignore", "pipe"] });
    let complaint = "";
    watcher.stderr?.on("data", (chunk: Buffer) => {
      complaint = `${complaint}${chunk}`.slice(-1500);
    });
    const socket = await new Promise<Socket>((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`the training loop did not start: ${complaint}`)), START_MS);
      server.once("connection", (socket: Socket) => {
        clearTimeout(late);
        resolve(socket);
      });
      watcher.once("error", reject);
      watcher.once("exit", (code) => {
        clearTimeout(late);
        reject(new Error(`the training loop ended with ${code} before it began: ${complaint}`));
      });
    })
      .catch((error: unknown) => {
        endGroup(watcher);
        throw error;
      })
      .finally(() => server.close());
    const trainer = new Trainer(watcher, socket);
    const { pid } = await trainer.#answer();
    trainer.#pid = Number(pid);
    return trainer;
  }

  async #answer(): Promise<Readonly<Record<string, number>>> {
    const { value, done } = await this.#answers.next();
    if (done) throw new Error("the training loop ended early");
    return JSON.parse(value) as Readonly<Record<string, number>>;
  }

  /**
   * A stopped gate samples nothing, in no thread; the training loop below it is a separate process. Its launcher, which
   * continues a stopped gate and ends one that it finds stopped twice, is stopped before it and continued after it.
   */
  #signal(signal: "SIGSTOP" | "SIGCONT"): void {
    const { pid: watcher = 0 } = this.#watcher;
    const launcher = this.#pid === watcher ? 0 : parentOf(this.#pid);
    const order = [this.#pid, launcher === watcher ? 0 : launcher, watcher];
    for (const pid of new Set(signal === "SIGSTOP" ? order : order.reverse())) if (pid > 0) process.kill(pid, signal);
  }

  pause(): void {
    this.#signal("SIGSTOP");
  }

  resume(): void {
    this.#signal("SIGCONT");
  }

  /** Wall seconds of `count` steps. */
  async steps(count: number): Promise<number> {
    this.#socket.write(`${count}\n`);
    return (await this.#answer()).wall!;
  }

  /** Lets it end by itself, so that a recording is finished. */
  async end(): Promise<void> {
    try {
      this.resume();
      this.#socket.end();
      const over = new Promise((resolve) => this.#watcher.once("exit", resolve));
      if (this.#watcher.exitCode === null) await Promise.race([over, delay(FINISH_MS, undefined, { ref: false })]);
    } catch {
      // Exited.
    }
    endGroup(this.#watcher);
    try {
      process.kill(this.#pid, "SIGKILL");
    } catch {
      // Exited, as expected.
    }
  }
}
