import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { readRecordFile } from "../telemetry/reading/record-file.ts";
import { PsSampler } from "./ps-sampler.ts";

const HOLD = "const b=Buffer.alloc(100*2**20,1);process.stdout.write('x');setInterval(()=>b,1000)";

it("the sampler by ps records the resident set of a tree, its root included, and leaves other values unknown", async () => {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const child = spawn("sh", ["-c", '"$@"; exit', "sh", process.execPath, "-e", HOLD], { detached: true });
  onTestFinished(() => void process.kill(-child.pid!, "SIGKILL"));
  await once(child.stdout, "data");
  const file = path.join(directory, "samples.rec");
  const sampler = new PsSampler(
    {
      file,
      rootPid: child.pid!,
      includeRoot: true,
      hostPeriodNs: 5e6,
      devicePeriodNs: 20e6,
      cpuBudget: null,
      marker: null,
      probeDirectory: null,
    },
    "no native build",
  );
  // The second of these is a quarter of a second after the first.
  for (let time = 0; time <= 250e6; ) {
    await vi.waitFor(() => expect(sampler.live().timeNs).toBeGreaterThan(time), { timeout: 20_000 });
    time = sampler.live().timeNs;
  }
  expect(sampler.live()).toMatchObject({ processes: 2, hostBytes: null, peakHostBytes: null });
  expect(sampler.live().rssBytes).toBeGreaterThan(100 * 2 ** 20);
  const stats = sampler.stop();
  expect(sampler.stop()).toBe(stats);
  expect(stats).toMatchObject({ missedTicks: 0, hostPeriodNs: 250e6, writeError: null });
  const { tree, stop, header } = await readRecordFile(file);
  expect([header.hostPeriodNs, stop?.ticks, tree.timeNs.length]).toEqual([250e6, stats.ticks, stats.ticks]);
  expect(Math.min(...tree.rss)).toBeGreaterThan(100 * 2 ** 20);
  expect([...tree.anon].every(Number.isNaN)).toBe(true);
  sampler.closeRecords();
});
