import { describe, expect, it } from "vitest";
import { compared } from "../bench/sampler/host.ts";

describe("bench:sampler", () => {
  it("reports a row as skipped when the other tool was not measured, such as psutil", () => {
    const skipped = compared("sampler / psutil loop", [13.9, 14.2], [], 0.25, "no psutil");
    expect(skipped).toEqual({ name: "sampler / psutil loop", skipped: "no psutil" });
    const measured = compared("sampler / psutil loop", [10, 10, 10], [100, 100, 100], 0.25, "no psutil");
    expect(measured).toMatchObject({ value: expect.closeTo(0.1), limit: 0.25 });
  });
});
