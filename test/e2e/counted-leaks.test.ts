import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { gateRequest } from "../../src/config/options.ts";
import { runGate } from "../../src/gate/run-gate.ts";
import { renderSummary } from "../../src/report/markdown/summary-markdown.ts";
import { temporary } from "../testing/temporary.ts";

/**
 * Opens a pool of 100 descriptors first. Each of 300 steps opens one more, and in the clean program closes it; every
 * third starts a thread, which in the clean program ends. As long as needed for 40 readings at 10 Hz.
 */
const PROGRAM = `
import os, sys, threading, time
pool = [os.open(os.devnull, os.O_RDONLY) for _ in range(100)]
held, stop = [], threading.Event()
for step in range(300):
    if "descriptors" in sys.argv: held.append(os.open(os.devnull, os.O_RDONLY))
    else: os.close(os.open(os.devnull, os.O_RDONLY))
    if step % 3 == 0:
        thread = threading.Thread(target=stop.wait, args=() if "threads" in sys.argv else (0,), daemon=True)
        thread.start()
        if "threads" not in sys.argv: thread.join()
    time.sleep(0.015)
`;

import { silentPorts } from "../testing/silent-ports.ts";

const hasPython = spawnSync("python3", ["--version"]).status === 0;

async function gate(...args: string[]) {
  const root = temporary("counted");
  const program = path.join(root, "steps.py");
  writeFileSync(program, PROGRAM);
  const { report } = await runGate(
    gateRequest({
      options: { bundle: path.join(root, "bundle"), baseline: ["none"], attribute: "off" },
      command: { kind: "argv", argv: ["python3", program, ...args] },
      config: null,
      root,
      defaultBaselines: [],
      defaultUnjudged: "warn",
      argv: [],
      env: { PATH: process.env.PATH },
    }),
    silentPorts(),
  );
  const [scenario] = report.scenarios;
  if (scenario === undefined) throw new Error("one scenario was asked for");
  const series = scenario.runs.flatMap(({ analysis }) => analysis?.series ?? []);
  const counted = (metric: string) => series.find((one) => one.metric === metric);
  return { scenario, counted, markdown: renderSummary(report) };
}

describe.skipIf(!hasPython || process.platform !== "linux")("leaks that are not memory", () => {
  it("a program that keeps a descriptor a step fails in the second run, by their number", async () => {
    const { scenario, counted, markdown } = await gate("descriptors");
    expect(scenario.verdict, scenario.judgement?.reason).toBe("fail");
    const failed = scenario.judgement?.checks.filter(({ verdict }) => verdict === "fail") ?? [];
    expect(failed.map(({ metric, confirmed }) => [metric, confirmed])).toEqual([["descriptors", true]]);
    // Of 400 at the end. Where the sampler is not run for half a second, it misses the last of them.
    expect(counted("descriptors")?.peak_bytes).toBeGreaterThanOrEqual(300);
    // A slope over the whole run: where the steps do not keep their pace it says a little more or less than 300.
    const growths = [
      /leak of (\d+) descriptors in 2 of 2 runs/.exec(scenario.judgement?.reason ?? ""),
      /descriptor growth.*\+(\d+).descriptors/.exec(markdown),
    ].map((found) => Number(found?.[1]));
    for (const growth of growths) {
      expect(growth).toBeGreaterThanOrEqual(200);
      expect(growth).toBeLessThanOrEqual(counted("descriptors")?.peak_bytes ?? 0);
    }
    expect(markdown).toMatch(/leaks [\d.]+ descriptors\/s/);
  }, 120_000);

  it("a program whose threads never end fails by their number", async () => {
    const { scenario, counted } = await gate("threads");
    const check = scenario.judgement?.checks.find(({ metric }) => metric === "threads");
    expect(check, scenario.judgement?.reason).toMatchObject({ verdict: "fail", confirmed: true });
    // Of 101 at the end, of which the last reading may miss some.
    expect(counted("threads")?.peak_bytes).toBeGreaterThanOrEqual(75);
  }, 120_000);

  it("a program that keeps its pool of descriptors and closes the others does not fail", async () => {
    const { scenario, counted } = await gate();
    expect(counted("descriptors")?.peak_bytes).toBeGreaterThanOrEqual(100);
    expect(counted("threads")?.class).not.toBe("leak");
    const about = scenario.judgement?.checks.filter(({ metric }) => metric === "descriptors" || metric === "threads");
    expect([scenario.verdict, about], scenario.judgement?.reason).toEqual([expect.not.stringMatching("fail"), []]);
  }, 120_000);
});
