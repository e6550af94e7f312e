/**
 * Real programs outside and inside the wall, in turn: exit, output and peak must be the same. Usage: npm run
 * bench:programs [-- --json] [--publish] [--rounds N] [--only PART-OF-NAME] [--python DIRECTORY], whose `bin` comes
 * first on the PATH. Runs as an ordinary user; a program that is missing on this machine is skipped by name. Numbers in
 * the output are not compared, nor the order of lines, which several processes write. Exits 1 when a program differs.
 */

import { spawnSync } from "node:child_process";
import { chownSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { median } from "simple-statistics";
import { packageRoot } from "../../src/core/package-root.ts";
import type { RecordingInfo } from "../../src/telemetry/recording/model.ts";
import { AS_USER, isRoot, USER, userDirectory, WAYS } from "../../test/testing/walls.ts";
import { type Result, shownLine } from "../shared/figures.ts";
import { conclude, PUBLISH_OPTIONS } from "../shared/publish.ts";
import { PROGRAMS, type Program } from "./programs.ts";

const LIMIT_PERCENT = 1;
/** Helpers that live for milliseconds are seen by some runs and not by others. */
const MIN_DIFFERENCE_BYTES = 2 ** 20;
const TIMEOUT_MS = 180_000;

const { values } = parseArgs({
  options: {
    ...PUBLISH_OPTIONS,
    rounds: { type: "string", default: "3" },
    only: { type: "string", default: "" },
    python: { type: "string" },
  },
});
const cli = path.join(packageRoot(), "dist", "cli.js");
const searchPath = [
  ...(values.python === undefined ? [] : [path.join(values.python, "bin")]),
  path.dirname(process.execPath),
  "/usr/local/go/bin:/usr/lib/postgresql/15/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
].join(":");

function asUser(directory: string, ...argv: readonly string[]) {
  const [file = "", ...args] = [...AS_USER, ...argv];
  const env = { PATH: searchPath, HOME: directory, LANG: "C.UTF-8", TMPDIR: directory };
  return spawnSync(file, args, { cwd: directory, env, encoding: "utf8", timeout: TIMEOUT_MS });
}

interface Ran {
  readonly exit: string;
  readonly output: string;
  readonly peak: number;
  readonly hint: boolean;
}

function run(directory: string, { script }: Program, isolation: "off" | "require"): Ran {
  const output = path.join(directory, "recording");
  rmSync(output, { recursive: true, force: true });
  const options = ["record", "--isolation", isolation, "--probe", "off", "--output", output];
  const { stderr } = asUser(directory, process.execPath, cli, ...options, "--", "sh", "-c", script);
  const info = JSON.parse(readFileSync(path.join(output, "recording.json"), "utf8")) as RecordingInfo;
  const lines = readFileSync(path.join(output, "output.log"), "utf8")
    .replace(/\d+(\.\d+)?/g, "N")
    .split("\n")
    .sort();
  const exit = info.exit.kind === "exited" ? String(info.exit.code) : Object.values(info.exit).join(" ");
  const peak = info.peaks.find(({ metric }) => metric === "host")?.bytes ?? 0;
  return { exit, output: lines.join("\n"), peak, hint: stderr.includes("isolation: off") };
}

function missing(directory: string, { needs = [], modules = [] }: Program): string | null {
  const program = needs.find((name) => asUser(directory, "sh", "-c", `command -v ${name}`).status !== 0);
  if (program !== undefined) return `no ${program}`;
  const module = modules.find((name) => asUser(directory, "python3", "-c", `import ${name}`).status !== 0);
  return module === undefined ? null : `no ${module}`;
}

function compare(program: Program): Result {
  const { name, files = {}, before } = program;
  const directory = userDirectory();
  try {
    const reason = missing(directory, program);
    if (reason !== null) return { name, skipped: reason };
    for (const [file, text] of Object.entries(files)) {
      writeFileSync(path.join(directory, file), text);
      if (isRoot) chownSync(path.join(directory, file), USER, USER);
    }
    const made = before === undefined ? null : asUser(directory, "sh", "-c", before);
    if (made !== null && made.status !== 0) return { name, skipped: `${before}: ${made.stderr.trim().slice(0, 100)}` };
    const outside: Ran[] = [];
    const inside: Ran[] = [];
    for (let round = 0; round < Number(values.rounds); round++) {
      outside.push(run(directory, program, "off"));
      inside.push(run(directory, program, "require"));
    }
    return verdict(program, outside, inside);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const MIB = 2 ** 20;
const once = (list: readonly string[]): string => [...new Set(list)].join(" or ");

function verdict({ name, needsNoWall = false }: Program, outside: readonly Ran[], inside: readonly Ran[]): Result {
  const of = <Key extends keyof Ran>(runs: readonly Ran[], key: Key): Ran[Key][] => runs.map((one) => one[key]);
  const exits = [once(of(outside, "exit")), once(of(inside, "exit"))] as const;
  const exit = exits[0] === exits[1] ? exits[0] : `${exits[0]}; inside ${exits[1]}`;
  if (needsNoWall) {
    const value = inside.filter(({ hint }) => !hint).length;
    return { name, value, interval: null, limit: 0, unit: "without a hint", more: { exit, output: "", peak: "" } };
  }
  const texts = new Set(of(outside, "output"));
  const unlike = inside.find(({ output }) => !texts.has(output));
  if (unlike !== undefined && !values.json)
    console.error(`${name}: outside\n${outside[0]?.output}\ninside\n${unlike.output}`);
  const [without, walled] = [of(outside, "peak"), of(inside, "peak")];
  const [from, to] = [median(without), median(walled)];
  // A program whose own runs differ by more is compared with them.
  const own = to >= Math.min(...without) && to <= Math.max(...without);
  const difference = own || Math.abs(to - from) < MIN_DIFFERENCE_BYTES ? 0 : (100 * Math.abs(to - from)) / from;
  const same = exits[0] === exits[1] && unlike === undefined;
  const peak = `${(from / MIB).toFixed(1)} MiB; inside ${(to / MIB).toFixed(1)}`;
  const more = { exit, output: unlike === undefined ? "same" : "differs", peak };
  return { name, value: same ? difference : 100, interval: null, limit: LIMIT_PERCENT, unit: "%", more };
}

const results: Result[] = [];
if (!WAYS.some(({ got }) => got === "user")) results.push({ name: "all", skipped: "this machine has no wall" });
else
  for (const program of PROGRAMS) {
    if (!program.name.includes(values.only)) continue;
    const result = compare(program);
    results.push(result);
    if (!values.json) console.error(shownLine(result));
  }
const title = `Programs outside and inside the wall, ${values.rounds} rounds: difference of the peaks`;
process.exitCode = conclude({ bench: "programs", title, results }, values);
