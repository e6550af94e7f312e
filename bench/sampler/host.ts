import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { median } from "simple-statistics";
import type { Result } from "../shared/figures.ts";
import { medianInterval, ratioInterval } from "../shared/intervals.ts";
import type { Addon } from "./addon.ts";
import { emptyLoopCost, PERIOD_NS, psutilCost, sampled, samplerCost } from "./measure.ts";
import { systemCalls } from "./system-calls.ts";
import { growTree, type ProcessTree } from "./tree.ts";

/** Sampler over 16 sleeping processes against a loop that only wakes. */
const LIMIT_IDLE = 1.3;
/** The same over 16 processes whose memory changes between any two samples. */
const LIMIT_BUSY = 2.0;
/** Sampler against psutil, same processes, same rate. */
const LIMIT_PSUTIL = 0.25;
/** µs of CPU each further process may add to a tick. */
const LIMIT_MARGINAL_US = 1.2;
const SIZES = { one: 1, idle: 16, sixtyFour: 64 } as const;

export interface HostOptions {
  readonly rounds: number;
  readonly seconds: number;
}

interface Programs {
  /** What a busy process runs. */
  readonly busy: string;
  readonly readLoop: string;
}

/** Null without a compiler. */
function compiled(directory: string): Programs | null {
  const build = (name: string): string | null => {
    const program = path.join(directory, name);
    const source = fileURLToPath(new URL(`${name}.c`, import.meta.url));
    return spawnSync("gcc", ["-O2", "-o", program, source]).status === 0 ? program : null;
  };
  const [busy, readLoop] = [build("busy"), build("read_loop")];
  return busy === null || readLoop === null ? null : { busy, readLoop };
}

/** CPU per period of a loop that reads statm of every process and does nothing else. */
function readLoopCost(program: string, { pids }: ProcessTree, seconds: number): number {
  const { stdout, status } = spawnSync(program, [PERIOD_NS, Math.ceil(seconds), ...pids].map(String), {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error("a process ended while it was read");
  return Number(stdout) / 1e3;
}

interface Costs {
  readonly empty: number[];
  readonly emptyBusy: number[];
  readonly one: number[];
  readonly idle: number[];
  readonly sixtyFour: number[];
  readonly busy: number[];
  readonly busyRead: number[];
  readonly psutil: number[];
}

/** All in turn, several times, the control as long as what it is compared with: other load affects all alike. */
async function measure(
  addon: Addon,
  trees: Readonly<Record<keyof typeof SIZES, ProcessTree>>,
  programs: Programs | null,
  { rounds, seconds }: HostOptions,
): Promise<Costs> {
  const cost: Costs = {
    empty: [],
    emptyBusy: [],
    one: [],
    idle: [],
    sixtyFour: [],
    busy: [],
    busyRead: [],
    psutil: [],
  };
  for (let round = 0; round < rounds; round += 1) {
    cost.empty.push(emptyLoopCost(addon, seconds));
    for (const name of ["idle", "one", "sixtyFour"] as const) {
      cost[name].push(await samplerCost(addon, trees[name], seconds));
    }
    const psutil = psutilCost(trees.idle, seconds);
    if (psutil !== null) cost.psutil.push(psutil);
    if (programs === null) continue;
    // They keep the processors from sleeping and fill their caches, for the control as well.
    const busy = await growTree(16, programs.busy);
    try {
      cost.emptyBusy.push(emptyLoopCost(addon, seconds));
      cost.busy.push(await samplerCost(addon, busy, seconds));
      cost.busyRead.push(readLoopCost(programs.readLoop, busy, seconds));
    } finally {
      busy.end();
    }
  }
  return cost;
}

/** The ratio of two costs; skipped where either was not measured, as by a tool that is not installed. */
export function compared(
  name: string,
  over: readonly number[],
  under: readonly number[],
  limit: number | null,
  without: string,
): Result {
  if (over.length === 0 || under.length === 0) return { name, skipped: without };
  const { ratio, ...interval } = ratioInterval(over.map((one, round) => [one, under[round]!] as const));
  const note = `${median(over).toFixed(1)} / ${median(under).toFixed(1)} µs a period`;
  return { name, value: ratio, interval, limit, unit: "", note };
}

/** The cost of sampling the host. */
export async function hostResults(addon: Addon, options: HostOptions): Promise<readonly Result[]> {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-busy-"));
  const trees: ProcessTree[] = [];
  try {
    const grow = async (size: number): Promise<ProcessTree> => {
      const tree = await growTree(size);
      trees.push(tree);
      return tree;
    };
    const grown = { one: await grow(SIZES.one), idle: await grow(SIZES.idle), sixtyFour: await grow(SIZES.sixtyFour) };
    const cost = await measure(addon, grown, compiled(directory), options);
    const { median: marginal, ...marginalInterval } = medianInterval(
      cost.sixtyFour.map((one, round) => (one - cost.one[round]!) / (SIZES.sixtyFour - SIZES.one)),
    );
    const start = (await sampled(addon, grown.idle, 0.05)).cpuNs / 1e6;
    const calls = await systemCalls(addon, grown.idle);
    return [
      compared("sampler, 16 idle processes / empty loop, 1 kHz", cost.idle, cost.empty, LIMIT_IDLE, ""),
      compared("sampler, 16 busy processes / empty loop, 1 kHz", cost.busy, cost.emptyBusy, LIMIT_BUSY, "no gcc"),
      compared("a loop that only reads the 16 files / empty loop", cost.busyRead, cost.emptyBusy, null, "no gcc"),
      compared("sampler / psutil loop, 16 idle processes", cost.idle, cost.psutil, LIMIT_PSUTIL, "no psutil"),
      {
        name: "each further idle process",
        value: marginal,
        interval: marginalInterval,
        limit: LIMIT_MARGINAL_US,
        unit: "µs",
      },
      { name: "CPU to start and end sampling", value: start, interval: null, limit: null, unit: "ms" },
      "skipped" in calls
        ? { name: "system calls", skipped: String(calls.skipped) }
        : {
            name: "system calls over 16 idle processes",
            value: Object.values(calls).reduce((sum, one) => sum + one, 0),
            interval: null,
            limit: null,
            unit: "a ms",
            note: Object.entries(calls)
              .map(([name, count]) => `${name} ${count.toFixed(2)}`)
              .join(", "),
          },
    ];
  } finally {
    for (const tree of trees) tree.end();
    rmSync(directory, { recursive: true });
  }
}
