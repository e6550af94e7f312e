/**
 * What reading a memory snapshot costs against CPython's pickle.load and the npm package pickleparser, in processor
 * time. Every figure comes from a fresh process. The readers take turns, and the median of the rounds' ratios counts.
 * Usage: npx tsx bench/snapshot/index.ts [--json] [--rounds N] [--entries 100000,1000000] [--pickleparser DIR]. Exits 1
 * when a limit is missed. DIR is the unpacked package (npm pack pickleparser@0.2.1); without it that comparison is
 * skipped and reported as skipped.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { OneResult } from "./one.ts";

/** Times as fast as pickleparser, at a million entries. */
const LIMIT_PICKLEPARSER = 3;
/** Times as fast as CPython, at a million entries. */
const LIMIT_CPYTHON = 2.5;
/** What reading adds to the resident set, less the columns that are kept, over the file, at a million entries. */
const LIMIT_MEMORY = 0.5;
const LIMITS_FROM = 1_000_000;

const { values: options } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    rounds: { type: "string", default: "5" },
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

interface Size {
  readonly entries: number;
  readonly fileBytes: number;
  /** One result of each round. */
  readonly ours: readonly OneResult[];
  readonly cpython: readonly OneResult[];
  readonly pickleparser: readonly OneResult[];
}

function measure(entries: number, directory: string): Size {
  const file = path.join(directory, `${entries}.pickle`);
  run("python3", [here("./make-traces.py"), String(entries), file]);
  const node = (reader: string, ...rest: readonly string[]): OneResult =>
    JSON.parse(run(process.execPath, [...process.execArgv, here("./one.ts"), reader, file, ...rest]));
  const size = { ours: [] as OneResult[], cpython: [] as OneResult[], pickleparser: [] as OneResult[] };
  for (let round = 0; round < Number(options.rounds); round++) {
    size.ours.push(node("ours"));
    size.cpython.push(JSON.parse(run("python3", [here("./cpython.py"), file])));
    if (options.pickleparser !== undefined)
      size.pickleparser.push(node("pickleparser", path.resolve(options.pickleparser)));
  }
  return { entries, fileBytes: statSync(file).size, ...size };
}

/** Median, lowest and highest. */
function spread(values: readonly number[]): { readonly value: number; readonly from: number; readonly to: number } {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    value: sorted[sorted.length >> 1] ?? Number.NaN,
    from: sorted[0] ?? Number.NaN,
    to: sorted.at(-1) ?? Number.NaN,
  };
}

/** How many times as fast as `peer` our reader is, by round. */
const faster = (ours: readonly OneResult[], peer: readonly OneResult[]) =>
  spread(peer.map(({ cpuMs }, round) => cpuMs / (ours[round]?.cpuMs ?? Number.NaN)));

const directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-bench-"));
let sizes: readonly Size[];
try {
  sizes = options.entries.split(",").map((entries) => measure(Number(entries), directory));
} finally {
  rmSync(directory, { recursive: true, force: true });
}

const limits = sizes
  .filter(({ entries }) => entries >= LIMITS_FROM)
  .flatMap(({ entries, fileBytes, ours, cpython, pickleparser }) => {
    const added = spread(ours.map((one) => (one.risenBytes - (one.keptBytes ?? 0)) / fileBytes));
    const peer = faster(ours, pickleparser);
    return [
      { what: `${entries} entries: times as fast as CPython`, ...faster(ours, cpython), least: LIMIT_CPYTHON },
      ...(pickleparser.length === 0
        ? []
        : [{ what: `${entries} entries: times as fast as pickleparser`, ...peer, least: LIMIT_PICKLEPARSER }]),
      { what: `${entries} entries: added memory over file, without what is kept`, ...added, most: LIMIT_MEMORY },
    ];
  })
  .map((one) => ({ ...one, ok: "least" in one ? one.value >= one.least : one.value <= one.most }));
const missed = limits.filter(({ ok }) => !ok);
const processor = cpus()[0]?.model ?? "unknown processor";

if (options.json) console.log(JSON.stringify({ processor, sizes, limits, missed: missed.length }, null, 2));
else {
  const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
  const rows = [
    ["entries", "file MiB", "reader", "CPU ms", "wall ms", "MB/s", "peak RSS MiB", "added MiB", "peak/file"],
  ];
  for (const { entries, fileBytes, ...readers } of sizes) {
    for (const [name, rounds] of Object.entries(readers)) {
      const one = rounds.toSorted((a, b) => a.cpuMs - b.cpuMs)[rounds.length >> 1];
      if (one === undefined) continue;
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
  console.log(`${processor}, Node ${process.version}`);
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? [];
  for (const row of rows) console.log(row.map((text, column) => text.padStart(widths[column] ?? 0)).join("  "));
  console.log("");
  if (options.pickleparser === undefined) console.log("pickleparser was not compared: --pickleparser DIR gives it.");
  for (const { what, value, from, to, ok, ...bound } of limits) {
    const limit = "least" in bound ? `at least ${bound.least}` : `at most ${bound.most}`;
    const range = `${value.toFixed(2)} (${from.toFixed(2)} to ${to.toFixed(2)}; ${limit})`;
    console.log(`${ok ? "ok    " : "MISSED"}  ${what}: ${range}`);
  }
}
process.exitCode = missed.length > 0 ? 1 : 0;
