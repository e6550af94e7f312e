import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it, vi } from "vitest";
import { findPrebuild } from "../../src/sampler/prebuild.ts";
import { readStat } from "../../src/sampler/proc.ts";
import { median } from "../../src/stats/order-statistics.ts";
import { prng } from "../../src/stats/testing/prng.ts";
import { readRecordFile } from "../../src/telemetry/reading/record-file.ts";
import type { RecordingInfo } from "../../src/telemetry/recording/model.ts";
import {
  anyThreadLives,
  livingOfRun,
  livingWith,
  temporaryDirectory,
  uniqueWord,
  WITHOUT_FIRST_THREAD,
} from "./kit.ts";

/** Each takes a second; `npm run soak` kills more often. */
const KILLS = Number(process.env.STORMLOG_TEST_KILLS ?? "3");
const DRIVER = fileURLToPath(new URL("fixtures/gate-driver.ts", import.meta.url));
/** A failure is repeated with the same seed. */
const random = prng(Number(process.env.STORMLOG_TEST_SEED ?? "1")).uniform;
/** The soak has the machine for itself, and holds every kill to the times; beside other tests it is the middle one. */
const IS_SOAK = process.env.STORMLOG_TEST_KILLS !== undefined;
const LOST_MS = 250;
const ORPHANS_GONE_MS = IS_SOAK ? 2000 : 20_000;

const LOOP = `trap "" INT TERM HUP; while :; do sleep 60; done`;
/** One that ignores signals, one in a separate session, one that forked twice and lost its parent. */
const STUBBORN_TREE = `setsid sh -c '${LOOP}' $0 & (setsid sh -c '${LOOP}' $0 & ) ; ${LOOP}`;

interface Killed {
  readonly killedNs: bigint;
  /** Time of the last sample that was in the file before the kill; 0 without one. */
  readonly seenNs: number;
  readonly directory: string;
  readonly orphans: readonly number[];
}

function startGate(directory: string, word: string, env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(process.execPath, ["--import", "tsx", DRIVER, directory, "sh", "-c", STUBBORN_TREE, word], {
    stdio: "ignore",
    env: { ...process.env, ...env },
  });
}

function infoOf(directory: string): RecordingInfo | null {
  const file = path.join(directory, "recording.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as RecordingInfo) : null;
}

const markerOf = (pid: number): string | null =>
  /STORMLOG_GATE_RUN=([0-9a-f]{32})/.exec(readFileSync(`/proc/${pid}/environ`, "latin1"))?.[1] ?? null;

/** Kill a gate: `afterMs` past the start of sampling, or, when negative, that long after it was spawned. */
async function killAt(afterMs: number, env: NodeJS.ProcessEnv): Promise<Killed> {
  const directory = path.join(temporaryDirectory(), "run");
  const word = uniqueWord();
  const gate = startGate(directory, word, env);
  const exited = new Promise((resolve) => gate.once("exit", resolve));
  let marker: string | null = null;
  if (afterMs >= 0) {
    const until = Date.now() + 20_000;
    while (Date.now() < until && (infoOf(directory)?.identity.pid ?? -1) < 0) await sleep(10);
    await sleep(afterMs);
    const pid = infoOf(directory)?.identity.pid ?? -1;
    if (pid > 0) marker = markerOf(pid);
    expect(marker).not.toBeNull();
  } else {
    await sleep(-afterMs);
  }
  const raw = path.join(directory, "samples.rec");
  const seenNs = afterMs >= 0 && existsSync(raw) ? (await readRecordFile(raw)).lastNs : 0;
  const killedNs = process.hrtime.bigint();
  gate.kill("SIGKILL");
  await exited;
  const living = (): number[] => [...livingWith(word), ...(marker === null ? [] : livingOfRun(marker))];
  while (living().length > 0 && Number(process.hrtime.bigint() - killedNs) / 1e6 < ORPHANS_GONE_MS) await sleep(50);
  return { killedNs, seenNs, directory, orphans: living() };
}

/** Milliseconds before the kill of which nothing is left. */
async function readable({ directory, killedNs, seenNs }: Killed): Promise<number> {
  const raw = path.join(directory, "samples.rec");
  if (!existsSync(raw)) return 0;
  const file = await readRecordFile(raw);
  expect(file.lastNs).toBeGreaterThanOrEqual(seenNs);
  expect(file.skippedRecords).toBe(0);
  expect(file.stop).toBeNull();
  expect(infoOf(directory)?.complete).toBe(false);
  return Number(killedNs - file.header.monotonicStartNs - BigInt(file.lastNs)) / 1e6;
}

const native = !("reason" in findPrebuild());
const hasPython = spawnSync("python3", ["--version"]).status === 0;

describe("a gate that is killed with SIGKILL", () => {
  it.skipIf(!native)(
    `leaves a readable recording and no orphan, ${KILLS} times at random times`,
    async () => {
      const lostMs: number[] = [];
      for (let i = 0; i < KILLS; i++) {
        const killed = await killAt(random() * 900, {});
        expect(killed.orphans).toEqual([]);
        expect(existsSync(path.join(killed.directory, "samples.rec"))).toBe(true);
        lostMs.push(await readable(killed));
      }
      expect(IS_SOAK ? Math.max(...lostMs) : median(lostMs)).toBeLessThanOrEqual(LOST_MS);
    },
    KILLS * 60_000,
  );

  it.skipIf(!native)(
    "leaves no orphan when it dies while it starts",
    async () => {
      for (let i = 0; i < Math.ceil(KILLS / 3); i++) {
        const killed = await killAt(-(300 + random() * 500), {});
        expect(killed.orphans).toEqual([]);
        await readable(killed);
      }
    },
    KILLS * 60_000,
  );

  it.skipIf(!native || !hasPython)("leaves no process whose first thread has ended", async () => {
    const parent = temporaryDirectory();
    const file = path.join(parent, "pid");
    const argv = ["--import", "tsx", DRIVER, path.join(parent, "run"), "python3", "-c", WITHOUT_FIRST_THREAD, file];
    const gate = spawn(process.execPath, argv, { stdio: "ignore" });
    await vi.waitFor(() => expect(readFileSync(file, "utf8")).not.toBe(""), { timeout: 10_000 });
    const pid = Number(readFileSync(file, "utf8"));
    await vi.waitFor(() => expect(readStat(pid)?.state).toBe("Z"), { timeout: 5000 });
    gate.kill("SIGKILL");
    await vi.waitFor(() => expect(anyThreadLives(pid)).toBe(false), { timeout: ORPHANS_GONE_MS });
  });
});
