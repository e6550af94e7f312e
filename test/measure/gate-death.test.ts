import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { findPrebuild } from "../../src/sampler/prebuild.ts";
import { readStat } from "../../src/sampler/proc.ts";
import { median } from "../../src/stats/order-statistics.ts";
import {
  ALL_WAYS,
  draws,
  infoOf,
  KILLS,
  KILLS_LIMIT,
  leftAfter,
  recordsOf,
  startGate,
  tries,
  type Way,
} from "./kills.ts";
import { anyThreadLives, temporaryDirectory, WITHOUT_FIRST_THREAD } from "./kit.ts";

/** Both hold for the middle kill: on a busy machine a process may wait long for its turn. */
const LOST_MS = 250;
const GONE_MS = 2000;
const ORPHANS_GONE_MS = 20_000;
const START_MS = 60_000;
/** Of these kills one in four comes before sampling has begun. */
const EARLY = 0.25;
const MAX_START_MS = 600;
const MAX_RUN_MS = 600;

interface Killed {
  readonly wrong: readonly string[];
  /** Milliseconds before the kill of which nothing is left; null where it came before sampling. */
  readonly lostMs: number | null;
  /** Until no process was left. */
  readonly goneMs: number;
}

/** Kill a gate at a random time. @param draw from 0 to 1 */
async function killGate(way: Way, draw: number): Promise<Killed> {
  const gate = await startGate(way, 1);
  const directory = path.join(gate.directory, "1");
  try {
    const early = draw < EARLY;
    if (early) await sleep((draw / EARLY) * MAX_START_MS);
    else {
      const { process: child, errors } = gate;
      for (const until = Date.now() + START_MS; (infoOf(directory)?.identity.pid ?? -1) < 0; await sleep(10))
        if (Date.now() > until || child.exitCode !== null) throw new Error(`the gate measures nothing: ${errors()}`);
      await sleep(((draw - EARLY) / (1 - EARLY)) * MAX_RUN_MS);
    }
    // What is in the file before the kill is not lost by it.
    const seenNs = early ? 0 : ((await recordsOf(directory))?.lastNs ?? 0);
    const killedNs = process.hrtime.bigint();
    gate.process.kill("SIGKILL");
    await gate.exited;
    const left = await leftAfter(ORPHANS_GONE_MS, gate.word);
    const goneMs = Number(process.hrtime.bigint() - killedNs) / 1e6;
    const wrong = left.length === 0 ? [] : [`${left.length} processes left`];
    const records = await recordsOf(directory);
    if (records === null) return { wrong: early ? wrong : [...wrong, "no record file"], lostMs: null, goneMs };
    if (records.lastNs < seenNs || records.skippedRecords > 0 || records.stop !== null) wrong.push("records are lost");
    if (infoOf(directory)?.complete !== false) wrong.push("the recording is not marked as incomplete");
    const lostMs = Number(killedNs - records.header.monotonicStartNs - BigInt(records.lastNs)) / 1e6;
    return { wrong, lostMs, goneMs };
  } finally {
    gate.process.kill("SIGKILL");
    gate.remove();
  }
}

const native = !("reason" in findPrebuild());
const hasPython = spawnSync("python3", ["--version"]).status === 0;

describe("a gate that is killed with SIGKILL", () => {
  it.skipIf(!native).each(ALL_WAYS)(
    `a gate with isolation $got that is killed at a random time leaves a readable recording and no process, ${KILLS} times`,
    KILLS_LIMIT,
    async (way) => {
      const lostMs: number[] = [];
      const goneMs: number[] = [];
      const numbers = draws(KILLS);
      const wrong = await tries(KILLS, async (index) => {
        const killed = await killGate(way, numbers[index]!);
        if (killed.lostMs !== null) lostMs.push(killed.lostMs);
        goneMs.push(killed.goneMs);
        return killed.wrong;
      });
      expect(wrong).toEqual([]);
      expect(median(lostMs)).toBeLessThanOrEqual(LOST_MS);
      expect(median(goneMs)).toBeLessThanOrEqual(GONE_MS);
    },
  );

  it.skipIf(!native || !hasPython)("leaves no process whose first thread has ended", async () => {
    const file = path.join(temporaryDirectory(), "pid");
    const [unwalled] = ALL_WAYS;
    const gate = await startGate(unwalled!, 1, () => ["python3", "-c", WITHOUT_FIRST_THREAD, file]);
    onTestFinished(gate.remove);
    await vi.waitFor(() => expect(readFileSync(file, "utf8")).not.toBe(""), { timeout: 10_000 });
    const pid = Number(readFileSync(file, "utf8"));
    await vi.waitFor(() => expect(readStat(pid)?.state).toBe("Z"), { timeout: 5000 });
    gate.process.kill("SIGKILL");
    await vi.waitFor(() => expect(anyThreadLives(pid)).toBe(false), { timeout: ORPHANS_GONE_MS });
  });
});
