import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { allProcesses, descendantsOf } from "../../sampler/ps.ts";
import { rankSocket } from "../environment/rank-socket.ts";
import {
  GUARD_COMPILE_CACHE,
  GUARD_NODE_OPTIONS,
  MARKER_VARIABLE,
  PUT_ASIDE_PRELOAD,
} from "../environment/scrub-environment.ts";
import { ProcessTree, signalMember } from "../launch/process-tree.ts";

/** Members are looked up this often, so that one which later leaves the tree and hides is still known. */
const WATCH_MS = 250;
/** From the gate's death to SIGKILL: the tree is to be gone within 2 s. */
const GRACE_MS = 700;
const KILL_ROUNDS = 40;
const KILL_ROUND_MS = 25;

const SIGNAL_OF = { i: "SIGINT", t: "SIGTERM", k: "SIGKILL" } as const;

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** The launcher without native code. As no subreaper, it finds daemons by the marker and from earlier scans. */
export class Guard {
  readonly #argv: readonly string[];
  readonly #status: Writable;
  readonly #tree: ProcessTree;
  #child: ChildProcess | null = null;
  #quitting = false;

  constructor(argv: readonly string[], status: Writable) {
    this.#argv = argv;
    this.#status = status;
    this.#tree = new ProcessTree(process.pid, `${MARKER_VARIABLE}=${process.env[MARKER_VARIABLE] ?? ""}`);
  }

  /** Obey the orders that come in; resolves when there is nothing left to do. */
  async serve(control: Readable): Promise<void> {
    const watch = setInterval(() => this.#tree.members(), WATCH_MS);
    try {
      for await (const chunk of control) {
        for (const order of (chunk as Buffer).toString("latin1")) {
          if (order === "g") this.#start();
          else if (order === "i" || order === "t" || order === "k") await this.#signal(SIGNAL_OF[order]);
          else if (order === "q") {
            await this.#killAll();
            return;
          }
        }
      }
    } catch {
      // A reset control stream means the same as its end.
    } finally {
      clearInterval(watch);
    }
    if (!this.#quitting) await this.#endAll();
  }

  #report(line: string): void {
    this.#status.write(`${line}\n`);
  }

  #start(): void {
    if (this.#child !== null) return;
    const {
      [GUARD_COMPILE_CACHE]: compileCache,
      [GUARD_NODE_OPTIONS]: nodeOptions,
      [PUT_ASIDE_PRELOAD]: preload,
      ...env
    } = process.env;
    if (compileCache !== undefined) env.NODE_COMPILE_CACHE = compileCache;
    if (nodeOptions !== undefined) env.NODE_OPTIONS = nodeOptions;
    if (preload !== undefined) env.LD_PRELOAD = preload;
    const [file = "", ...args] = this.#argv;
    const socket = rankSocket(env);
    const output = ["ignore", "inherit", "inherit"] as const;
    // The control and status streams of the guard are not the command's; the socket keeps its number.
    const stdio = socket === null ? [...output] : [...output, "ignore" as const, "ignore" as const, socket];
    const child = spawn(file, args, { env, stdio });
    this.#child = child;
    child.once("spawn", () => {
      this.#report(`pid ${child.pid}`);
      this.#report("started");
    });
    child.once("error", (error: NodeJS.ErrnoException) => {
      this.#report(`exec-failed ${Math.abs(error.errno ?? 0)} ${error.code ?? "UNKNOWN"}`);
    });
    child.once("exit", (code, signal) => {
      this.#report(signal === null ? `exit ${code}` : `signal ${constants.signals[signal]} 0`);
    });
  }

  async #signal(signal: NodeJS.Signals): Promise<void> {
    if (process.platform === "linux") {
      for (const member of this.#tree.members()) signalMember(member, signal);
      return;
    }
    for (const { pid } of descendantsOf(await allProcesses(), process.pid, false)) {
      try {
        process.kill(pid, signal);
      } catch {
        // Ended in between.
      }
    }
  }

  /** The gate is gone: ask, then kill. */
  async #endAll(): Promise<void> {
    await this.#signal("SIGTERM");
    for (let waited = 0; waited < GRACE_MS && this.#alive(); waited += KILL_ROUND_MS) await sleep(KILL_ROUND_MS);
    await this.#killAll();
  }

  /** A process that forks while it is killed leaves a child: kill until a scan finds no process. */
  async #killAll(): Promise<void> {
    this.#quitting = true;
    for (let round = 0; round < KILL_ROUNDS; round++) {
      await this.#signal("SIGKILL");
      await sleep(KILL_ROUND_MS);
      if (!this.#alive()) return;
    }
  }

  #alive(): boolean {
    if (process.platform === "linux") return this.#tree.members().length > 0;
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }
}
