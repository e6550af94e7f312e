import { describe, expect, it } from "vitest";
import type { Verdict } from "../documents/model.ts";
import type { Section } from "../documents/section.ts";
import {
  SAMPLE_FINDING,
  sampleCheck,
  sampleJudgement,
  sampleReport,
  sampleScenario,
} from "../testing/sample-report.ts";
import { type CommentOptions, picturedSections, renderComment } from "./comment-markdown.ts";

const OPTIONS: CommentOptions = {
  gateId: "default",
  repositoryUrl: "https://github.com/octo/model",
  runId: 77,
  images: new Map(),
  mermaid: true,
  expected: null,
  notes: [],
  maxChars: 60_000,
};

function leg(n: number, word: Verdict, overrides: Partial<Section> = {}): Section {
  return {
    gateId: "default",
    leg: `leg-${String(n).padStart(3, "0")}`,
    headSha: null,
    runAttempt: 1,
    bundleArtifact: 500 + n,
    timelineArtifact: null,
    report: sampleReport(word),
    ...overrides,
  };
}

const alone = (word: Verdict, overrides: Partial<Section> = {}) => leg(1, word, { leg: null, ...overrides });
const render = (sections: readonly Section[], options: Partial<CommentOptions> = {}) =>
  renderComment(sections, { ...OPTIONS, ...options });
const titleOf = (text: string) => text.split("\n")[0];

describe("the comment of a single job", () => {
  it("is what the job itself says, with links made of its artifact ids", () => {
    const text = render([alone("fail", { timelineArtifact: 9 })]);
    expect(titleOf(text)).toBe("## ❌ Memory gate: fail · train-mlp");
    expect(text).toContain("[Interactive timeline](https://github.com/octo/model/actions/runs/77/artifacts/9)");
    expect(text).toContain("[Evidence bundle](https://github.com/octo/model/actions/runs/77/artifacts/501)");
    expect(text).not.toContain("leg");
  });

  it("names its gate where that is not the only one, and shows its picture", () => {
    const section = alone("pass", { gateId: "gpu" });
    const text = render([section], {
      gateId: "gpu",
      images: new Map([[section, "https://github.com/x.png?raw=true"]]),
    });
    expect(titleOf(text)).toBe("## ✅ Memory gate gpu: pass · train-mlp");
    expect(text).toContain("](https://github.com/x.png?raw=true)");
    expect(text).not.toContain("mermaid");
  });

  it("tells how to accept the difference, and links to an acceptance only within the repository", () => {
    const failed = sampleScenario("fail", { difference: "3f9a2c1d-183" });
    expect(render([alone("fail", { report: sampleReport("fail", { scenarios: [failed] }) })])).toContain(
      "`/stormlog accept 3f9a2c1d-183 <reason>`",
    );
    const accept = (url: string) =>
      render([
        alone("warn", {
          report: sampleReport("warn", {
            scenarios: [
              sampleScenario("warn", {
                accepted: {
                  difference: "3f9a2c1d-183",
                  by: "octocat",
                  reason: "wanted",
                  via: "comment",
                  at_iso: "2026-11-20T10:02:00Z",
                  head_sha: null,
                  url,
                },
              }),
            ],
          }),
        }),
      ]);
    const text = accept("https://github.com/octo/model/pull/12#issuecomment-1");
    expect(titleOf(text)).toBe("## ⚠️ Memory gate: warn, accepted · train-mlp");
    expect(text).toContain("**Accepted by octocat** by comment on 2026-11-20");
    expect(text).toContain("([where](https://github.com/octo/model/pull/12#issuecomment-1))");
    for (const url of ["https://evil.example/octo/model/", "https://github.com/octo/model/../../evil"]) {
      expect(accept(url)).not.toContain("[where]");
    }
  });

  it("does not offer a difference that is no token", () => {
    const failed = sampleScenario("fail", { difference: "x` **y**" });
    const text = render([alone("fail", { report: sampleReport("fail", { scenarios: [failed] }) })]);
    expect(text).not.toContain("/stormlog accept");
  });

  it("lists what the pull request changes in its own gate", () => {
    const report = sampleReport("pass", { policy_changes: [{ path: "policy.unjudged", base: null, head: "pass" }] });
    const text = render([alone("pass", { report })]);
    expect(text.slice(0, text.indexOf("<details>"))).toContain("| policy.unjudged | – | pass |");
  });

  it("is no pass while another job is expected", () => {
    const text = render([alone("pass")], { expected: 2 });
    expect(titleOf(text)).toBe("## ❔ Memory gate: unjudged (1 of 2 legs)");
    expect(text).toContain("1 leg has not reported");
  });
});

