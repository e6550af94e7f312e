/**
 * Mutates memory snapshots and reads them: each must end in a snapshot or a GateError, in at most a second per
 * MB, in memory bounded by the file's size. Usage: npx tsx scripts/fuzz-snapshot.ts --small N --large N --seed S.
 * What fails is written to `fuzz-failure.pickle` in the directory for temporary files. scripts/soak runs it.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { attempt } from "../src/snapshot/testing/attempt.ts";
import { type Chance, chance, mutated } from "../src/snapshot/testing/mutate.ts";
import { pickled } from "../src/snapshot/testing/pickle-writer.ts";
import { plainSnapshot } from "../src/snapshot/testing/snapshots.ts";

const SMALL_BYTES = 4096;
const LARGE_BYTES = 2 ** 20;
/** Beyond the file's own share: windows, first pages of tables, and what the runtime keeps between two collections. */
const FREE_BYTES = 32 * 2 ** 20;
const FILE_FACTOR = 3;

const { values } = parseArgs({
  options: { small: { type: "string" }, large: { type: "string" }, seed: { type: "string" } },
});
const counts = { small: Number(values.small), large: Number(values.large), seed: Number(values.seed) };
if (!Object.values(counts).every(Number.isSafeInteger)) throw new Error("expected --small N --large N --seed S");

setFlagsFromString("--expose-gc");
const collect: () => void = runInNewContext("gc");

const status = (key: string): number => {
  const match = new RegExp(`^${key}:\\s+(\\d+) kB`, "m").exec(readFileSync("/proc/self/status", "utf8"));
  return Number(match?.[1] ?? Number.NaN) * 1024;
};

/** Bytes by which the resident set rose while `work` ran; NaN where the system does not report it. */
function rise(work: () => void): number {
  if (process.platform !== "linux") {
    work();
    return Number.NaN;
  }
  collect();
  writeFileSync("/proc/self/clear_refs", "5");
  const before = status("VmRSS");
  work();
  return status("VmHWM") - before;
}

function fail(bytes: Uint8Array, what: string): never {
  const file = path.join(tmpdir(), "fuzz-failure.pickle");
  writeFileSync(file, bytes);
  console.error(`${what} (${bytes.length} bytes, kept in ${file})`);
  process.exit(1);
}

/** Processor milliseconds of `work`: equal to wall time on an idle machine. */
function cost(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

const outcomes = new Map<string, number>();

function once(bytes: Uint8Array, document: boolean): void {
  const result = attempt(bytes, document);
  if (result.kind === "fault") fail(bytes, `fault: ${result.error}`);
  const name = result.kind === "refused" ? result.code : "read";
  outcomes.set(name, (outcomes.get(name) ?? 0) + 1);
}

function smallFiles(): Uint8Array[] {
  const directory = fileURLToPath(new URL("../test/snapshot/fixtures/", import.meta.url));
  const kept = readdirSync(directory)
    .filter((name) => name.endsWith(".pickle"))
    .map((name) => new Uint8Array(readFileSync(path.join(directory, name))))
    .filter(({ length }) => length <= SMALL_BYTES);
  return [...kept, ...[0, 4, 12, 28].map((entries) => pickled(plainSnapshot(entries)))];
}

function small(count: number, random: Chance): void {
  const corpus = smallFiles();
  for (let i = 0; i < count; i++) {
    const bytes = mutated(corpus, random).subarray(0, SMALL_BYTES);
    const took = cost(() => once(bytes, i % 8 === 0));
    if (took > 1000) fail(bytes, `took ${took} ms`);
  }
}

function large(count: number, random: Chance): { readonly worstMs: number; readonly worstBytes: number } {
  const corpus = [9_000, 12_000].map((entries) => pickled(plainSnapshot(entries)));
  let worstMs = 0;
  let worstBytes = 0;
  for (let i = 0; i < count; i++) {
    let bytes = mutated(corpus, random);
    while (bytes.length < LARGE_BYTES) bytes = Buffer.concat([bytes, bytes]);
    const megabytes = bytes.length / 1e6;
    let took = 0;
    const grown = rise(() => {
      took = cost(() => once(bytes, true));
    });
    if (took > 1000 * megabytes) fail(bytes, `took ${took} ms`);
    if (grown > FREE_BYTES + FILE_FACTOR * bytes.length) fail(bytes, `took ${(grown / 2 ** 20).toFixed(0)} MiB`);
    worstMs = Math.max(worstMs, took / megabytes);
    worstBytes = Math.max(worstBytes, Number.isNaN(grown) ? 0 : grown / bytes.length);
  }
  return { worstMs, worstBytes };
}

const random = chance(counts.seed);
const started = performance.now();
small(counts.small, random);
console.log(`${counts.small} small files in ${((performance.now() - started) / 1000).toFixed(0)} s`);
const again = performance.now();
const { worstMs, worstBytes } = large(counts.large, random);
console.log(
  `${counts.large} large files in ${((performance.now() - again) / 1000).toFixed(0)} s: at most ${worstMs.toFixed(0)} ms ` +
    `a MB, ${worstBytes.toFixed(1)} times the file in memory`,
);
for (const [name, count] of [...outcomes].sort(([, a], [, b]) => b - a))
  console.log(`${String(count).padStart(9)}  ${name}`);
