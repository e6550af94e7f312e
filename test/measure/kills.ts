import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { buildInto } from "../../scripts/build.mjs";
import { packageRoot } from "../../src/core/package-root.ts";
import { childrenOf, readText } from "../../src/sampler/proc.ts";
import { prng } from "../../src/stats/testing/prng.ts";
import { readRecordFile } from "../../src/telemetry/reading/record-file.ts";
import type { ExitState, RecordingInfo } from "../../src/telemetry/recording/model.ts";
import { temporary } from "../testing/temporary.ts";
import { userDirectory, WAYS, type WayToWall } from "../testing/walls.ts";
import { livingWith, uniqueWord } from "./kit.ts";

/** The soak kills more often, and several at a time. */
const IS_SOAK = process.env.STORMLOG_TEST_KILLS !== undefined;
export const KILLS = Number(process.env.STORMLOG_TEST_KILLS ?? "2");
export const KILLS_LIMIT = { timeout: KILLS * 30_000 + 60_000 };
/** Most of a kill is waiting. */
const AT_ONCE = IS_SOAK ? 8 : 2;
/** A look at all processes of the machine takes milliseconds. */
const POLL_MS = 100;
/** Processes of root end by themselves when the gate lets go of them, and it cannot wait for all. */
const ROOTS_GONE_MS = 2000;

/** Numbers from 0 to 1, the same again with the same seed. */
export function draws(count: number): readonly number[] {
  const { uniform } = prng(Number(process.env.STORMLOG_TEST_SEED ?? "1"));
  return Array.from({ length: count }, uniform);
}

export interface Way {
  readonly got: "off" | WayToWall["got"];
  readonly under: WayToWall["under"];
}
/** Without a wall, and behind each that this machine has. */
export const ALL_WAYS: readonly Way[] = [{ got: "off", under: () => [] }, ...WAYS];

const STAY = `perl -e '$SIG{$_} = "IGNORE" for qw(INT TERM HUP); sleep' "$0"`;
/** Processes that ignore signals: children and orphans in sessions of their own, some with an empty environment. */
const STUBBORN_TREE = `setsid ${STAY} & (setsid ${STAY} &) ; env -i setsid ${STAY} & (env -i setsid ${STAY} &) ; exec ${STAY}`;

let driver: Promise<string> | undefined;

/** The reduced gate, built once: a build starts in a quarter of the time of the sources. */
async function builtDriver(): Promise<string> {
  const root = temporary("driver");
  await buildInto(path.join(root, "dist"), { driver: "test/measure/fixtures/gate-driver.ts" });
  copyFileSync(path.join(packageRoot(), "package.json"), path.join(root, "package.json"));
  symlinkSync(path.join(packageRoot(), "dist", "prebuilds"), path.join(root, "dist", "prebuilds"));
  chmodSync(root, 0o755);
  return path.join(root, "dist", "driver.js");
}

export interface Gate {
  readonly process: ChildProcess;
  readonly exited: Promise<unknown>;
  /** What it wrote to its error output; a gate that is measuring writes nothing. */
  readonly errors: () => string;
  /** On the command line of every process, in a run followed by its number and a dot. */
  readonly word: string;
  readonly directory: string;
  readonly remove: () => void;
}

const stubborn = (word: string): readonly string[] => ["sh", "-c", STUBBORN_TREE, word];

/** A gate that measures processes which stay until they are killed. @param command `{run}` in it is the run's number */
export async function startGate({ got, under }: Way, runs: number, command = stubborn): Promise<Gate> {
  driver ??= builtDriver();
  const file = await driver;
  const directory = userDirectory("runs");
  const word = `${uniqueWord()}r`;
  const words = [process.execPath, file, path.join(directory, "runs"), String(runs), got, ...command(`${word}{run}.`)];
  const [program = "", ...args] = [...under(directory), ...words];
  const child = spawn(program, args, {
    cwd: directory,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, HOME: directory },
  });
  const exited = new Promise((resolve) => child.once("exit", resolve));
  let errors = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const remove = () => rmSync(directory, { recursive: true, force: true });
  return { process: child, exited, errors: () => errors, word, directory: path.join(directory, "runs"), remove };
}

/** What runs between a gate and its command, or the command itself. */
export type Victim = "launcher" | "init" | "command";

/** Time of a kill after the launcher was there: before the command starts, or while it runs. */
const MAX_DELAY_MS = 250;

