// Writers of one record of a file store, one of which is killed or stopped at a random moment in every round.
import { type ChildProcess, fork } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { build } from "esbuild";
import { openFileStore } from "../../src/baseline/file-store.ts";
import { selectRuns } from "../../src/baseline/record.ts";

/** A file system without flushes to disk, on which more rounds fit into a minute. */
const MEMORY = "/dev/shm";

const PROCESSES = 4;
/** Started ahead of their round. */
const SPARE = 3;
/** Writers in each process, and updates of each: less than the runs that a record keeps. */
const WRITERS = 2;
const UPDATES = 2;
const MAX_DELAY_MS = 25;
/** How long a stopped writer stays stopped, and when others may take its claim for left behind. */
const STOPPED_MS = 250;
const STALE_MS = 100;
const STOPPED_SHARE = 0.05;

export interface StoreRounds {
  readonly rounds: number;
  readonly acknowledged: number;
  /** Rounds that were killed while a claim of the victim stood. */
  readonly claimsLeft: number;
  readonly lost: readonly string[];
  readonly errors: readonly string[];
}

/** Mulberry32: the same seed makes the same draws. */
export function draws(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

class Writer {
  readonly #child: ChildProcess;
  readonly #ready: Promise<void>;
  readonly #ended: Promise<void>;
  #finish: () => void = () => {};
  acknowledged: string[] = [];
  error: string | null = null;

  constructor(program: string) {
    this.#child = fork(program, [], { stdio: ["ignore", "pipe", "inherit", "ipc"] });
    this.#ready = new Promise((resolve) => this.#child.once("message", () => resolve()));
    const { stdout } = this.#child;
    if (stdout === null) throw new Error("no stdout");
    const lines = createInterface(stdout);
    lines.on("line", (line) => {
      if (line.startsWith("error ")) this.error = line;
      if (line === "done" || line.startsWith("error ")) this.#finish();
      else this.acknowledged.push(line);
    });
    this.#ended = new Promise((resolve) => lines.once("close", resolve));
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** @returns when it has done its order or its end was read */
  async work(order: object): Promise<void> {
    await this.#ready;
    this.acknowledged = [];
    const finished = new Promise<void>((resolve) => {
      this.#finish = resolve;
    });
    this.#child.send(order);
    await Promise.race([finished, this.#ended]);
  }

  ready(): Promise<void> {
    return this.#ready;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export async function storeRounds(rounds: number, seed: number): Promise<StoreRounds> {
  const root = mkdtempSync(path.join(existsSync(MEMORY) ? MEMORY : tmpdir(), "gate-stores-"));
  const program = path.join(root, "writer.mjs");
  const entry = path.join(import.meta.dirname, "store-writer.ts");
  await build({ entryPoints: [entry], bundle: true, platform: "node", format: "esm", outfile: program });
  const random = draws(seed);
  const directory = path.join(root, "baselines");
  const store = openFileStore("file:soak", directory, STALE_MS);
  const writers = Array.from({ length: PROCESSES + SPARE }, () => new Writer(program));
  const lost: string[] = [];
  const errors: string[] = [];
  let [acknowledged, claimsLeft] = [0, 0];
  try {
    for (let round = 0; round < rounds; round += 1) {
      const active = writers.slice(0, PROCESSES);
      await Promise.all(active.map((writer) => writer.ready()));
      const scenario = `round-${round}`;
      const stops = random() < STOPPED_SHARE;
      const orders = active.map((writer, one) => {
        const sessions = Array.from({ length: WRITERS }, (_, two) =>
          Array.from({ length: UPDATES }, (_, three) => `${one}.${two}.${three}`),
        );
        return writer.work({ directory, scenario, sessions, staleMs: STALE_MS });
      });
      const victim = writers[0]!;
      await pause(random() * MAX_DELAY_MS);
      victim.signal(stops ? "SIGSTOP" : "SIGKILL");
      const record = path.join(directory, scenario);
      if (existsSync(record) && readdirSync(record).some((name) => name.includes(`-${victim.pid}-`))) claimsLeft += 1;
      if (stops) {
        await pause(STOPPED_MS);
        victim.signal("SIGCONT");
      }
      await Promise.all(orders);
      const { records } = await store.list();
      const kept = new Set(records.flatMap(({ record }) => selectRuns(record, null).map(({ session }) => session)));
      for (const writer of active) {
        acknowledged += writer.acknowledged.length;
        if (writer.error !== null) errors.push(`round ${round}: ${writer.error}`);
        writer.error = null;
        lost.push(...writer.acknowledged.filter((one) => !kept.has(one)).map((one) => `round ${round}: ${one}`));
      }
      rmSync(record, { recursive: true, force: true });
      if (!stops) writers.push(new Writer(program));
      writers.push(writers.shift()!);
      if (!stops) writers.pop();
    }
  } finally {
    for (const writer of writers) writer.signal("SIGKILL");
    rmSync(root, { recursive: true, force: true });
  }
  return { rounds, acknowledged, claimsLeft, lost, errors };
}
