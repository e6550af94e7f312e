/**
 * What the Python probe costs, as differences and ratios inside one run. Usage: npm run bench:probe [-- --json]
 * [--publish] [--python FILE] [--pairs N] [--rounds N] [--train-pairs N] [--steps N] [--segments N]
 * [--only start|idle|train]. Exits 1 when a limit is missed.
 */

import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { median } from "simple-statistics";
import { probeDirectory } from "../../src/core/probe-directory.ts";
import type { Figure, Result } from "../shared/figures.ts";
import { type Interval, medianInterval } from "../shared/intervals.ts";
import { training } from "../shared/paired-segments.ts";
import { conclude, PUBLISH_OPTIONS } from "../shared/publish.ts";

/** Milliseconds that the probe may add to the start of an interpreter, where bytecode is kept and where it is not. */
const LIMIT_CACHED_MS = 1.5;
const LIMIT_UNCACHED_MS = 3;
/**
 * CPU of the probe in an idle process, against a Python loop that wakes 50 times a second and does
 * nothing.
 */
const LIMIT_IDLE = 1.5;
/** A training loop's time with the probe against without: end and width of the 95 % interval. */
const LIMIT_TRAIN = 1.02;
const LIMIT_TRAIN_WIDTH = 0.02;

const { values } = parseArgs({
  options: {
    ...PUBLISH_OPTIONS,
    python: { type: "string", default: "python3" },
    pairs: { type: "string", default: "150" },
    rounds: { type: "string", default: "7" },
    "train-pairs": { type: "string", default: "24" },
    steps: { type: "string", default: "400" },
    segments: { type: "string", default: "24" },
    only: { type: "string" },
  },
});

const wanted = (part: string): boolean => values.only === undefined || values.only === part;
const own = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const parent = mkdtempSync(path.join(tmpdir(), "gate-probe-bench-"));
const directory = path.join(parent, "probe");
const inject = path.join(parent, "inject");
mkdirSync(directory);
cpSync(path.join(probeDirectory(), "inject"), inject, {
  recursive: true,
  filter: (source) => !source.includes("__pycache__"),
});

const bare = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(STORMLOG_GATE_|PYTHON(PATH|DONTWRITEBYTECODE)$)/.test(name)),
);
const probed = { ...bare, PYTHONPATH: inject, STORMLOG_GATE_PROBE_DIR: directory };

function python(args: readonly string[], env: NodeJS.ProcessEnv): string {
  const { status, stdout, stderr } = spawnSync(values.python, args, { env, encoding: "utf8" });
  if (status !== 0) throw new Error(`${values.python} ${args.join(" ")} failed: ${stderr.slice(-2000)}`);
  return stdout;
}

interface Start {
  readonly wallMs: Interval & { readonly median: number };
  readonly cpuMs: Interval & { readonly median: number };
  readonly bareWallMs: number;
  readonly bareCpuMs: number;
}

function start(cached: boolean): Start {
  const executable = python(["-c", "import sys; print(sys.executable)"], bare).trim();
  const env = cached ? bare : { ...bare, PYTHONDONTWRITEBYTECODE: "1" };
  const taken: { bare: [number, number][]; probe: [number, number][] } = JSON.parse(
    python([own("start.py"), values.pairs, executable, inject, directory], env),
  );
  const differences = (at: 0 | 1): number[] => taken.probe.map((one, i) => one[at] - taken.bare[i]![at]);
  return {
    wallMs: medianInterval(differences(0)),
    cpuMs: medianInterval(differences(1)),
    bareWallMs: median(taken.bare.map(([wall]) => wall)),
    bareCpuMs: median(taken.bare.map(([, cpu]) => cpu)),
  };
}