/** The process of a run to kill; null while there is none. @param draw picks one of several */
function victimOf(
  { process: { pid = 0 }, word }: Gate,
  run: number,
  victim: Victim,
  got: Way["got"],
  draw: number,
): number | null {
  const first = (parent: number | undefined): number | undefined => childrenOf(parent ?? 0)?.[0];
  const outermost = childrenOf(pid)?.find((child) => readText(`/proc/${child}/cmdline`)?.includes(`${word}${run}.`));
  if (outermost === undefined) return null;
  const outside = [outermost];
  while (readText(`/proc/${outside[0]}/comm`)?.trim() === "sudo") outside.unshift(first(outside[0]) ?? 0);
  const init = got === "off" ? outside[0] : first(outside[0]);
  const found = { launcher: outside[Math.floor(draw * outside.length)], init, command: first(init) }[victim];
  return found || null;
}

/** What the driver printed about a run. */
type Line = { readonly exit: ExitState; readonly lost: readonly string[] } | { readonly error: string };

async function checked(victim: Victim, line: Line, directory: string): Promise<string[]> {
  // Before the command's process was there. No recording was begun.
  if ("error" in line) return victim !== "command" && line.error === "LAUNCH_FAILED" ? [] : [`error ${line.error}`];
  const wrong: string[] = [];
  const ended = line.exit.kind === "signaled" ? line.exit.signal : line.exit.kind;
  if (ended !== (victim === "command" ? "SIGKILL" : "running")) wrong.push(`the command ended by ${ended}`);
  if ((victim !== "command") !== line.lost.join().includes("the launcher ended before the command"))
    wrong.push(`notes: ${line.lost.join(", ")}`);
  const records = await recordsOf(directory);
  if (records === null || records.skippedRecords > 0 || records.stop === null)
    wrong.push("the record file is not whole");
  if (infoOf(directory)?.complete !== true) wrong.push("the recording is not complete");
  return wrong;
}

/** Kill a process of each of a gate's runs at a random time. @returns what was wrong */
export async function killInRuns(way: Way, victim: Victim, numbers: readonly number[]): Promise<string[]> {
  const gate = await startGate(way, numbers.length);
  const wrong: string[] = [];
  try {
    const lines = createInterface({ input: gate.process.stdout! })[Symbol.asyncIterator]();
    for (const [at, number] of numbers.entries()) {
      const run = at + 1;
      const word = `${gate.word}${run}.`;
      let hasEnded = false;
      const ended = lines.next().then((next) => {
        hasEnded = true;
        return next;
      });
      const find = async (whom: Victim): Promise<number | null> => {
        for (; !hasEnded; await sleep(5)) {
          const pid = victimOf(gate, run, whom, way.got, (number * 1000) % 1);
          if (pid !== null) return pid;
        }
        return null;
      };
      await find("launcher");
      await sleep(number * MAX_DELAY_MS);
      const pid = await find(victim);
      if (pid === null) wrong.push(`run ${run}: no ${victim} was found`);
      else process.kill(pid, "SIGKILL");
      const line = await ended;
      if (line.done) return [...wrong, `run ${run}: the gate ended: ${gate.errors()}`];
      const left = await leftAfter(way.got === "sudo" ? ROOTS_GONE_MS : 0, word);
      const found = await checked(victim, JSON.parse(line.value), path.join(gate.directory, String(run)));
      wrong.push(...(left.length > 0 ? [`run ${run}: ${left.length} processes left`] : []));
      wrong.push(...found.map((text) => `run ${run}: ${text}`));
    }
    await gate.exited;
    return wrong;
  } finally {
    gate.process.kill("SIGKILL");
    gate.remove();
  }
}

/** Do `count` tries, several at a time. @returns what was wrong in each that failed */
export async function tries(count: number, once: (index: number) => Promise<readonly string[]>): Promise<string[]> {
  const wrong: string[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const found = await once(index).catch((error: unknown) => [String(error)]);
      wrong.push(...found.map((text) => `${index}: ${text}`));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return wrong;
}

/** Wait until no process has the word. @returns those that have it after `ms` */
export async function leftAfter(ms: number, word: string): Promise<readonly number[]> {
  for (const until = performance.now() + ms; ; await sleep(POLL_MS)) {
    const left = livingWith(word);
    if (left.length === 0 || performance.now() >= until) return left;
  }
}

export function infoOf(directory: string): RecordingInfo | null {
  const text = readText(path.join(directory, "recording.json"));
  return text === null ? null : (JSON.parse(text) as RecordingInfo);
}

/** The record file of a run; null where the run had none yet. */
export async function recordsOf(directory: string): Promise<Awaited<ReturnType<typeof readRecordFile>> | null> {
  const file = path.join(directory, "samples.rec");
  return existsSync(file) ? readRecordFile(file) : null;
}
