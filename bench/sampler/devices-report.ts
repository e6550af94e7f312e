import path from "node:path";
import { packageRoot } from "../../src/core/package-root.ts";
import type { Addon } from "./addon.ts";
import {
  deviceCosts,
  fakeMachine,
  governed,
  LIMIT_PROCESS_US,
  LIMIT_READ,
  noFake,
  QUERY_US,
  withinBudget,
} from "./devices.ts";

export interface DeviceOptions {
  readonly rounds: number;
  readonly seconds: number;
  /** How long the governed run lasts. */
  readonly governedSeconds: number;
  readonly json: boolean;
}

const middle = (samples: readonly number[]): number => [...samples].sort((a, b) => a - b)[samples.length >> 1]!;

/** Measures and prints; returns whether every limit held. */
export async function reportDevices(addon: Addon, options: DeviceOptions): Promise<boolean> {
  const why = noFake();
  if (why !== null) {
    console.log(options.json ? JSON.stringify({ skipped: why }) : `devices: not measured, ${why}`);
    return true;
  }
  const machine = await fakeMachine();
  try {
    const rounds = [];
    for (let round = 0; round < options.rounds; round++)
      rounds.push(await deviceCosts(addon, machine, options.seconds));
    const main = path.join(packageRoot(), "src", "cli", "main.ts");
    const whole = await governed(options.governedSeconds, [
      process.execPath,
      "--import",
      import.meta.resolve("tsx"),
      main,
    ]);
    const read = middle(rounds.map(({ perRead }) => perRead));
    const walked = middle(rounds.map(({ perProcessUs }) => perProcessUs));
    const ok = read <= LIMIT_READ && walked <= LIMIT_PROCESS_US && withinBudget(whole);
    if (options.json) {
      console.log(
        JSON.stringify({ query_us: QUERY_US, per_read: read, per_process_us: walked, rounds, governed: whole, ok }),
      );
      return ok;
    }
    const line = (name: string, value: string, held: boolean): void =>
      console.log(`  ${name.padEnd(58)} ${value} ${held ? "ok" : "MISSED"}`);
    console.log(
      `8 GPUs, 64 processes, a query of ${QUERY_US} µs, median of ${options.rounds} rounds of ${options.seconds} s`,
    );
    line(
      "CPU of a device's reading beyond the wake-up / query",
      `${read.toFixed(3)} (limit ${LIMIT_READ})`,
      read <= LIMIT_READ,
    );
    line(
      "CPU per process and sample beyond the wake-up",
      `${walked.toFixed(3)} µs (limit ${LIMIT_PROCESS_US})`,
      walked <= LIMIT_PROCESS_US,
    );
    const rates = new Set(whole.deviceRatesHz.map((rate) => rate?.toFixed(1) ?? "unknown"));
    line(
      `governor on, ${whole.seconds.toFixed(1)} s at the default rates`,
      `${whole.cpuPercent.toFixed(2)} % of a core (budget ${whole.budgetPercent} %)`,
      withinBudget(whole),
    );
    console.log(
      `  the recording states ${whole.hostHz?.toFixed(1)} Hz for the host, ${whole.deviceHz?.toFixed(1)} Hz for devices; each: ${[...rates].join(", ") || "nothing"}`,
    );
    return ok;
  } finally {
    machine.end();
  }
}