/** Both at once: other load affects both. */
async function idle(): Promise<{ readonly loop: number; readonly probe: number; readonly ratio: number }> {
  const cost = async (kind: string, env: NodeJS.ProcessEnv): Promise<number> =>
    Number((await promisify(execFile)(values.python, [own("idle.py"), kind, "4"], { env })).stdout);
  const [loop, probe]: [number[], number[]] = [[], []];
  for (let round = 0; round < Number(values.rounds); round++) {
    const [one, other] = await Promise.all([cost("loop", bare), cost("sleep", probed)]);
    loop.push(one);
    probe.push(other);
  }
  const ratio = median(probe.map((one, i) => one / loop[i]!));
  return { loop: median(loop), probe: median(probe), ratio };
}

/** Milliseconds of the modules that the probe's start loads, the most expensive ones first. */
function imports(): string {
  const { stderr } = spawnSync(values.python, ["-X", "importtime", "-c", "pass"], { env: probed, encoding: "utf8" });
  const all = [...stderr.matchAll(/^import time:\s+(\d+) \|\s+\d+ \| +(\S+)$/gm)];
  const { stderr: without } = spawnSync(values.python, ["-X", "importtime", "-c", "pass"], {
    env: bare,
    encoding: "utf8",
  });
  const known = new Set([...without.matchAll(/\| +(\S+)$/gm)].map(([, name]) => name));
  return all
    .filter(([, , name]) => name === "sitecustomize" || !known.has(name))
    .map(([, us = "", name = ""]) => ({ name, us: Number(us) }))
    .sort((one, other) => other.us - one.us)
    .slice(0, 5)
    .map(({ name, us }) => `${name} ${(us / 1e3).toFixed(2)} ms`)
    .join(", ");
}

function startFigures(name: string, { wallMs, cpuMs, bareWallMs }: Start, limit: number): readonly Figure[] {
  const figure = (clock: string, { median: value, ...interval }: Start["wallMs"], most: number | null): Figure => ({
    name: `start of an interpreter, ${name}, ${clock} time`,
    value,
    interval,
    limit: most,
    unit: "ms",
  });
  const note = `over ${bareWallMs.toFixed(1)} ms; loads ${imports()}`;
  return [{ ...figure("wall", wallMs, limit), note }, figure("CPU", cpuMs, null)];
}

const hasTorch = spawnSync(values.python, ["-c", "import torch"], { env: bare }).status === 0;
try {
  const results: Result[] = [];
  if (wanted("start")) {
    // The uncached runs come first: the cached ones leave bytecode beside the copy.
    results.push(...startFigures("no bytecode kept", start(false), LIMIT_UNCACHED_MS));
    results.push(...startFigures("bytecode kept", start(true), LIMIT_CACHED_MS));
  }
  if (wanted("idle")) {
    const { ratio, loop, probe } = await idle();
    const note = `${probe.toFixed(2)} / ${loop.toFixed(2)} ms of CPU a second`;
    const name = "a process in which nothing moves / a loop that wakes 50 times a second";
    results.push({ name, value: ratio, interval: null, limit: LIMIT_IDLE, unit: "", note });
  }
  if (wanted("train") && !hasTorch) results.push({ name: "training", skipped: "this Python has no PyTorch" });
  else if (wanted("train")) {
    const { wall, cpu, pairs, segments, steps } = await training([values.python, own("train.py")], [probed, bare], {
      pairs: Number(values["train-pairs"]),
      steps: Number(values.steps),
      segments: Number(values.segments),
    });
    const note = `${pairs} pairs of processes, ${segments} turns of ${steps} steps each`;
    const figure = (clock: string, { ratio: value, ...interval }: typeof wall, limit: number | null): Figure => ({
      name: `a training loop with the probe / without, ${clock} time`,
      value,
      interval,
      limit,
      unit: "",
      note,
    });
    const width = { value: wall.high - wall.low, interval: null, limit: LIMIT_TRAIN_WIDTH, unit: "" };
    results.push(figure("wall", wall, LIMIT_TRAIN), figure("CPU", cpu, null), {
      name: "width of that interval",
      ...width,
    });
  }
  process.exitCode = conclude({ bench: "probe", title: "The Python probe", results }, values);
} finally {
  rmSync(parent, { recursive: true, force: true });
}