describe("the comment of several jobs", () => {
  it("says the verdict of all, then the legs, then each that is not green, the worst first", () => {
    const text = render([leg(1, "pass"), leg(2, "unjudged"), leg(3, "fail"), leg(4, "pass")]);
    expect(titleOf(text)).toBe("## ❌ Memory gate: fail (1 of 4 legs)");
    expect(text).toContain("**1 fail, 1 unjudged, 2 pass.**");
    const order = [
      "| ❌&nbsp;fail | leg-003",
      "| ❔&nbsp;unjudged | leg-002",
      "2 passed",
      "### ❌ leg-003",
      "### ❔ leg-002",
    ];
    const at = order.map((part) => text.indexOf(part));
    expect(at).toEqual([...at].sort((a, b) => a - b));
    expect(at[0]).toBeGreaterThan(0);
    expect(text).not.toContain("### ✅");
  });

  it("keeps a pass to a line and the picture of the leg nearest to its limit", () => {
    const near = sampleReport("pass", {
      scenarios: [
        sampleScenario("pass", {
          judgement: sampleJudgement("pass", {
            checks: [sampleCheck({ candidate_bytes: 990, threshold_bytes: 1000 })],
          }),
        }),
      ],
    });
    const sections = [leg(1, "pass"), leg(2, "pass", { report: near }), leg(3, "pass")];
    const text = render(sections);
    expect(titleOf(text)).toBe("## ✅ Memory gate: pass (3 legs)");
    expect(text).toContain("Nearest to one: leg-002, whose peak is at 99 % of its limit.");
    expect(picturedSections(sections)).toEqual([sections[1]]);
    const open = text.replace(/<details>[\s\S]*?<\/details>/g, "").replace(/```mermaid[\s\S]*?```/, "");
    expect(open).not.toContain("|");
  });

  it("is no pass while legs are missing, and none at all is no pass either", () => {
    expect(titleOf(render([leg(1, "pass"), leg(2, "warn")], { expected: 3 }))).toBe(
      "## ❔ Memory gate: unjudged (2 of 3 legs)",
    );
    expect(titleOf(render([leg(1, "fail")], { expected: 3 }))).toBe("## ❌ Memory gate: fail (1 of 3 legs)");
    expect(titleOf(render([], { expected: null }))).toContain("unjudged");
  });

  it("tells jobs apart that were given the same name", () => {
    const text = render([alone("pass"), alone("fail")]);
    expect(text).toContain("job (1)");
    expect(text).toContain("### ❌ job (2)");
  });

  it("shows at most six pictures and four charts, and a line of letters for every other leg", () => {
    const sections = Array.from({ length: 20 }, (_, n) => leg(n, "fail"));
    const images = new Map(picturedSections(sections).map((section) => [section, "https://github.com/x.png"]));
    expect(images.size).toBe(6);
    const text = render(sections, { images });
    expect(text.match(/!\[/g)).toHaveLength(6);
    expect(text.match(/```mermaid/g)).toHaveLength(4);
    expect(text.match(/^`[▁-█ ]+`$/gm)).toHaveLength(10);
  });

  it("fits 65 legs with everything wrong into its room, keeps all of their names, and says what was dropped", () => {
    const long = "very long ".repeat(300);
    const checks = Array.from({ length: 100 }, (_, rank) => sampleCheck({ rank, verdict: "fail", reason: long }));
    const findings = Array.from({ length: 50 }, () => ({ ...SAMPLE_FINDING, description: long }));
    const scenario = sampleScenario("fail", { judgement: sampleJudgement("fail", { checks, reason: long }), findings });
    const report = sampleReport("fail", {
      scenarios: [scenario, { ...scenario, scenario: "other" }],
      warnings: [long],
    });
    const text = render(
      Array.from({ length: 65 }, (_, n) => leg(n, "fail", { report })),
      { notes: [long] },
    );
    expect(text.length).toBeLessThanOrEqual(60_000);
    for (let n = 0; n < 65; n += 1) expect(text).toContain(`leg-${String(n).padStart(3, "0")}`);
    expect(text).toMatch(/…some parts did not fit here: .*tables of checks \(\d+×\).*environment and runs \(130×\)/);
    // The most urgent leg says more than the last.
    expect(text.indexOf("### ❌ leg-000")).toBeGreaterThan(0);
  });

  it("names all of 256 legs, whatever they say", () => {
    const words = ["fail", "pass", "error", "unjudged"] as const;
    const sections = Array.from({ length: 256 }, (_, n) => leg(n, words[n % 4] ?? "fail"));
    const text = render(sections);
    expect(text.length).toBeLessThanOrEqual(60_000);
    for (const { leg: name } of sections) expect(text).toContain(name);
  });
});
