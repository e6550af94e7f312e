import { describe, expect, it } from "vitest";
import type { Measurements } from "../analysis/measurements.ts";
import { type JudgeInput, judge } from "./judge.ts";
import { DEFAULT_POLICY } from "./model/defaults.ts";
import { measured, nights, runOf } from "./testing/measurements.ts";

const MIB = 2 ** 20;
const FLAT = { growth_bytes: 0, class: "flat" } as const;

interface Side {
  readonly steps?: number;
  readonly fingerprint?: Measurements["fingerprint"];
  readonly peak?: number;
}

const baselineOf = ({ steps, fingerprint = {}, peak = 100 * MIB }: Side) =>
  measured(
    nights(6, { peak_bytes: peak, ...FLAT }).map((run) => (steps === undefined ? run : { ...run, steps })),
    fingerprint,
  );
const candidateOf = ({ steps, fingerprint = {}, peak = 100 * MIB }: Side) =>
  measured(
    Array.from({ length: 6 }, () => {
      const run = runOf("now", { peak_bytes: peak, ...FLAT });
      return steps === undefined ? run : { ...run, steps };
    }),
    fingerprint,
  );
const judged = (baseline: Side, candidate: Side, more: Partial<JudgeInput> = {}) =>
  judge({
    candidate: candidateOf(candidate),
    baseline: baselineOf(baseline),
    anchor: null,
    policy: DEFAULT_POLICY,
    baseRunsPossible: false,
    ...more,
  });

const SHORT = "python3 train.py --steps 100";
const LONG = "python3 train.py --steps 200";
const DECLARED = "0123456789abcdef";

describe("the context of a comparison", () => {
  it("lists a field that differs, and none that one side does not know", () => {
    const fields = { python: "3.11.2", cpu: "A", framework: "torch" };
    const judgement = judged({ fingerprint: fields }, { fingerprint: { python: null, cpu: "B", framework: null } });
    expect(judgement.fingerprint.map(({ field }) => field)).toEqual(["cpu", "framework"]);
  });
});

describe("the command of a comparison", () => {
  it("an undeclared command that differs is listed as context and does not change the verdict", () => {
    const judgement = judged({ fingerprint: { command: LONG } }, { fingerprint: { command: SHORT } });
    expect(judgement.verdict).toBe("pass");
    expect(judgement.fingerprint).toEqual([{ field: "command", kind: "context", baseline: LONG, candidate: SHORT }]);
  });

  it("makes a scenario of the config file unjudged, with the command that made the baseline", () => {
    const declared = { command: SHORT, scenario_definition: DECLARED };
    for (const before of [null, "fedcba9876543210"]) {
      const judgement = judged(
        { fingerprint: { command: LONG, scenario_definition: before } },
        { fingerprint: declared },
      );
      expect(judgement.verdict).toBe("unjudged");
      expect(judgement.reason).toContain(`the baseline was made by another command: ${LONG}`);
    }
  });

  it("commands that differ only in the interpreter's version, or are unknown on one side, are equal", () => {
    const pairs = [
      ["python3 train.py", "python3.11 train.py"],
      [null, SHORT],
    ] as const;
    for (const [before, now] of pairs) {
      const judgement = judged({ fingerprint: { command: before } }, { fingerprint: { command: now } });
      expect(judgement).toMatchObject({ verdict: "pass", fingerprint: [] });
    }
  });

  it("the command is not compared within one definition, which contains it", () => {
    const of = (command: string) => ({ fingerprint: { command, scenario_definition: DECLARED } });
    expect(judged(of("python3 leak.py fixed"), of("python3 leak.py leaky"))).toMatchObject({
      verdict: "pass",
      fingerprint: [],
    });
  });
});

describe("the number of steps of a comparison", () => {
  const declared = { scenario_definition: DECLARED };

  it("a different number of steps is reported, and does not change the verdict of an undeclared command", () => {
    const judgement = judged({ steps: 200 }, { steps: 100 });
    expect(judgement.verdict).toBe("pass");
    expect(judgement.fingerprint).toEqual([{ field: "steps", kind: "context", baseline: 200, candidate: 100 }]);
  });

  it("fewer steps than the baseline's cannot pass a declared scenario, and a breach stays a fail", () => {
    const side = { fingerprint: declared, steps: 200 };
    const passing = judged(side, { fingerprint: declared, steps: 100 });
    expect(passing.verdict).toBe("unjudged");
    expect(passing.reason).toContain("the baseline's runs made 200 steps and these runs 100");
    expect(judged(side, { fingerprint: declared, steps: 100, peak: 300 * MIB }).verdict).toBe("fail");
  });

  it("more steps than the baseline's cannot fail a declared scenario, and a pass stays a pass", () => {
    const side = { fingerprint: declared, steps: 200 };
    expect(judged(side, { fingerprint: declared, steps: 400 }).verdict).toBe("pass");
    const failing = judged(side, { fingerprint: declared, steps: 400, peak: 300 * MIB });
    expect(failing).toMatchObject({ verdict: "unjudged", next: { kind: "done" }, confirmed: false });
  });

  it("steps that differ as the baseline's runs do, or by less than a tenth, count as equal", () => {
    const side = { fingerprint: declared, steps: 200 };
    expect(judged(side, { fingerprint: declared, steps: 190 })).toMatchObject({ verdict: "pass", fingerprint: [] });
    const timed = baselineOf({ fingerprint: declared });
    const runs = timed.runs.map((run, night) => ({ ...run, steps: 150 + 20 * night }));
    const varying = judged(side, { fingerprint: declared, steps: 300 }, { baseline: { ...timed, runs } });
    expect(varying).toMatchObject({ verdict: "pass", fingerprint: [] });
  });

  it("steps are compared neither where one side lacks them nor in a search over sizes", () => {
    const side = { fingerprint: declared, steps: 200 };
    expect(judged(side, { fingerprint: declared }).fingerprint).toEqual([]);
    expect(judged(side, { fingerprint: declared, steps: 20 }, { anySteps: true }).verdict).toBe("pass");
  });
});
