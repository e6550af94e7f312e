/**
 * What reading a memory snapshot costs against CPython's pickle.load and the npm package pickleparser. Every figure
 * comes from a fresh process; the least disturbed of several rounds counts, in processor time, as the machine may have
 * other work. Usage: npx tsx bench/snapshot/index.ts [--json] [--rounds N] [--entries 100000,1000000] [--pickleparser
 * DIR]. Exits 1 when a limit is missed. DIR is the unpacked package (npm pack pickleparser@0.2.1); without it
 * that comparison is skipped and reported as skipped.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { OneResult } from "./one.ts";

/** Times as fast as pickleparser, at a million entries. */
const LIMIT_PICKLEPARSER = 3;
/** Times as fast as CPython, at a million entries. */
const LIMIT_CPYTHON = 1;
/** Resident set, the runtime included, over the file, at a million entries. */
const LIMIT_MEMORY = 3;
const LIMITS_FROM = 1_000_000;

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    rounds: { type: "string", default: "3" },
    entries: { type: "string", default: "100000,1000000" },
    pickleparser: { type: "string" },
  },
});
const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

function run(command: string, args: readonly string[]): string {
  const child = spawnSync(command, args, { encoding: "utf8" });
  if (child.status !== 0) throw new Error(`${command} ${args.join(" ")} failed: ${child.stderr || child.error}`);
  return child.stdout;
}

/** Fastest by processor time, with the largest memory of all rounds. */
function best(once: () => OneResult): OneResult {
  const rounds = Array.from({ length: Number(options.rounds) }, once);
  const fastest = rounds.reduce((a, b) => (b.cpuMs < a.cpuMs ? b : a));
  return {
    ...fastest,
    wallMs: Math.min(...rounds.map(({ wallMs }) => wallMs)),
    peakBytes: Math.max(...rounds.map(({ peakBytes }) => peakBytes)),
    risenBytes: Math.max(...rounds.map(({ risenBytes }) => risenBytes)),
  };
}

interface Size {
  readonly entries: number;
  readonly fileBytes: number;
  readonly ours: OneResult;
  readonly cpython: OneResult;
  readonly pickleparser: OneResult | null;
}

function measure(entries: number, directory: string): Size {
  const file = path.join(directory, `${entries}.pickle`);
  run("python3", [here("./make-traces.py"), String(entries), file]);
  const node = (reader: string, ...rest: readonly string[]): OneResult =>
    JSON.parse(run(process.execPath, [...process.execArgv, here("./one.ts"), reader, file, ...rest]));
  const given = options.pickleparser;
  return {
    entries,
    fileBytes: statSync(file).size,
    ours: best(() => node("ours")),
    cpython: best(() => JSON.parse(run("python3", [here("./cpython.py"), file]))),
    pickleparser: given === undefined ? null : best(() => node("pickleparser", path.resolve(given))),
  };
}

const directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-bench-"));
let sizes: readonly Size[];
try {
  sizes = options.entries.split(",").map((entries) => measure(Number(entries), directory));
} finally {
  rmSync(directory, { recursive: true, force: true });
}

const limits = sizes
  .filter(({ entries }) => entries >= LIMITS_FROM)
  .flatMap(({ entries, fileBytes, ours, cpython, pickleparser }) => [
    { what: `${entries} entries: times as fast as CPython`, value: cpython.cpuMs / ours.cpuMs, least: LIMIT_CPYTHON },
    ...(pickleparser === null
      ? []
      : [
          {
            what: `${entries} entries: times as fast as pickleparser`,
            value: pickleparser.cpuMs / ours.cpuMs,
            least: LIMIT_PICKLEPARSER,
          },
        ]),
    { what: `${entries} entries: file over resident set`, value: fileBytes / ours.peakBytes, least: 1 / LIMIT_MEMORY },
  ]);
const missed = limits.filter(({ value, least }) => !(value >= least));

if (options.json) console.log(JSON.stringify({ sizes, limits, missed: missed.length }, null, 2));
else {
  const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
  const rows = [
    ["entries", "file MiB", "reader", "CPU ms", "wall ms", "MB/s", "peak RSS MiB", "added MiB", "peak/file"],
  ];
  for (const { entries, fileBytes, ...readers } of sizes) {
    for (const [name, one] of Object.entries(readers)) {
      if (one === null) continue;
      rows.push([
        String(entries),
        mib(fileBytes),
        name,
        one.cpuMs.toFixed(0),
        one.wallMs.toFixed(0),
        (fileBytes / 1e3 / one.cpuMs).toFixed(0),
        mib(one.peakBytes),
        mib(one.risenBytes),
        (one.peakBytes / fileBytes).toFixed(2),
      ]);
    }
  }
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  for (const row of rows) console.log(row.map((text, column) => text.padStart(widths[column] ?? 0)).join("  "));
  console.log("");
  if (options.pickleparser === undefined) console.log("pickleparser was not compared: --pickleparser DIR gives it.");
  for (const { what, value, least } of limits) {
    console.log(`${value >= least ? "ok    " : "MISSED"}  ${what}: ${value.toFixed(2)} (at least ${least.toFixed(2)})`);
  }
}
process.exitCode = missed.length > 0 ? 1 : 0;
