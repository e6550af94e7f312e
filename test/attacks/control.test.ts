import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { canBeHostile, HostileStep } from "../action/testing/hostile-step.ts";

describe.skipIf(!canBeHostile)("a change that attacks the gate, as a control", () => {
  let step: HostileStep;

  beforeAll(async () => {
    step = await HostileStep.start();
  }, 120_000);
  afterAll(() => step.stop());

  it("a change that allocates as its baseline passes, and its program runs beside the gate as the same user", async () => {
    const attack = `import { writeFileSync } from "node:fs";
export const before = ({ loot }) => writeFileSync(loot + "/environment", JSON.stringify(process.env) + process.getuid());`;
    const result = await step.attempt({ attack });
    expect(result.code, result.log).toBe(0);
    expect(result.outputs.verdict).toBe("pass");
    expect(step.loot().get("environment")).toMatch(/\}65534$|\}[1-9]\d*$/);
    expect(step.stolen()).toEqual([]);
    expect(step.stolen(Object.values(step.secrets).join())).toHaveLength(4);
  }, 120_000);

  it("a change that allocates 280 MiB more than its baseline exits with 4", async () => {
    const result = await step.attempt({ breach: true });
    expect(result.code, result.log).toBe(4);
    expect(result.outputs.verdict).toBe("fail");
  }, 120_000);
});
