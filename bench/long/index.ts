/**
 * What a run of many hours leaves, how soon it is judged, and which leaks its thinned record still shows: records of
 * eight workers at the default rates, and of teeth drawn at random, written by the sampler's own downsampler and writer
 * without waiting for the time to pass. Usage: npm run bench:long [-- --json] [--publish] [--hours H] [--rounds N]
 * [--draws N]. Needs g++. Exits 1 when a limit is missed.
 */

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { packageRoot } from "../../src/core/package-root.ts";
import type { Result } from "../shared/figures.ts";
import { medianInterval } from "../shared/intervals.ts";
import { conclude, PUBLISH_OPTIONS } from "../shared/publish.ts";
import { belowTeeth, type MakeRecord } from "./below-teeth.ts";

const SHAPES = [
  ["still", "memory that hardly changes"],
  ["leak", "a leak and noise that change at every tick"],
  ["teeth", "a saw-tooth and noise that change at every tick"],
] as const;
/** Megabytes that an hour leaves: of memory that hardly changes, and of any other. */
const LIMIT_STILL_MB = 10;
const LIMIT_HOUR_MB = 100;
/** Seconds and MiB from the record of the long run to its analysis, start of the program included. */
const LIMIT_SECONDS = 5;
const LIMIT_MIB = 256;
/** Seconds that are written reading by reading: all, in the control. */
const NEVER_THINNED = "1e9";
const THINNED = "300";

const { values } = parseArgs({
  options: {
    ...PUBLISH_OPTIONS,
    hours: { type: "string", default: "24" },
    rounds: { type: "string", default: "5" },
    draws: { type: "string", default: "100" },
  },
});

const directory = mkdtempSync(path.join(tmpdir(), "gate-long-bench-"));
const maker = path.join(directory, "record");

function checked(file: string, args: readonly string[]): { readonly stdout: string; readonly stderr: string } {
  const { status, stdout, stderr, error } = spawnSync(file, args, { encoding: "utf8", maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`${file} failed: ${error?.message ?? stderr.slice(-500)}`);
  return { stdout, stderr };
}

function made(shape: string, hours: number, dense: string): string {
  const file = path.join(directory, `${shape}-${hours}-${dense}.rec`);
  rmSync(file, { force: true });
  checked(maker, [file, String(hours), shape, dense]);
  return file;
}

const withTeeth: MakeRecord = (seed, { period, height, jitter, noise }, leak, thinned) => {
  const file = path.join(directory, "teeth.rec");
  const numbers = [seed, period, height, jitter, noise, leak].map(String);
  checked(maker, [file, "1", "below", thinned ? THINNED : NEVER_THINNED, ...numbers]);
  return file;
};

interface Series {
  readonly metric: string;
  readonly class: string;
  readonly peak_bytes: number | null;
  readonly growth_bytes: number | null;
}

interface Analysed {
  readonly seconds: number;
  readonly mib: number;
  readonly host: Series | undefined;
}

/** The peak of resident memory comes from `/usr/bin/time`, which adds no process of its own to it. */
function analysed(file: string): Analysed {
  const cli = path.join(packageRoot(), "dist/cli.js");
  const began = performance.now();
  const { stdout, stderr } = checked("/usr/bin/time", ["-f", "%M", process.execPath, cli, "analyze", file, "--json"]);
  const seconds = (performance.now() - began) / 1e3;
  const { series } = JSON.parse(stdout) as { readonly series: readonly Series[] };
  return {
    seconds,
    mib: Number(stderr.trim().split("\n").at(-1)) / 1024,
    host: series.find(({ metric }) => metric === "host"),
  };
}

const megabytes = (file: string): number => statSync(file).size / 1e6;

function ofShape([shape, name]: (typeof SHAPES)[number], hours: number, rounds: number): Result[] {
  const hour = made(shape, 1, THINNED);
  const whole = made(shape, 1, NEVER_THINNED);
  const [thin, dense] = [analysed(hour).host, analysed(whole).host];
  const long = made(shape, hours, THINNED);
  const taken = Array.from({ length: rounds }, () => analysed(long));
  const { median: seconds, ...interval } = medianInterval(taken.map((one) => one.seconds));
  const same = thin?.class === dense?.class ? `both ${thin?.class}` : `${thin?.class}, not ${dense?.class}`;
  const growth = (thin?.growth_bytes ?? 0) - (dense?.growth_bytes ?? 0);
  const results: Result[] = [
    {
      name: `${name}: record of an hour`,
      value: megabytes(hour),
      interval: null,
      limit: shape === "still" ? LIMIT_STILL_MB : LIMIT_HOUR_MB,
      unit: "MB",
      note: `${megabytes(whole).toFixed(1)} MB unthinned; ${same}; growth differs by ${(growth / 2 ** 20).toFixed(2)} MiB`,
    },
    {
      name: `${name}: peak of the hour against that of the unthinned record`,
      value: Math.abs((thin?.peak_bytes ?? Number.NaN) / (dense?.peak_bytes ?? Number.NaN) - 1),
      interval: null,
      limit: 0,
      unit: "off",
    },
    {
      name: `${name}: record of ${hours} hours`,
      value: megabytes(long),
      interval: null,
      limit: hours * (shape === "still" ? LIMIT_STILL_MB : LIMIT_HOUR_MB),
      unit: "MB",
    },
    {
      name: `${name}: ${hours} hours, from the record to its analysis`,
      value: seconds,
      interval,
      limit: LIMIT_SECONDS,
      unit: "s",
    },
    {
      name: `${name}: ${hours} hours, resident memory of that`,
      value: Math.max(...taken.map(({ mib }) => mib)),
      interval: null,
      limit: LIMIT_MIB,
      unit: "MiB",
    },
  ];
  for (const file of [hour, whole, long]) rmSync(file);
  return results;
}

try {
  const native = path.join(packageRoot(), "native");
  const sources = ["recent_records.cc", "downsampler.cc", "record_writer.cc"].map((name) =>
    path.join(native, "records", name),
  );
  const own = fileURLToPath(new URL("record.cc", import.meta.url));
  checked("g++", ["-std=c++17", "-O2", `-I${native}`, "-o", maker, own, ...sources]);
  const hours = Number(values.hours);
  const results = [
    ...SHAPES.flatMap((shape) => ofShape(shape, hours, Number(values.rounds))),
    ...(await belowTeeth(withTeeth, Number(values.draws))),
  ];
  const title = `Eight workers for ${hours} hours, ${values.rounds} rounds`;
  process.exitCode = conclude({ bench: "long", title, results }, values);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
