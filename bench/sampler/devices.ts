/**
 * What reading devices costs, against a fake NVML whose memory query keeps a core busy for 12 µs, as long as the real
 * one takes. Process lists take no time here: their cost depends on the driver, and pacing limits how often they are
 * read.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { packageRoot } from "../../src/core/package-root.ts";
import type { Addon } from "./addon.ts";
import { emptyLoopCost } from "./measure.ts";
import { growTree, type ProcessTree } from "./tree.ts";

export const QUERY_US = 12;
/** CPU of a device's reading beyond the wake-up, against the query itself. */
export const LIMIT_READ = 1.3;
/** µs of CPU per process and sample beyond the wake-up, while the devices are read. */
export const LIMIT_PROCESS_US = 1.2;
/** Percent of a core: the default of `--cpu-budget`. */
const BUDGET_PERCENT = 1;
const GPUS = 8;
const PROCESSES = 64;
const PERIOD_NS = 2_000_000;
const SECOND_NS = 1e9;
const GIB = 2 ** 30;

export interface DeviceCosts {
  /** Ratio to the 12 µs of the query. */
  readonly perRead: number;
  readonly perProcessUs: number;
  readonly emptyUs: number;
}

export interface Governed {
  readonly seconds: number;
  /** Percent of a core that the sampler's threads used. */
  readonly cpuPercent: number;
  readonly budgetPercent: number;
  /** Readings a second, as `recording.json` states them. */
  readonly hostHz: number | null;
  readonly deviceHz: number | null;
  readonly deviceRatesHz: readonly (number | null)[];
}

interface Machine {
  readonly directory: string;
  readonly tree: ProcessTree;
  end(): void;
}

/** Why this cannot be measured here, or null. */
export function noFake(): string | null {
  return spawnSync("gcc", ["--version"]).status === 0 ? null : "gcc is missing, which builds the fake NVML";
}

/**
 * Eight GPUs, and 64 processes of which each holds memory on one of them. Sets the environment that the addon reads.
 */
export async function fakeMachine(): Promise<Machine> {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-bench-devices-"));
  const library = path.join(directory, "libnvidia-ml.so.1");
  execFileSync("bash", [path.join(packageRoot(), "native", "fake-nvml", "build.sh"), library]);
  const tree = await growTree(PROCESSES);
  const lines = [`devices ${GPUS}`, `latency ${QUERY_US} memory`];
  for (let gpu = 0; gpu < GPUS; gpu++) lines.push(`at 0 ${gpu} ${20 * GIB} ${GIB} ${80 * GIB}`);
  tree.pids.forEach((pid, i) => {
    lines.push(`proc 0 ${i % GPUS} ${pid} ${2 * GIB}`);
  });
  const scenario = path.join(directory, "scenario");
  writeFileSync(scenario, `${lines.join("\n")}\n`);
  process.env.STORMLOG_GATE_NVML = library;
  process.env.FAKE_NVML_SCENARIO = scenario;
  return {
    directory,
    tree,
    end() {
      tree.end();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

interface Spent {
  readonly hostNs: number;
  readonly hostTicks: number;
  readonly deviceNs: number;
  readonly deviceTicks: number;
}

let files = 0;

async function spend(
  addon: Addon,
  { directory, tree }: Machine,
  seconds: number,
  hostPeriodNs: number,
  devicePeriodNs: number,
) {
  const handle = addon.start({
    file: path.join(directory, `${files++}.slg`),
    rootPid: tree.rootPid,
    includeRoot: false,
    hostPeriodNs,
    devicePeriodNs,
    cpuBudget: null,
    marker: null,
    nvmlPath: process.env.STORMLOG_GATE_NVML ?? null,
  });
  await delay(seconds * 1e3);
  const stats = addon.stop(handle);
  const nvml = stats.workers.find(({ name }) => name === "nvml");
  if (nvml === undefined || nvml.devices !== GPUS)
    throw new Error(`the sampler saw ${nvml?.devices ?? 0} of ${GPUS} devices`);
  const devices = stats.workers.reduce((sum, { cpuNs }) => sum + cpuNs, 0);
  return {
    hostNs: stats.cpuNs - devices,
    hostTicks: stats.ticks,
    deviceNs: nvml.cpuNs,
    deviceTicks: nvml.ticks,
  } satisfies Spent;
}

/** CPU per tick between two lengths of a run: the cost of starting and stopping cancels. */
const perTick = (short: Spent, long: Spent, of: "host" | "device"): number =>
  (long[`${of}Ns`] - short[`${of}Ns`]) / (long[`${of}Ticks`] - short[`${of}Ticks`]) / 1e3;

/** One round, governor off. */
export async function deviceCosts(addon: Addon, machine: Machine, seconds: number): Promise<DeviceCosts> {
  const emptyUs = emptyLoopCost(addon, seconds, PERIOD_NS);
  const reading = (length: number) => spend(addon, machine, length, SECOND_NS, PERIOD_NS);
  const walking = (length: number) => spend(addon, machine, length, PERIOD_NS, 20_000_000);
  const device = perTick(await reading(seconds / 4), await reading(seconds * 1.25), "device");
  const host = perTick(await walking(seconds / 4), await walking(seconds * 1.25), "host");
  return { perRead: (device - emptyUs) / GPUS / QUERY_US, perProcessUs: (host - emptyUs) / PROCESSES, emptyUs };
}

/**
 * The whole command line at its defaults over a job of 64 processes on 8 GPUs: its CPU, and the CPU in the
 * recording.
 */
export async function governed(seconds: number, command: readonly string[]): Promise<Governed> {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-bench-governed-"));
  try {
    const output = path.join(directory, "recording");
    const job = `i=0; while [ $i -lt ${PROCESSES - 1} ]; do sleep ${seconds} & i=$((i+1)); done; wait`;
    const [node, ...args] = command;
    const run = spawnSync(node!, [...args, "record", "--probe", "off", "--output", output, "--", "sh", "-c", job], {
      encoding: "utf8",
      cwd: directory,
    });
    if (run.status !== 0) throw new Error(`record ended with ${run.status}: ${run.stderr.slice(-1500)}`);
    const recording = JSON.parse(readFileSync(path.join(output, "recording.json"), "utf8")) as {
      clock: { duration_s: number };
      sampler: {
        cpu_s: number;
        cpu_budget_percent: number;
        host_rate_hz: number | null;
        device_rate_hz: number | null;
      };
      devices?: readonly { rate_hz: number | null }[];
    };
    return {
      seconds: recording.clock.duration_s,
      cpuPercent: (recording.sampler.cpu_s / recording.clock.duration_s) * 100,
      budgetPercent: recording.sampler.cpu_budget_percent,
      hostHz: recording.sampler.host_rate_hz,
      deviceHz: recording.sampler.device_rate_hz,
      deviceRatesHz: (recording.devices ?? []).map(({ rate_hz }) => rate_hz),
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

export function withinBudget({ cpuPercent, budgetPercent, deviceRatesHz }: Governed): boolean {
  return (
    budgetPercent === BUDGET_PERCENT && cpuPercent <= budgetPercent && deviceRatesHz.every((rate) => rate !== null)
  );
}
