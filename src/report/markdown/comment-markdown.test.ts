import { describe, expect, it } from "vitest";
import type { Verdict } from "../model/gate-report.ts";
import type { Section } from "../model/section.ts";
import {
  SAMPLE_FINDING,
  sampleCheck,
  sampleJudgement,
  sampleReport,
  sampleScenario,
  sampleTimeline,
} from "../testing/sample-report.ts";
import { type CommentOptions, picturedTimelines, renderComment } from "./comment-markdown.ts";

const SPARKLINE = /^`[▁-█ ┊]+`$/m;

const OPTIONS: CommentOptions = {
  gateId: "default",
  repositoryUrl: "https://github.com/octo/model",
  runId: 77,
  images: new Map(),
  expected: null,
  notes: [],
  maxChars: 60_000,
};

function leg(n: number, verdict: Verdict, overrides: Partial<Section> = {}): Section {
  return {
    gateId: "default",
    leg: `leg-${String(n).padStart(3, "0")}`,
    headSha: null,
    runAttempt: 1,
    bundleArtifact: 500 + n,
    timelineArtifact: null,
    report: sampleReport(verdict),
    ...overrides,
  };
}

const alone = (verdict: Verdict, overrides: Partial<Section> = {}) => leg(1, verdict, { leg: null, ...overrides });
const render = (sections: readonly Section[], options: Partial<CommentOptions> = {}) =>
  renderComment(sections, { ...OPTIONS, ...options });
const titleOf = (text: string) => text.split("\n")[0];

