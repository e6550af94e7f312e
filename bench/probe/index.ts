/**
 * What the Python probe costs, as differences and ratios inside one run. Usage: npm run bench:probe [-- --json]
 * [--python FILE] [--pairs N] [--rounds N] [--train-pairs N] [--steps N] [--segments N] [--only start|idle|train].
 * Exits 1 when a limit is missed.
 */

import { execFile, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { median } from "simple-statistics";
import { probeDirectory } from "../../src/core/probe-directory.ts";
import { type Interval, medianInterval } from "../shared/intervals.ts";
import { training } from "../shared/paired-segments.ts";

/** Milliseconds that the probe may add to the start of an interpreter. */
const LIMIT_START_MS = 1.5;
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
    json: { type: "boolean", default: false },
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

const hasTorch = spawnSync(values.python, ["-c", "import torch"], { env: bare }).status === 0;
try {
  // The uncached runs come first: the cached ones leave bytecode beside the copy.
  const uncached = wanted("start") ? start(false) : null;
  const cached = wanted("start") ? start(true) : null;
  const idling = wanted("idle") ? await idle() : null;
  const trained =
    wanted("train") && hasTorch
      ? await training([values.python, own("train.py")], [probed, bare], {
          pairs: Number(values["train-pairs"]),
          steps: Number(values.steps),
          segments: Number(values.segments),
        })
      : null;
  const missed: string[] = [];
  for (const [name, one] of [
    ["uncached", uncached],
    ["cached", cached],
  ] as const) {
    if (one !== null && one.wallMs.median > LIMIT_START_MS)
      missed.push(`start-up (${name}) ${one.wallMs.median.toFixed(2)} ms`);
  }
  if (idling !== null && idling.ratio > LIMIT_IDLE) missed.push(`50 Hz ${idling.ratio.toFixed(2)}`);
  if (trained !== null) {
    const { wall } = trained;
    if (wall.high > LIMIT_TRAIN) missed.push(`training: the interval ends at ${wall.high.toFixed(4)}`);
    if (wall.high - wall.low > LIMIT_TRAIN_WIDTH)
      missed.push(`training: the interval is ${(wall.high - wall.low).toFixed(4)} wide`);
  }
  if (values.json) {
    console.log(
      JSON.stringify({ python: values.python, uncached, cached, idle: idling, train: trained, missed }, null, 2),
    );
  } else {
    const ms = ({ median: middle, low, high }: Start["wallMs"]): string =>
      `${middle.toFixed(2)} ms (95 %: ${low.toFixed(2)} to ${high.toFixed(2)})`;
    for (const [name, one] of [
      ["no bytecode kept", uncached],
      ["bytecode cached ", cached],
    ] as const) {
      if (one === null) continue;
      console.log(
        `start-up, ${name}: wall +${ms(one.wallMs)}, CPU +${ms(one.cpuMs)}; bare ${one.bareWallMs.toFixed(1)} / ${one.bareCpuMs.toFixed(1)} ms   limit ${LIMIT_START_MS} ms`,
      );
    }
    if (idling !== null) {
      console.log(
        `a process in which nothing moves: ${idling.probe.toFixed(2)} ms of CPU a second; a loop that wakes 50 times a second ${idling.loop.toFixed(2)}; ratio ${idling.ratio.toFixed(2)}   limit ${LIMIT_IDLE}`,
      );
    }
    if (trained !== null) {
      const show = ({ ratio, low, high }: typeof trained.wall): string =>
        `${ratio.toFixed(4)} (95 %: ${low.toFixed(4)} to ${high.toFixed(4)}, ${(high - low).toFixed(4)} wide)`;
      console.log(
        `training, ${trained.pairs} pairs of processes, ${trained.segments} turns of ${trained.steps} steps (${trained.seconds.toFixed(2)} s) each: wall ${show(trained.wall)}, CPU ${show(trained.cpu)}   limit ${LIMIT_TRAIN}, ${LIMIT_TRAIN_WIDTH} wide`,
      );
    } else if (wanted("train")) console.log("training: not measured, this Python has no PyTorch");
    for (const line of missed) console.log(`MISSED: ${line}`);
  }
  process.exitCode = missed.length > 0 ? 1 : 0;
} finally {
  rmSync(parent, { recursive: true, force: true });
}
