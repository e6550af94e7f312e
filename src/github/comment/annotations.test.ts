import { describe, expect, it } from "vitest";
import { sampleCheck, sampleJudgement, sampleReport, sampleScenario } from "../../report/testing/sample-report.ts";
import { annotationsOf } from "./annotations.ts";

describe("annotations", () => {
  it("show failed checks as errors and what explains them as warnings", () => {
    const all = annotationsOf(sampleReport("fail"));
    const errors = all.filter(({ level }) => level === "error");
    expect(errors.length).toBeGreaterThan(0);
    expect(errors[0]?.title).toBe("train-mlp: peak of allocated");
    expect(all.some(({ level, title }) => level === "warning" && title.includes("reserved"))).toBe(true);
  });

  it("are absent for a pass", () => {
    expect(annotationsOf(sampleReport("pass")).filter(({ level }) => level === "error")).toEqual([]);
  });

  it("carry the code and what to do when the command failed", () => {
    expect(annotationsOf(sampleReport("error"))).toContainEqual({
      level: "error",
      title: "train-mlp: COMMAND_FAILED",
      message: expect.stringContaining("Run the command by itself"),
    });
  });

  it("are at most ten of each level, the last of them counting the rest", () => {
    const checks = Array.from({ length: 30 }, (_, rank) =>
      sampleCheck({ rank, verdict: "fail", reason: "x".repeat(9000) }),
    );
    const scenario = sampleScenario("fail", { judgement: sampleJudgement("fail", { checks }), findings: [] });
    const errors = annotationsOf(sampleReport("fail", { scenarios: [scenario] })).filter((a) => a.level === "error");
    expect(errors).toHaveLength(10);
    expect(errors[9]?.message).toMatch(/^21 more/);
    expect(Math.max(...errors.map(({ message }) => message.length))).toBeLessThanOrEqual(4000);
  });

  it("show the line that leaks beside the code, as the error it is", () => {
    const leak = {
      ...sampleScenario("fail").findings[0]!,
      classification: "leak_line",
      evidence: { line: "src/train.py:48" },
      description: "src/train.py:48 keeps 1.9 KiB more with every step",
      remediation: ["Keep loss.item() instead."],
    };
    const scenario = sampleScenario("fail", { judgement: sampleJudgement("fail", { checks: [] }), findings: [leak] });
    expect(annotationsOf(sampleReport("fail", { scenarios: [scenario] }))).toContainEqual({
      level: "error",
      title: "train-mlp: leak line",
      message: "src/train.py:48 keeps 1.9 KiB more with every step. Keep loss.item() instead.",
      place: { file: "src/train.py", line: 48 },
    });
  });

  it("pass on the gate's own warnings", () => {
    const all = annotationsOf(sampleReport("pass", { warnings: ["the sampler fell back"] }));
    expect(all).toContainEqual({ level: "warning", title: "Stormlog Gate", message: "the sampler fell back" });
  });
});
