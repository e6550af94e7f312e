import { describe, expect, it } from "vitest";
import type { GateReport, ScenarioReport, Verdict } from "../report/model/gate-report.ts";
import { exitCodeOf, overallVerdict, reportVerdict } from "./exit-code.ts";

type CheckKind = "budget" | "oom" | "peak";

/** A scenario with a verdict and, where given, one failed check. */
function scenario(verdict: Verdict, failed?: CheckKind): ScenarioReport {
  const check = {
    rank: 0,
    device: "host",
    metric: "host",
    aspect: failed === "oom" ? "oom" : "peak",
    limit: failed === "peak" ? "baseline" : "budget",
    kind: failed,
    verdict: "fail",
  };
  const judgement = failed === undefined ? null : { verdict: "fail", checks: [check] };
  return { scenario: "s", verdict, judgement } as unknown as ScenarioReport;
}

describe("the verdict of an invocation", () => {
  it("overallVerdict is the worst verdict of the scenarios", () => {
    expect(overallVerdict(["pass", "warn", "pass"])).toBe("warn");
    expect(overallVerdict(["pass", "unjudged", "warn"])).toBe("unjudged");
    expect(overallVerdict(["error", "unjudged"])).toBe("error");
    expect(overallVerdict(["error", "fail"])).toBe("fail");
  });

  it("overallVerdict is unjudged, never pass, when nothing ran", () => {
    expect(overallVerdict([])).toBe("unjudged");
  });

  it("reportVerdict turns a pass into a warning while a change of the gate's own settings is not accepted", () => {
    const policy_changes = [{ path: "policy.unjudged", base: "fail", head: "pass" }];
    const policy_accepted = { by: "ann" } as unknown as NonNullable<GateReport["policy_accepted"]>;
    const scenarios = [scenario("pass")];
    expect(reportVerdict({ scenarios })).toBe("pass");
    expect(reportVerdict({ scenarios, policy_changes: [] })).toBe("pass");
    expect(reportVerdict({ scenarios, policy_changes })).toBe("warn");
    expect(reportVerdict({ scenarios, policy_changes, policy_accepted })).toBe("pass");
    expect(reportVerdict({ scenarios: [scenario("fail", "peak")], policy_changes })).toBe("fail");
    expect(reportVerdict({ scenarios: [], policy_changes })).toBe("unjudged");
  });
});

describe("the exit status of an invocation", () => {
  it.each(["fail", "warn", "pass"] as const)(
    "the exit status is 6 under --unjudged %s where the change caused the unjudged verdict and nothing failed",
    (unjudged) => {
      const caused = { ...scenario("unjudged"), caused_by: "edited" as const };
      expect(exitCodeOf([caused, scenario("pass")], unjudged, false)).toBe(6);
      expect(exitCodeOf([caused, scenario("fail", "peak")], unjudged, false)).toBe(4);
      expect(exitCodeOf([{ ...caused, verdict: "warn" } as ScenarioReport], unjudged, false)).toBe(0);
      const answersErrors = { ...scenario("unjudged"), kind: "failed" } as ScenarioReport;
      expect(exitCodeOf([answersErrors, scenario("pass")], unjudged, false)).toBe(6);
      expect(exitCodeOf([scenario("unjudged"), scenario("pass")], unjudged, false)).toBe(unjudged === "fail" ? 6 : 0);
    },
  );

  it("the exit status is 0 with an accepted budget breach, and 4 when only another scenario is accepted", () => {
    const accepted = { ...scenario("warn", "budget"), accepted: { by: "ann" } } as unknown as ScenarioReport;
    expect(exitCodeOf([accepted], "fail", false)).toBe(0);
    expect(exitCodeOf([accepted, scenario("fail", "budget")], "fail", false)).toBe(4);
  });

  it.each([
    [[scenario("pass")], 0],
    [[scenario("warn")], 0],
    [[scenario("fail", "peak")], 4],
    [[scenario("unjudged")], 6],
    [[scenario("error")], 1],
    // An error comes before a relative breach, but after a breached budget or an out-of-memory.
    [[scenario("fail", "peak"), scenario("error")], 1],
    [[scenario("fail", "budget"), scenario("error")], 4],
    [[scenario("fail", "oom"), scenario("error")], 4],
    [[scenario("fail", "peak"), scenario("unjudged")], 4],
    [[], 6],
  ])("the exit status follows the order of exit codes, case %#", (scenarios, code) => {
    expect(exitCodeOf(scenarios, "fail", false)).toBe(code);
  });

  it("the exit status is 0 for an unjudged verdict with --unjudged warn or pass", () => {
    expect(exitCodeOf([scenario("unjudged")], "warn", false)).toBe(0);
    expect(exitCodeOf([scenario("unjudged")], "pass", false)).toBe(0);
  });

  it("the exit status is 130 for an interruption, also after a breached budget", () => {
    expect(exitCodeOf([scenario("fail", "budget")], "fail", true)).toBe(130);
  });
});
