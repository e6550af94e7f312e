import { median } from "simple-statistics";
import type { Addon } from "./addon.ts";
import { emptyLoopCost, PERIOD_NS, psutilCost, samplerCost } from "./measure.ts";
import { growTree } from "./tree.ts";

/** Sampler over 16 processes against a loop that only wakes. */
const LIMIT_EMPTY = 1.4;
/** Sampler against psutil, same processes, same rate. */
const LIMIT_PSUTIL = 0.25;
/** µs of CPU each further process may add to a tick. */
const LIMIT_MARGINAL_US = 1.2;
const SIZES = [1, 16, 64] as const;

export interface HostOptions {
  readonly rounds: number;
  readonly seconds: number;
  readonly json: boolean;
}

/** Measures and prints the cost of sampling the host; returns whether every limit held. */
export async function reportHost(addon: Addon, { rounds, seconds, json }: HostOptions): Promise<boolean> {
  const trees = [];
  try {
    for (const size of SIZES) trees.push(await growTree(size));
    const [one, sixteen, sixtyFour] = trees as [(typeof trees)[0], (typeof trees)[0], (typeof trees)[0]];
    const cost = {
      empty: [] as number[],
      one: [] as number[],
      sixteen: [] as number[],
      sixtyFour: [] as number[],
      psutil: [] as number[],
    };
    // All in turn, several times: other load affects every competitor alike.
    for (let round = 0; round < rounds; round += 1) {
      cost.empty.push(emptyLoopCost(addon, seconds));
      cost.sixteen.push(await samplerCost(addon, sixteen, seconds));
      cost.one.push(await samplerCost(addon, one, seconds));
      cost.sixtyFour.push(await samplerCost(addon, sixtyFour, seconds));
      const psutil = psutilCost(sixteen, seconds);
      if (psutil !== null) cost.psutil.push(psutil);
    }
    const us = {
      // Median of the rounds: one disturbed round does not decide.
      empty: median(cost.empty),
      one: median(cost.one),
      sixteen: median(cost.sixteen),
      sixtyFour: median(cost.sixtyFour),
      psutil: cost.psutil.length > 0 ? median(cost.psutil) : null,
    };
    const perRound = (numerator: readonly number[], denominator: readonly number[]) =>
      median(numerator.map((value, round) => value / denominator[round]!));
    const limits = [
      {
        name: "sampler, 16 processes / empty wake loop",
        value: perRound(cost.sixteen, cost.empty),
        limit: LIMIT_EMPTY,
      },
      {
        name: "sampler / psutil loop, 16 processes",
        value: us.psutil === null ? null : perRound(cost.sixteen, cost.psutil),
        limit: LIMIT_PSUTIL,
      },
      {
        name: "µs per further process and tick",
        value: (us.sixtyFour - us.one) / (SIZES[2] - SIZES[0]),
        limit: LIMIT_MARGINAL_US,
      },
    ];
    const missed = limits.filter(({ value, limit }) => value !== null && value > limit);
    if (json) {
      console.log(
        JSON.stringify({ period_ns: PERIOD_NS, rounds, cpu_us_per_tick: us, limits, ok: missed.length === 0 }),
      );
    } else {
      console.log(`CPU per tick at ${1e9 / PERIOD_NS} Hz, governor off, median of ${rounds} rounds of ${seconds} s`);
      const row = (name: string, value: number | null) =>
        console.log(
          `  ${name.padEnd(42)} ${value === null ? "skipped: /usr/bin/python3 has no psutil" : `${value.toFixed(2)} µs`}`,
        );
      row("empty wake loop", us.empty);
      row("sampler, 1 process", us.one);
      row("sampler, 16 processes", us.sixteen);
      row("sampler, 64 processes", us.sixtyFour);
      row("psutil loop, 16 processes", us.psutil);
      for (const { name, value, limit } of limits) {
        if (value === null) continue;
        console.log(`  ${name.padEnd(42)} ${value.toFixed(3)} (limit ${limit}) ${value > limit ? "MISSED" : "ok"}`);
      }
    }
    return missed.length === 0;
  } finally {
    for (const tree of trees) tree.end();
  }
}
