import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { noFakeNvml } from "./testing/fake-nvml.ts";
import { highest, MIB, ONE_GPU, seen } from "./testing/measured.ts";
import { measuredAll } from "./testing/measured-all.ts";

const PROGRAM = path.join(fileURLToPath(new URL("fixtures", import.meta.url)), "pools.py");
const absent = noFakeNvml();
const budgets = (fragmentation: string, graphs: string, outside: string) => ({
  options: [
    ...["--budget", `fragmentation=${fragmentation}`, "--budget", `graph_pools=${graphs}`],
    ...["--budget", `outside_allocator=${outside}`],
  ],
});
const pools = ["python3", PROGRAM, "50", "96", "48"];
const run = measuredAll(
  absent !== null
    ? {}
    : {
        below: () => seen(ONE_GPU, pools, budgets("100MiB", "50MiB", "400MiB")),
        above: () => seen(ONE_GPU, pools, budgets("90MiB", "40MiB", "300MiB")),
        unnamed: () => seen(ONE_GPU, pools),
      },
);

describe.skipIf(absent !== null)(`what no allocator's level shows${absent === null ? "" : ` (${absent})`}`, () => {
  it("memory that cannot be released and the pools of graphs are recorded", () => {
    const { recording } = run("unnamed");
    expect(highest(recording, "cuda:0", "fragmentation")).toBe(96 * MIB);
    expect(highest(recording, "cuda:0", "graph_pools")).toBe(48 * MIB);
  });

  it("fails above a budget that names it, and passes below", () => {
    const names = ["outside-allocator peak", "fragmentation peak", "graph-pool peak"];
    const [below, above] = [run("below"), run("above")];
    expect([below.code, above.code]).toEqual([0, 4]);
    for (const name of names) {
      expect(below.summary).toContain(`✅ ${name}`);
      expect(above.summary).toContain(`❌ ${name}`);
    }
  });

  it("fragmentation and graph pools are neither judged nor shown where no budget names them", () => {
    const { code, summary } = run("unnamed");
    expect(code).toBe(0);
    for (const name of ["outside-allocator", "fragmentation", "graph-pool"]) expect(summary).not.toContain(name);
  });
});
