/**
 * How often the levels that a service holds at rest are called a leak: programs without one, whose levels move as
 * levels of real services do, and leaks by size and noise; with `--real` real services in six languages instead, each
 * unchanged and with leaks. Usage: npm run bench:services [-- --json] [--publish] [--draws N] [--seed N] [--real]
 * [--runs N] [--leaks BYTES,…] [--only NAME] [--python FILE] [--torch FILE] [--modules DIRECTORY]. Exits 1 when a limit
 * is missed.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { classifyCycles, cyclesDecide } from "../../src/analysis/service/classify-cycles.ts";
import { MIB } from "../../src/core/units.ts";
import { prng } from "../../src/stats/testing/prng.ts";
import { MAX_CYCLES } from "../../src/telemetry/recording/service.ts";
import type { Result } from "../shared/figures.ts";
import { conclude, PUBLISH_OPTIONS } from "../shared/publish.ts";
import { wilsonInterval } from "../shared/wilson.ts";
import { realServices } from "./real.ts";

const { values } = parseArgs({
  options: {
    ...PUBLISH_OPTIONS,
    draws: { type: "string", default: "4000" },
    seed: { type: "string", default: "20261130" },
    real: { type: "boolean", default: false },
    runs: { type: "string", default: "5" },
    leaks: { type: "string", default: "0,1024,10240" },
    only: { type: "string", default: "" },
    python: { type: "string", default: "python3" },
    torch: { type: "string", default: "/usr/bin/python3" },
    modules: { type: "string", default: "node_modules" },
  },
});
const draws = Number(values.draws);
const { uniform, normal } = prng(Number(values.seed));

/** The smallest material change of a service of about 100 MiB. */
const CHANGE = 8 * MIB;
/** Percent: of runs without a leak called one, and of leaks not found. */
const LIMIT_FALSE = 0.1;
const LIMIT_MISSED = 5;

/** MiB above the service's first level after this many cycles, in one run. */
type Level = (cycle: number) => number;
type Family = readonly [name: string, begin: () => Level];

const noisy =
  (deviation: number, level: Level): (() => Level) =>
  () =>
  (cycle) =>
    level(cycle) + deviation * normal();

/** The sum of what each cycle leaves. */
const summed = (left: (cycle: number) => number) => (): Level => {
  let sum = 0;
  return (cycle) => {
    if (cycle > 0) sum += left(cycle);
    return sum;
  };
};

const filling =
  (size: number, cycles: number): Level =>
  (cycle) =>
    size * (1 - Math.exp(-cycle / cycles));

const BOUNDED: readonly Family[] = [
  ["independent noise of 2 MiB", noisy(2, () => 0)],
  ["noise of 2 MiB, one level in ten five times as much", () => () => (uniform() < 0.1 ? 10 : 2) * normal()],
  ["a random walk of 1.5 MiB a cycle", summed(() => 1.5 * normal())],
  ["a random walk of 6 MiB a cycle", summed(() => 6 * normal())],
  ["a pool that fills to its first demand: 36, 1, 1, 1 MiB", summed((cycle) => [36, 1, 1, 1][cycle - 1] ?? 0)],
  ["a cache that fills with a time constant of 3 cycles", noisy(0.5, filling(80, 3))],
  ["a cache that fills with a time constant of 6 cycles", noisy(0.5, filling(80, 6))],
  ["a logarithm, 20 MiB", noisy(0.3, (cycle) => 20 * Math.log(1 + cycle))],
  ["a logarithm, 200 MiB", noisy(1, (cycle) => 200 * Math.log(1 + cycle))],
  ["a saw-tooth of 5 cycles and 32 MiB, out of phase", () => (cycle) => ((cycle * 7) % 5) * 8],
  ["one step of 30 MiB", noisy(0.5, (cycle) => (cycle > 5 ? 30 : 0))],
];

const leak = (perCycle: number, deviation: number): Family => [
  `${perCycle} MiB a cycle, noise of ${deviation} MiB`,
  noisy(deviation, (cycle) => perCycle * cycle),
];
const LEAKS: readonly Family[] = [leak(2, 0.3), leak(4, 1), leak(10, 2), leak(10, 4), leak(50, 1)];

/** Runs of a family that were called a leak, and their cycles. */
function judged([, begin]: Family): { readonly leaks: number; readonly cycles: number } {
  let leaks = 0;
  let cycles = 0;
  for (let draw = 0; draw < draws; draw++) {
    const level = begin();
    const levels = [(100 + level(0)) * MIB];
    while (levels.length <= MAX_CYCLES && !cyclesDecide(levels, CHANGE))
      levels.push((100 + level(levels.length)) * MIB);
    cycles += levels.length - 1;
    if (classifyCycles(levels, CHANGE).class === "leak") leaks++;
  }
  return { leaks, cycles: cycles / draws };
}

function result(family: Family, limit: number, name: string, hitsOf: (leaks: number) => number): Result {
  const { leaks, cycles } = judged(family);
  const hits = hitsOf(leaks);
  const [low, high] = wilsonInterval({ hits, tries: draws });
  return {
    name: `${family[0]}: ${name}`,
    value: (100 * hits) / draws,
    interval: { low: 100 * low, high: 100 * high },
    limit,
    unit: "%",
    note: `${cycles.toFixed(1)} cycles`,
  };
}

function drawn(): Result[] {
  return [
    ...BOUNDED.map((family) => result(family, LIMIT_FALSE, "called a leak", (leaks) => leaks)),
    ...LEAKS.map((family) => result(family, LIMIT_MISSED, "leaks missed", (leaks) => draws - leaks)),
  ];
}

function real(): Result[] {
  const directory = mkdtempSync(path.join(tmpdir(), "gate-services-bench-"));
  const installed = { python: values.python, torch: values.torch, modules: path.resolve(values.modules) };
  try {
    return realServices(installed, values.leaks.split(",").map(Number), Number(values.runs), values.only, directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const title = values.real ? `Real services, ${values.runs} runs each` : `Levels at rest, ${draws} draws each`;
const bench = values.real ? "real-services" : "services";
process.exitCode = conclude({ bench, title, results: values.real ? real() : drawn() }, values);
