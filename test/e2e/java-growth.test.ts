import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { gateRequest } from "../../src/config/options.ts";
import { findExecutable } from "../../src/core/process/find-executable.ts";
import { runGate } from "../../src/gate/run-gate.ts";
import { silentPorts } from "../testing/silent-ports.ts";

/**
 * Garbage alone, or with `leak` 100 kB that stay in each of 400 rounds. Where its heap is collected from outside, it
 * runs until that has happened often enough. It looks at no clock, so a slow machine takes longer for the same.
 */
const PROGRAM = `
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

public class Program {
  static final List<byte[]> kept = new ArrayList<>();
  static volatile byte[] garbage;

  static long collections() {
    return ManagementFactory.getGarbageCollectorMXBeans().stream()
        .filter(bean -> bean.getName().equals("G1 Old Generation")).mapToLong(bean -> bean.getCollectionCount()).sum();
  }

  public static void main(String[] arguments) throws Exception {
    boolean collected = System.getenv("STORMLOG_GATE_COLLECT") != null;
    for (int round = 0; round < 400 || (collected && collections() < 12); round += 1) {
      for (int i = 0; i < 20; i += 1) garbage = new byte[50_000];
      if (arguments.length > 0) kept.add(new byte[100_000]);
      Thread.sleep(10);
    }
  }
}
`;

const { PATH } = process.env;
const java = await Promise.all(["java", "javac"].map((name) => findExecutable(name, "/", PATH)));

describe.skipIf(process.platform !== "linux" || java.some(({ kind }) => kind !== "found"))("a Java program", () => {
  const root = mkdtempSync(path.join(tmpdir(), "stormlog-java-growth-"));
  beforeAll(() => {
    writeFileSync(path.join(root, "Program.java"), PROGRAM);
    execFileSync("javac", ["Program.java"], { cwd: root });
  });
  afterAll(() => rmSync(root, { recursive: true, force: true }));

  const gate = async (bundle: string, ...argv: string[]) => {
    const { report } = await runGate(
      gateRequest({
        options: { bundle: path.join(root, bundle), "base-run": "off", baseline: ["none"], attribute: "off" },
        command: { kind: "argv", argv: ["java", "-XX:+UseG1GC", "-Xms16m", "-Xmx1g", ...argv] },
        config: null,
        root,
        defaultBaselines: [],
        defaultUnjudged: "warn",
        argv: [],
        env: { PATH },
      }),
      silentPorts(),
    );
    const [scenario] = report.scenarios;
    if (scenario === undefined) throw new Error("one scenario was asked for");
    const series = (role: string, metric: string) =>
      scenario.runs.flatMap((run) =>
        run.role === role ? (run.analysis?.series ?? []).filter((one) => one.metric === metric) : [],
      );
    return { ...scenario, series };
  };

  it("fails by what its heap keeps after collections, which a repetition forces and another confirms", async () => {
    const { verdict, judgement, series } = await gate("leaky", "Program", "leak");
    // Other programs of the machine may leave files in RAM.
    const own = judgement?.checks.filter(({ metric }) => metric !== "left_behind");
    const failed = own?.flatMap((one) => (one.verdict === "fail" ? [`${one.metric} ${one.aspect}`] : []));
    expect([verdict, failed]).toEqual(["fail", ["jvm_heap class"]]);
    // Where the machine stood still just before the end of one, the gate asks for two more.
    const leaks = series("candidate", "jvm_heap").filter((one) => one.class === "leak");
    expect(leaks.length).toBeGreaterThanOrEqual(2);
    // In the run as it is, no collection showed what the heap holds.
    expect(series("superseded", "jvm_heap").map((one) => one.class)).toEqual(["unavailable"]);
  }, 180_000);

  it("does not fail by garbage that its collector has not reclaimed", async () => {
    const { judgement } = await gate("clean", "Program");
    // Without a baseline no peak is judged. Other programs of the machine may leave files in RAM.
    const judged = judgement?.checks.filter(({ kind, metric }) => kind !== "peak" && metric !== "left_behind");
    expect(judged?.map((one) => `${one.metric} ${one.aspect} ${one.verdict}`)).toEqual([]);
  }, 180_000);
});
