/**
 * What merging the recordings of a large job costs: time wall and CPU, and resident memory at its highest, beside what
 * reading and parsing their features alone takes. The shards are written by the product's own writer, a rank each.
 * Usage: npm run bench:merge [-- --json] [--ranks N] [--samples N] [--shards DIR] [--rounds N] (`--shards`
 * keeps the shards for the next time). Exits 1 when a limit is missed.
 */
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { buildInto } from "../../scripts/build.mjs";
import { packageRoot } from "../../src/core/package-root.ts";

/** For a thousand ranks of ten thousand samples on two cores. */
const LIMIT_S = 10;
const LIMIT_BYTES = 512 * 2 ** 20;
const POLL_MS = 10;

const { values } = parseArgs({
  options: {
    json: { type: "boolean", default: false },
    ranks: { type: "string", default: "1024" },
    samples: { type: "string", default: "10000" },
    shards: { type: "string" },
    rounds: { type: "string", default: "3" },
  },
});
const [ranks, samples, rounds] = [Number(values.ranks), Number(values.samples), Number(values.rounds)];
const directory = mkdtempSync(path.join(tmpdir(), "gate-merge-bench-"));
const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

function inProcess(script: string, args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...process.execArgv, here(script), ...args], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let out = "";
    child.stdout.on("data", (chunk: Buffer) => {
      out += chunk.toString();
    });
    child.on("close", (code) => (code === 0 ? resolve(out) : reject(new Error(`${script} ended with ${code}`))));
  });
}

async function writeShards(): Promise<string> {
  const shards = values.shards === undefined ? path.join(directory, "shards") : path.resolve(values.shards);
  if (existsSync(shards) && readdirSync(shards).length === ranks) return shards;
  mkdirSync(shards, { recursive: true });
  const writers = availableParallelism();
  const write = (first: number) =>
    inProcess("write-some.ts", [shards, ...[first, writers, ranks, samples].map(String)]);
  await Promise.all(Array.from({ length: writers }, (_, first) => write(first)));
  return shards;
}

interface Merge {
  readonly wallS: number;
  readonly cpuS: number;
  readonly residentPeak: number;
  readonly exitCode: number | null;
}

/** The kernel's own highest mark of a process's resident memory, bytes; null once it is gone. */
function highestResident(pid: number): number | null {
  try {
    const text = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return text === undefined ? null : Number(text) * 1024;
  } catch {
    return null;
  }
}

const TICKS_PER_S = 100;

/** Processor seconds of a process and its threads; null once it is gone. */
function processorSeconds(pid: number): number | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
  } catch {
    return null;
  }
}

function mergeOnce(cli: string, shards: string): Promise<Merge> {
  const bundle = path.join(directory, "merged");
  rmSync(bundle, { recursive: true, force: true });
  return new Promise((resolve, reject) => {
    const began = process.hrtime.bigint();
    const child = spawn(process.execPath, [cli, "merge", shards, "--bundle", bundle, "--budget", "allocated=40GiB"], {
      stdio: "ignore",
    });
    let [residentPeak, cpuS] = [0, 0];
    const timer = setInterval(() => {
      residentPeak = Math.max(residentPeak, highestResident(child.pid ?? 0) ?? 0);
      cpuS = Math.max(cpuS, processorSeconds(child.pid ?? 0) ?? 0);
    }, POLL_MS);
    child.on("error", reject);
    child.on("close", (exitCode) => {
      clearInterval(timer);
      resolve({ wallS: Number(process.hrtime.bigint() - began) / 1e9, cpuS, residentPeak, exitCode });
    });
  });
}

async function built(): Promise<string> {
  await buildInto(path.join(directory, "dist"), {
    cli: "src/cli/start.ts",
  });
  cpSync(path.join(packageRoot(), "package.json"), path.join(directory, "package.json"));
  return path.join(directory, "dist/cli.js");
}

try {
  const cli = await built();
  const shards = await writeShards();
  const reading: { cpuS: number; wallS: number; bytes: number } = JSON.parse(await inProcess("read-only.ts", [shards]));
  const merges: Merge[] = [];
  for (let round = 0; round < rounds; round++) merges.push(await mergeOnce(cli, shards));
  const best = merges.reduce((a, b) => (b.wallS < a.wallS ? b : a));
  const residentPeak = Math.max(...merges.map((one) => one.residentPeak));
  const whole = ranks === 1024 && samples === 10_000;
  const limits = [
    { what: "seconds by the clock", value: best.wallS, limit: LIMIT_S },
    { what: "resident memory, MiB", value: residentPeak / 2 ** 20, limit: LIMIT_BYTES / 2 ** 20 },
  ];
  const verdict = JSON.parse(readFileSync(path.join(directory, "merged/report.json"), "utf8")).payload;
  const result = {
    ranks,
    samples,
    bytes: reading.bytes,
    cores: availableParallelism(),
    node: process.version,
    reading,
    merges,
    ratio: best.cpuS / reading.cpuS,
    verdict: verdict.verdict,
    limits,
  };
  if (values.json) console.log(JSON.stringify(result, null, 2));
  else {
    console.log(
      `${ranks} ranks x ${samples} samples (${reading.bytes} bytes of features), ${result.cores} cores, Node ${process.version}`,
    );
    console.log(
      `reading alone: ${reading.cpuS.toFixed(1)} s of the processor, ${reading.wallS.toFixed(1)} s by the clock`,
    );
    for (const one of merges) {
      const memory = `${(one.residentPeak / 2 ** 20).toFixed(0)} MiB`;
      console.log(
        `merge: ${one.wallS.toFixed(1)} s by the clock, ${one.cpuS.toFixed(1)} s of the processor, ${memory}, exit ${one.exitCode}`,
      );
    }
    console.log(`ratio of processor time to reading alone: ${result.ratio.toFixed(1)}; verdict ${result.verdict}`);
    for (const { what, value, limit } of limits) {
      console.log(`${value <= limit ? "ok " : "MISSED"} ${what}: ${value.toFixed(1)} (limit ${limit})`);
    }
  }
  if (whole && limits.some(({ value, limit }) => !(value <= limit))) process.exitCode = 1;
} finally {
  rmSync(directory, { recursive: true, force: true });
}
