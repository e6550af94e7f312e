import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canBeHostile, HostileStep } from "../action/testing/hostile-step.ts";
import type { StepResult } from "../action/testing/mini-runner.ts";

/** Functions of an attack module: the gate, which started the launcher that started the command, and its limits. */
const TOOLS = `import { execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
const gate = () => Number(/\\) \\S (\\d+)/.exec(readFileSync("/proc/" + process.ppid + "/stat", "utf8"))[1]);
const limit = (...limits) => execFileSync("prlimit", ["--pid", String(gate()), ...limits]);
const recorded = ({ temp }) => statSync(path.join(temp, readdirSync(temp, { recursive: true })
  .filter((file) => path.basename(file) === "samples.rec").at(-1))).size;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
`;

const CONFIG = `scenarios:
  - name: train
    run: ${JSON.stringify([process.execPath, "work.mjs"])}
    timeout: 15
baseline: file:baselines
`;

describe.skipIf(!canBeHostile)("a change that hinders the gate's process", () => {
  let step: HostileStep;
  beforeAll(async () => {
    step = await HostileStep.start({ config: CONFIG });
  }, 120_000);
  afterAll(() => step.stop());

  const attempt = (body: string): Promise<StepResult> => step.attempt({ breach: true, attack: `${TOOLS}${body}` });

  /** It ended by itself, as an error with this code and without a stack trace. */
  function expectError(result: StepResult, code: string): void {
    expect(result.signals, result.log).toEqual([]);
    expect(result.signal).toBeNull();
    expect(result.code, result.log).toBe(1);
    expect(result.outputs.verdict ?? "error").toBe("error");
    expect(result.log).toContain(code);
    expect(result.log).not.toMatch(/INTERNAL|This is a bug|\n\s+at /);
  }

  it("a command that lowers the size of files while it allocates is an error that names the failed write", async () => {
    // Until long after the next write is due, even of a sampler that waits for a busy machine.
    const result = await attempt(`export const before = (job) => limit("--fsize=" + recorded(job) + ":");
export const after = async () => { await sleep(3000); limit("--fsize=unlimited:"); };`);
    expectError(result, "RECORD_FILE_INCOMPLETE");
  }, 120_000);

  it("a command that stops the gate while it allocates is an error that names the stop", async () => {
    const result = await attempt(`const pid = gate();
const isStopped = () => /\\) T /.test(readFileSync("/proc/" + pid + "/stat", "latin1"));
export const before = async () => {
  const script = 'kill -STOP $0; sleep 2; kill -CONT $0';
  spawn("sh", ["-c", script, String(pid)], { stdio: "ignore" });
  while (!isStopped()) await sleep(5);
};
export const after = async () => { while (isStopped()) await sleep(20); await sleep(400); };`);
    expectError(result, "GATE_STOPPED");
  }, 120_000);

  it.each([
    ["once", 'process.kill(gate(), "SIGSTOP");'],
    ["again and again", 'const pid = gate(); setInterval(() => process.kill(pid, "SIGSTOP"), 1);'],
  ])(
    "a command that stops the gate %s and stays ends within its timeout",
    async (_, body) => {
      const stay = "return new Promise(() => setInterval(() => {}, 1000));";
      const result = await attempt(`export const before = () => { ${body} ${stay} };`);
      expect(result.signals, result.log).toEqual([]);
      expect(result.code, result.log).toBe(1);
      expect(result.outputs.verdict).toBe("error");
      expect(result.summary).toContain("the gate was stopped during the run");
    },
    120_000,
  );
});
