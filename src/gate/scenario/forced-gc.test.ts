import { describe, expect, it } from "vitest";
import type { MeasuredSeries } from "../../analysis/measurements.ts";
import { type Command, namesNode } from "../../core/process/command.ts";
import { sampleCheck } from "../../report/testing/sample-report.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import { collectingEnvironment, countingEnvironment, growthMayBeUncollected } from "./forced-gc.ts";

const argv = (...words: string[]): Command => ({ kind: "argv", argv: words });
const SERVICE = argv("node", "service.mjs");
const hostOf = (label: NonNullable<MeasuredSeries["class"]>): MeasuredSeries[] => [
  { rank: 0, device: "host", metric: "host", peak_bytes: 1, class: label },
];
const leak = (parts: Partial<Check> = {}): Check =>
  ({
    ...sampleCheck({ device: "host", metric: "host", aspect: "class", gating: true, verdict: "fail" }),
    confirmed: false,
    ...parts,
  }) as Check;
const check = (parts: Parameters<typeof sampleCheck>[0]): Check => sampleCheck({ gating: true, ...parts });
const mayBe = (checks: readonly Check[], series = hostOf("leak"), command = SERVICE, durationS = 8) =>
  growthMayBeUncollected({ checks }, { series, durationS }, command);

describe("growth of host memory", () => {
  it("growth of host memory may be uncollected garbage when nothing else fails", () => {
    expect(mayBe([leak()])).toBe(true);
    for (const label of ["rising", "plateau", "step"] as const) expect(mayBe([], hostOf(label))).toBe(true);
    for (const label of ["flat", "insufficient"] as const) expect(mayBe([], hostOf(label))).toBe(false);
  });

  it("growth of host memory is not measured again beside a breached budget, another leak or a confirmed leak", () => {
    expect(mayBe([leak(), check({ aspect: "peak", limit: "budget", verdict: "fail" })])).toBe(false);
    expect(mayBe([leak(), leak({ metric: "allocated" })])).toBe(false);
    expect(mayBe([leak({ confirmed: true })])).toBe(false);
  });

  it("growth of host memory is measured again beside what is left behind or counted", () => {
    for (const metric of ["left_behind", "descriptors"] as const) {
      expect(mayBe([leak(), leak({ metric })])).toBe(true);
      expect(mayBe([leak({ metric })], hostOf("flat"))).toBe(false);
    }
  });

  it("growth of host memory is not measured again when the run is too short for readings", () => {
    expect(mayBe([leak()], hostOf("leak"), SERVICE, 1.5)).toBe(false);
  });

  it("rising host memory is measured again for Node programs only", () => {
    expect(mayBe([], hostOf("rising"), argv("python3", "train.py"))).toBe(false);
    expect(mayBe([leak()], hostOf("leak"), argv("python3", "train.py"))).toBe(true);
  });

  it("rising host memory is measured again where V8 runs in a child, and was not seen to collect", () => {
    const outside: MeasuredSeries = { rank: 0, device: "host", metric: "outside_heap", peak_bytes: 1, class: "flat" };
    expect(mayBe([], [...hostOf("rising"), outside], argv("python3", "drive.py"))).toBe(true);
  });
});

describe("a command", () => {
  it.each([
    [argv("node", "a.js"), true],
    [argv("/usr/local/bin/node", "a.js"), true],
    [{ kind: "shell", script: "cd service && npm test" }, true],
    [argv("python3", "node.py"), false],
    [argv("./nodes", "a"), false],
    [{ kind: "shell", script: "cat /etc/node.conf" }, false],
  ] as const)("namesNode of %j is %s", (command, expected) => {
    expect(namesNode(command)).toBe(expected);
  });
});

describe("the environment of a run in which V8 collects", () => {
  const of = (own: Record<string, string>, command: Command, env: Record<string, string> = {}) =>
    collectingEnvironment({ env }, { env: own, command, cwd: "/nowhere" });

  it("collectingEnvironment asks the loaded script to collect, and leaves NODE_OPTIONS to the probe", () => {
    expect(of({ NODE_OPTIONS: "--no-warnings" }, SERVICE)).toEqual({ STORMLOG_GATE_COLLECT: "1" });
  });

  it("collectingEnvironment is null under Node's permissions, where the file could not be read", () => {
    expect(of({}, argv("node", "--permission", "a.js"))).toBeNull();
    expect(of({ NODE_OPTIONS: "--experimental-permission" }, SERVICE)).toBeNull();
  });
});

describe("the counters of the C heap in a confirming run", () => {
  const series = (metric: MeasuredSeries["metric"]): MeasuredSeries => ({
    ...{ rank: 0, device: "host", metric, peak_bytes: 1, growth_bytes: 1, class: "leak" as const },
  });
  const program: Command = { kind: "argv", argv: ["./main"] };

  it("a program whose heap was not counted is confirmed with the counters", () => {
    expect(countingEnvironment([series("host")], program)).toEqual({ STORMLOG_GATE_HEAP: "preload" });
  });

  it.each<[string, MeasuredSeries["metric"], Command]>([
    ["that a probe counted", "allocated", program],
    ["of a Java virtual machine", "jvm_heap", program],
    ["of a Node program", "host", { kind: "argv", argv: ["node", "main.js"] }],
  ])("the heap %s is confirmed without them", (_, metric, command) => {
    expect(countingEnvironment([series(metric)], command)).toEqual({});
  });
});