describe("the comment of a single job", () => {
  it("the comment of a single job is the job's summary, with links made from its artifact ids", () => {
    const text = render([alone("fail", { timelineArtifact: 9 })]);
    expect(titleOf(text)).toBe("### ❌ Memory: `train-mlp` leaks 226 KiB a step");
    expect(text).toContain("[Interactive timeline](https://github.com/octo/model/actions/runs/77/artifacts/9)");
    expect(text).toContain("[Evidence bundle](https://github.com/octo/model/actions/runs/77/artifacts/501)");
    expect(text).not.toContain("leg");
  });

  it("names a gate other than the default one, and shows its picture", () => {
    const section = alone("pass", { gateId: "gpu" });
    const text = render([section], {
      gateId: "gpu",
      images: new Map([[section, new Map([["train-mlp", "https://github.com/x.png?raw=true"]])]]),
    });
    expect(titleOf(text)).toBe("### ✅ Memory (gpu): no regression in `train-mlp`");
    expect(text).toContain("](https://github.com/x.png?raw=true)");
    expect(text).not.toMatch(SPARKLINE);
  });

  it("shows a dark page its own picture where two are known, and escapes what is written beside them", () => {
    const scenario = sampleScenario("fail", { timeline: sampleTimeline({ subtitle: 'a "quoted" <b> name' }) });
    const section = alone("fail", { report: sampleReport("fail", { scenarios: [scenario] }) });
    const addresses = { light: "https://github.com/x.png?raw=true&a=1", dark: "https://github.com/x~dark.png" };
    const text = render([section], { images: new Map([[section, new Map([["train-mlp", addresses]])]]) });
    expect(text).toContain(
      '<picture><source media="(prefers-color-scheme: dark)" srcset="https://github.com/x~dark.png">' +
        '<img alt="Memory over time, FAIL: a &#34;quoted&#34; &#60;b&#62; name" src="https://github.com/x.png?raw=true&#38;a=1"></picture>',
    );
    expect(text).not.toMatch(SPARKLINE);
  });

  it("shows how to accept the difference, and links to an acceptance only within the repository", () => {
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
    expect(titleOf(text)).toEqual(expect.stringMatching(/^### ⚠️ Memory: `train-mlp` .*, accepted$/));
    expect(text).toContain("**Accepted by octocat** by comment on 2026-11-20");
    expect(text).toContain("([where](https://github.com/octo/model/pull/12#issuecomment-1))");
    for (const url of ["https://evil.example/octo/model/", "https://github.com/octo/model/../../evil"]) {
      expect(accept(url)).not.toContain("[where]");
    }
  });

  it("the comment of a single job does not offer to accept a difference that is not a valid token", () => {
    const failed = sampleScenario("fail", { difference: "x` **y**" });
    const text = render([alone("fail", { report: sampleReport("fail", { scenarios: [failed] }) })]);
    expect(text).not.toContain("/stormlog accept");
  });

  it("lists the pull request's changes to the gate's own settings", () => {
    const report = sampleReport("pass", { policy_changes: [{ path: "policy.unjudged", base: null, head: "pass" }] });
    const text = render([alone("pass", { report })]);
    expect(text.slice(0, text.indexOf("<details>"))).toContain("| policy.unjudged | – | pass |");
  });

  it("the comment of a single job is unjudged while another job is expected", () => {
    const text = render([alone("pass")], { expected: 2 });
    expect(titleOf(text)).toBe("### ❔ Memory: unjudged (1 of 2 legs)");
    expect(text).toContain("1 leg has not reported");
  });
});

describe("the comment of several jobs", () => {
  it("the comment of several jobs has the worst leg in its heading, then the legs, then each leg that did not pass, the worst first", () => {
    const text = render([leg(1, "pass"), leg(2, "unjudged"), leg(3, "fail"), leg(4, "pass")]);
    expect(titleOf(text)).toBe("### ❌ Memory: leg-003: `train-mlp` leaks 226 KiB a step (1 of 4 legs)");
    expect(text).toContain("**1 fail, 1 unjudged, 2 pass.**");
    const order = [
      "| ❌&nbsp;fail | leg-003",
      "| ❔&nbsp;unjudged | leg-002",
      "2 passed",
      "#### ❌ leg-003: `train-mlp` leaks",
      "#### ❔ leg-002",
    ];
    const at = order.map((part) => text.indexOf(part));
    expect(at).toEqual([...at].sort((a, b) => a - b));
    expect(at[0]).toBeGreaterThan(0);
    expect(text).not.toContain("#### ✅");
  });

  it("reduces a pass to one line, with the picture of the leg nearest to its limit behind the fold", () => {
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
    expect(titleOf(text)).toBe("### ✅ Memory: pass (3 legs)");
    expect(text).toContain("Nearest to its limit: leg-002, with a peak at 99 % of it.");
    expect(picturedTimelines(sections).map(({ section }) => section)).toEqual([sections[1]]);
    const open = text.replace(/<details>[\s\S]*?<\/details>/g, "");
    expect(open).not.toContain("|");
  });

  it("the comment of several jobs is unjudged while legs are missing, or all of them are", () => {
    expect(titleOf(render([leg(1, "pass"), leg(2, "warn")], { expected: 3 }))).toBe(
      "### ❔ Memory: unjudged (2 of 3 legs)",
    );
    expect(titleOf(render([leg(1, "fail")], { expected: 3 }))).toBe(
      "### ❌ Memory: leg-001: `train-mlp` leaks 226 KiB a step (1 of 3 legs)",
    );
    expect(titleOf(render([], { expected: null }))).toContain("unjudged");
  });

  it("the comment of several jobs has the limit on scaling as the reason of a leg whose scenarios pass", () => {
    const law = { scenario: "train", name: "N", metric: "host", device: "host", points: [], fit: null, no_fit: null };
    const scaling = [{ ...law, fits: [], verdict: "fail", reason: "above 1" } as const];
    const report = sampleReport("pass", { verdict: "fail", confirmed: false, scaling });
    const text = render([leg(1, "fail", { report }), leg(2, "pass")]);
    expect(titleOf(text)).toBe("### ❌ Memory: leg-001: train over N: scaling fail: above 1 (1 of 2 legs)");
    expect(text).toContain("#### ❌ leg-001: train over N: scaling fail: above 1");
    expect(text).toMatch(/\| leg-001 \|.*\| Train over N: scaling fail: above 1 \|/);
  });

  it("numbers jobs that have the same name", () => {
    const text = render([alone("pass"), alone("fail")]);
    expect(text).toContain("job (1)");
    expect(text).toContain("#### ❌ job (2)");
  });

  it("shows at most six pictures, and a line of letters for every other leg", () => {
    const sections = Array.from({ length: 20 }, (_, n) => leg(n, "fail"));
    const images = new Map(
      picturedTimelines(sections).map(({ section, scenario }) => [
        section,
        new Map([[scenario, "https://github.com/x.png"]]),
      ]),
    );
    expect(images.size).toBe(6);
    const text = render(sections, { images });
    expect(text.match(/!\[/g)).toHaveLength(6);
    expect(text.match(new RegExp(SPARKLINE, "gm"))).toHaveLength(14);
  });

  it("gives further failing scenarios a picture after the worst of each leg, and a passing one none", () => {
    const failing = ["a", "b", "c"].map((scenario) => sampleScenario("fail", { scenario }));
    const scenarios = [...failing, sampleScenario("pass", { scenario: "d" })];
    const sections = [1, 2].map((n) => leg(n, "fail", { report: sampleReport("fail", { scenarios }) }));
    const shown = picturedTimelines(sections).map(({ section, scenario }) => `${section.leg} ${scenario}`);
    const [one, two] = sections.map((section) => section.leg);
    expect(shown).toEqual([`${one} a`, `${two} a`, `${one} b`, `${one} c`, `${two} b`, `${two} c`]);
  });

  it("fits 65 failing legs into its limit, keeps all of their names, and notes that parts were left out", () => {
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
    expect(text).toContain("Left out for length");
    // The most urgent leg keeps more than the last.
    expect(text.indexOf("#### ❌ leg-000")).toBeGreaterThan(0);
  });

  it("prints a note that several legs report once, with a count, and other notes with their leg", () => {
    const noted = (n: number, ...warnings: string[]) => leg(n, "fail", { report: sampleReport("fail", { warnings }) });
    const text = render([noted(1, "slow disk", "token is read-only"), noted(2, "slow disk"), noted(3, "slow disk")]);
    expect(text.match(/slow disk.*/g)).toEqual(["slow disk (3 times)"]);
    expect(text.indexOf("token is read-only")).toBeLessThan(text.indexOf("#### ❌ leg-002"));
  });

  it("names all of 256 legs with mixed verdicts", () => {
    const verdicts = ["fail", "pass", "error", "unjudged"] as const;
    const sections = Array.from({ length: 256 }, (_, n) => leg(n, verdicts[n % 4] ?? "fail"));
    const text = render(sections);
    expect(text.length).toBeLessThanOrEqual(60_000);
    for (const { leg: name } of sections) expect(text).toContain(name);
  });
});
