import path from "node:path";
import { describe, expect, it } from "vitest";
import { readRecordFile } from "../../src/telemetry/reading/record-file.ts";
import type { RecordFile } from "../../src/telemetry/recording/record-columns.ts";
import { type Measured, measured, node } from "./kit.ts";

const MIB = 2 ** 20;
const recordOf = ({ directory }: Measured): Promise<RecordFile> => readRecordFile(path.join(directory, "samples.rec"));
const largest = (column: Float64Array): number =>
  column.reduce((max, value) => (Number.isNaN(value) ? max : Math.max(max, value)), 0);

/** Holds 100 MiB of its own until it is killed. */
const HOLD = "const b=Buffer.alloc(100*2**20,1);process.stdout.write('x');setInterval(()=>b,1000);";
/**
 * Starts three of them, the last in its own session, and ends them 1.5 s after all three hold, in which a busy machine
 * samples them.
 */
const THREE = `
let ready = 0;
const held = [0, 1, 2].map((i) => require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(HOLD)}], { detached: i === 2 }));
for (const child of held) child.stdout.once("data", () => {
  if (++ready === 3) setTimeout(() => held.forEach((each) => each.kill("SIGKILL")), 1500);
});
`;

describe("what the sampler records", () => {
  it("the sampler records the whole tree, each process with its start and its end", async () => {
    const run = await measured(node(THREE));
    const file = await recordOf(run);
    expect(run.info.exit).toEqual({ kind: "exited", code: 0 });
    expect(largest(file.tree.processes)).toBe(4);
    expect(largest(file.tree.anon) / MIB).toBeGreaterThan(300);
    expect(largest(file.tree.anon) / MIB).toBeLessThan(450);
    expect(run.info.peaks[0]?.bytes).toBeGreaterThan(300 * MIB);
    expect(file.processes.count).toBe(4);
    const children = file.processes.all.filter(({ parent }) => parent === run.info.identity.pid);
    expect(children).toHaveLength(3);
    for (const child of children) {
      expect(child.exitNs).toBeGreaterThan(child.startNs);
      expect(child.highWater).toBeGreaterThan(100 * MIB);
    }
    expect(file.header.rootPid).not.toBe(run.info.identity.pid);
    expect(file.stop?.ticks).toBe(run.info.sampler.ticks);
  });

  it("keeps its rate and skips what it cannot keep", async () => {
    const run = await measured(node("setTimeout(()=>{},1000)"), { hostPeriodNs: 10e6 });
    const { tree } = await recordOf(run);
    // A sample belongs to one deadline of the grid, so every second one is more than a period later, however late they
    // are.
    const pairs = tree.timeNs.subarray(2).map((timeNs, i) => timeNs - tree.timeNs[i]!);
    expect(pairs.every((ns) => ns > 9.9e6)).toBe(true);
    expect(run.info.sampler.ticks! + run.info.sampler.missed_ticks!).toBeGreaterThanOrEqual(95);
    expect(run.info.sampler.host_rate_hz).toBeGreaterThan(40);
  });

  it("widens the period under a budget that is too small for it, and writes that down", async () => {
    const run = await measured(node("setTimeout(()=>{},2600)"), { hostPeriodNs: 1e6, cpuBudget: 0.0005 });
    const { rates } = await recordOf(run);
    expect(rates.length).toBeGreaterThanOrEqual(2);
    expect(rates.at(-1)!.hostPeriodNs).toBeGreaterThan(1e6);
    expect(run.info.sampler.cpu_budget_percent).toBeCloseTo(0.05);
  });
});
