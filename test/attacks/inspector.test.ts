import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canBeHostile, HostileStep } from "../action/testing/hostile-step.ts";

/** Sends SIGUSR1 to the launcher, to the gate and to each of its threads, and leaves what then listens in `loot`. */
const SIGNAL = `
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
const parentOf = (pid) => Number(/\\) \\S (\\d+)/.exec(readFileSync("/proc/" + pid + "/stat", "latin1"))[1]);
export const after = async ({ action, loot }) => {
  const gate = parentOf(process.ppid);
  const threads = readdirSync("/proc/" + gate + "/task").map(Number);
  for (const pid of [process.ppid, ...threads]) process.kill(pid, "SIGUSR1");
  writeFileSync(loot + "/signalled", threads.length + " threads");
  for (let attempt = 0; attempt < 10; attempt += 1) {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const answer = await fetch("http://127.0.0.1:9229/json/list").then((reply) => reply.text(), () => "");
    // Another Node process of this machine may have an inspector.
    if (answer.includes(action)) writeFileSync(loot + "/inspector", answer);
  }
};
`;

describe.skipIf(!canBeHostile)("a change that sends SIGUSR1 to the gate", () => {
  let step: HostileStep;

  beforeAll(async () => {
    step = await HostileStep.start();
  }, 120_000);
  afterAll(() => step.stop());

  it("a breach stays red, and no inspector is opened", async () => {
    const result = await step.attempt({ attack: SIGNAL, breach: true });
    expect([...step.loot().keys()], result.log).toEqual(["signalled"]);
    expect(result.log).not.toMatch(/inspector|debugger/i);
    expect(result.code, result.log).toBe(4);
    expect(result.outputs.verdict).toBe("fail");
  }, 120_000);
});
