import { cpSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject } from "./evidence.ts";
import { type Machine, program, ROOT } from "./machine.ts";
import { Helper } from "./processes.ts";
import { median } from "./statistics.ts";
import { Trainer } from "./trainer.ts";

/**
 * - `bare`: the training loop alone;
 * - `gate`: under `stormlog-gate record` with its default rates;
 * - `sampler`: the same without the probe;
 * - `probe`: the probe alone, without a sampler;
 * - `lists`: bare, while another process asks NVML for process lists 40 times a second, as monitors do and the gate
 *   does not.
 */
const ARMS = ["bare", "gate", "sampler", "probe", "lists"] as const;
type Arm = (typeof ARMS)[number];
export type Workload = "small" | "large" | "churn" | "stand-in";

const LISTS_HZ = 40;
/** Delay between resuming a process and timing it, for the work that it deferred. */
const SETTLE_MS = 40;

export interface SetOptions {
  readonly workload: Workload;
  readonly rounds: number;
  readonly segmentS: number;
  readonly warmS: number;
}

/** What was attached: a ratio of 1 from a gate that read nothing is not evidence. */
function attached(directory: string): JsonObject {
  const file = path.join(directory, "recording.json");
  if (!existsSync(file)) return { recorded: false };
  const recording = JSON.parse(readFileSync(file, "utf8")) as {
    sources: { name: string; available: boolean }[];
    probe?: { processes_total: number };
    sampler: { host_period_ns: number; device_period_ns: number };
  };
  const of = (name: string) => recording.sources.some((one) => one.name === name && one.available);
  return {
    recorded: true,
    nvml: of("nvml"),
    probed_processes: recording.probe?.processes_total ?? 0,
    host_period_ms: recording.sampler.host_period_ns / 1e6,
    device_period_ms: recording.sampler.device_period_ns / 1e6,
  };
}

/**
 * One set: every arm is a separate process. They take turns in short segments, one at a time, so that other load on
 * the machine affects all of them. @returns for each arm the median ratio of its time to the bare loop's in the same
 * round
 */
export async function stepSet(
  machine: Machine,
  { workload, rounds, segmentS, warmS }: SetOptions,
): Promise<JsonObject> {
  const directory = path.join(machine.work, `set-${workload}-${Date.now()}`);
  const probeDirectory = path.join(directory, "probe");
  const inject = path.join(ROOT, "dist", "probe", "inject");
  mkdirSync(probeDirectory, { recursive: true });
  cpSync(inject, path.join(directory, "inject"), { recursive: true });
  const loop = (arm: Arm): string[] => [program("trainer.py"), path.join(directory, `${arm}.sock`), workload];
  const record = (arm: "gate" | "sampler", ...options: string[]): [string, string[]] => [
    process.execPath,
    [machine.cli, "record", "--output", path.join(directory, arm), ...options, "--", machine.python, ...loop(arm)],
  ];
  const probed = {
    ...machine.env,
    PYTHONPATH: [path.join(directory, "inject"), machine.env.PYTHONPATH].filter(Boolean).join(path.delimiter),
    STORMLOG_GATE_PROBE_DIR: probeDirectory,
  };
  const trainers = new Map<Arm, Trainer>();
  const endTrainers = async (): Promise<void> => {
    await Promise.all([...new Set(trainers.values())].map((trainer) => trainer.end()));
    trainers.clear();
  };
  let monitor: Helper | undefined;
  try {
    const started = await Promise.allSettled(
      (
        [
          ["bare", [machine.python, loop("bare")], machine.env],
          ["gate", record("gate"), machine.env],
          ["sampler", record("sampler", "--probe", "off"), machine.env],
          ["probe", [machine.python, loop("probe")], probed],
        ] as const
      ).map(async ([arm, [command, args], env]) => {
        const trainer = await Trainer.start(command, args, env, path.join(directory, `${arm}.sock`));
        trainers.set(arm, trainer);
        trainer.pause();
      }),
    );
    for (const one of started) if (one.status === "rejected") throw one.reason;
    const bare = trainers.get("bare")!;
    trainers.set("lists", bare);
    monitor = new Helper(machine.python, [program("poll.py")], machine.env);
    await monitor.answer();

    const steps = await calibrate(bare, segmentS);
    for (const arm of ["gate", "sampler", "probe"] as const) {
      const trainer = trainers.get(arm)!;
      trainer.resume();
      await trainer.steps(Math.max(1, Math.round((steps * warmS) / segmentS)));
      trainer.pause();
    }
    const taken: Record<Arm, number[]> = { bare: [], gate: [], sampler: [], probe: [], lists: [] };
    for (let round = 0; round < rounds; round++) {
      // Each round starts with another arm, and every second round is reversed.
      const turned = ARMS.map((_, i) => ARMS[(i + round) % ARMS.length]!);
      for (const arm of round % 2 === 0 ? turned : turned.reverse()) {
        const trainer = trainers.get(arm)!;
        trainer.resume();
        await delay(SETTLE_MS);
        const watching = arm === "lists" ? monitor.ask(`list ${LISTS_HZ} ${segmentS}`) : undefined;
        taken[arm].push(await trainer.steps(steps));
        await watching;
        trainer.pause();
      }
    }
    await endTrainers();
    const ratio = (arm: Arm): number => Math.exp(median(taken[arm].map((one, i) => Math.log(one / taken.bare[i]!))));
    return {
      workload,
      rounds,
      steps,
      step_ms: (median(taken.bare) / steps) * 1e3,
      ratios: { gate: ratio("gate"), sampler: ratio("sampler"), probe: ratio("probe"), lists: ratio("lists") },
      attached: attached(path.join(directory, "gate")),
      probe_rings: existsSync(probeDirectory),
    };
  } finally {
    monitor?.end();
    await endTrainers();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** How many steps take `seconds`, once everything is warm. Leaves the loop stopped. */
async function calibrate(trainer: Trainer, seconds: number): Promise<number> {
  trainer.resume();
  let count = 1;
  for (;;) {
    const taken = await trainer.steps(count);
    if (taken > seconds / 2) {
      const wanted = Math.max(1, Math.round((count * seconds) / taken));
      const again = await trainer.steps(wanted);
      trainer.pause();
      return Math.max(1, Math.round((wanted * seconds) / again));
    }
    count *= 2;
  }
}
