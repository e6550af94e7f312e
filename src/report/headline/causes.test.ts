import { describe, expect, it } from "vitest";
import { MIB } from "../../core/units.ts";
import { sampleCheck } from "../testing/sample-report.ts";
import { causesOf } from "./causes.ts";

const leak = (device: string, mib: number, rank = 0) =>
  sampleCheck({
    rank,
    device,
    metric: "allocated",
    aspect: "class",
    gating: true,
    verdict: "fail",
    candidate_class: "leak",
    candidate_bytes: mib * MIB,
    threshold_bytes: null,
    baseline_bytes: null,
  });

const order = (...checks: Parameters<typeof causesOf>[0]) => causesOf(checks).map(({ decisive }) => decisive.device);

describe("the causes of a verdict", () => {
  it("begin where most memory is lost, on the host or on a device", () => {
    expect(order(leak("host", 164), leak("jax:0", 4577))).toEqual(["jax:0", "host"]);
    expect(order(leak("jax:0", 12), leak("host", 164))).toEqual(["host", "jax:0"]);
    expect(order(leak("host", 164), leak("jax:0", 40, 1), leak("jax:0", 4577))).toEqual(["jax:0", "host"]);
  });

  it("causesOf lists confirmed causes before unconfirmed ones, and a budget as a cause of its own", () => {
    const budget = sampleCheck({
      device: "host",
      metric: "host",
      limit: "budget",
      verdict: "fail",
      candidate_bytes: 50 * MIB,
      threshold_bytes: 20 * MIB,
      confirmed: true,
    });
    const causes = causesOf([leak("host", 43), budget]);
    expect(causes.map(({ kind }) => kind)).toEqual(["budget", "leak"]);
    expect(causesOf([{ ...leak("host", 43), confirmed: true }, budget]).map(({ kind }) => kind)).toEqual([
      "leak",
      "budget",
    ]);
  });
});
