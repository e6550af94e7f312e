import { describe, expect, it } from "vitest";
import { sampleCheck, sampleJudgement, sampleReport, sampleScenario } from "../../report/testing/sample-report.ts";
import { annotationsOf } from "./annotations.ts";

describe("annotations", () => {
  it("a leak gives one annotation, however many limits it exceeds", () => {
    const all = annotationsOf(sampleReport("fail"));
    expect(all).toEqual([
      { level: "error", title: "train-mlp: memory leak", message: "Leak of 226 KiB a step, confirmed." },
    ]);
  });

  it("a pass has no annotations", () => {
    expect(annotationsOf(sampleReport("pass"))).toEqual([]);
  });

  it("the annotation of a failed command has the code and what to do", () => {
    expect(annotationsOf(sampleReport("error"))).toContainEqual({
      level: "error",
      title: "train-mlp: COMMAND_FAILED",
      message: expect.stringContaining("Run the command by itself"),
    });
  });

  it("annotations are at most ten of each level, and the last of them counts the rest", () => {
    const checks = [sampleCheck({ verdict: "fail", reason: "x".repeat(9000), candidate_bytes: null })];
    const scenario = sampleScenario("fail", { judgement: sampleJudgement("fail", { checks }), findings: [] });
    const scenarios = Array.from({ length: 30 }, (_, n) => ({ ...scenario, scenario: `s${n}` }));
    const errors = annotationsOf(sampleReport("fail", { scenarios })).filter((a) => a.level === "error");
    expect(errors).toHaveLength(10);
    expect(errors[9]?.message).toMatch(/^21 more/);
    expect(Math.max(...errors.map(({ message }) => message.length))).toBeLessThanOrEqual(4000);
  });

  it("an annotation is beside the leaking line only when its text could be read", () => {
    const annotation = (code: string | null) => {
      const leak = {
        ...sampleScenario("fail").findings[0]!,
        classification: "leak_line",
        evidence: { line: "src/train.py:48", code, kept_by: "the list `losses`", share: 0.97 },
        remediation: ["Keep loss.item() instead."],
      };
      const scenario = sampleScenario("fail", { findings: [leak] });
      return annotationsOf(sampleReport("fail", { scenarios: [scenario] }))[0];
    };
    expect(annotation("losses.append(loss)")).toEqual({
      level: "error",
      title: "train-mlp: memory leak",
      message:
        "Leak of 226 KiB a step at src/train.py:48, confirmed. src/train.py:48: list `losses`, 97 % of the growth. Keep loss.item() instead.",
      place: { file: "src/train.py", line: 48 },
    });
    expect(annotation(null)?.place).toBeUndefined();
  });

  it("an annotation of memory that ran out is beside the line that requested it, if its text could be read", () => {
    const place = (code: string) => {
      const checks = [
        sampleCheck({ aspect: "oom", verdict: "fail", candidate_bytes: null, reason: "it ran out of memory" }),
      ];
      const finding = {
        ...sampleScenario("fail").findings[0]!,
        classification: "oom",
        evidence: { line: "src/train.py:7", code },
      };
      const judgement = sampleJudgement("fail", { checks });
      const scenario = sampleScenario("fail", { judgement, findings: [finding] });
      return annotationsOf(sampleReport("fail", { scenarios: [scenario] }))[0]?.place;
    };
    expect(place("x = torch.einsum(a, b)")).toEqual({ file: "src/train.py", line: 7 });
    expect(place("")).toBeUndefined();
  });

  it("an annotation has the notes that explain the verdict, and no others", () => {
    const notes = [
      "train-mlp: the base could not be run here (no merge base), so a breach stays unconfirmed",
      "train-mlp: the limit of 2 runs is reached, so the breach stays unconfirmed",
      "train-mlp: the growth is too short to name a line",
      "other: the limit of 2 runs is reached, so the breach stays unconfirmed",
    ];
    const all = annotationsOf(sampleReport("fail"), [...notes, ...notes]);
    expect(all.map(({ message }) => message)).toEqual([
      "Leak of 226 KiB a step, confirmed. The base could not be run here (no merge base), so a breach stays unconfirmed. The limit of 2 runs is reached, so the breach stays unconfirmed.",
    ]);
    expect(annotationsOf(sampleReport("pass"), notes)).toEqual([]);
  });

  it("a breached limit on scaling is an error, and an unjudged one is a warning", () => {
    const law = { scenario: "train", name: "N", metric: "host", device: "host", points: [], fit: null, no_fit: null };
    const verdicts = ["fail", "unjudged", "pass"] as const;
    const scaling = verdicts.map((verdict) => ({ ...law, fits: [], verdict, reason: "above 1" }));
    expect(annotationsOf(sampleReport("pass", { scaling, warnings: [] }))).toEqual([
      { level: "error", title: "train over N", message: "scaling fail: above 1." },
      { level: "warning", title: "train over N", message: "scaling unjudged: above 1." },
    ]);
  });

  it("annotations include the gate's own warnings", () => {
    const all = annotationsOf(sampleReport("pass", { warnings: ["the sampler fell back"] }));
    expect(all).toContainEqual({ level: "warning", title: "Stormlog Gate", message: "the sampler fell back" });
  });
});
