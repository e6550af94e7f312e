import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { draws } from "../../core/testing/draws.ts";
import { stormlogReport } from "../documents/envelope.ts";
import {
  SAMPLE_FINDING,
  sampleCheck,
  sampleJudgement,
  sampleReport,
  sampleScenario,
} from "../testing/sample-report.ts";
import { codeBlock, linkTarget, md } from "./markdown-text.ts";
import { renderSummary } from "./summary-markdown.ts";

const HOSTILE =
  "|x`</details><!-- stormlog-gate:default -->@admin #12 [a](http://evil.example) ![i](x)\n\n## Passed\u202e";

function hostile() {
  const check = sampleCheck({ verdict: "fail", reason: HOSTILE, device: HOSTILE });
  const judgement = sampleJudgement("fail", {
    reason: HOSTILE,
    checks: [check, sampleCheck()],
    fingerprint: [{ field: HOSTILE, kind: "identity", baseline: HOSTILE, candidate: HOSTILE }],
  });
  const finding = {
    ...SAMPLE_FINDING,
    description: HOSTILE,
    classification: HOSTILE,
    remediation: [HOSTILE],
    device: HOSTILE,
  };
  const error = { code: HOSTILE, message: HOSTILE, hint: HOSTILE, output_tail: `\`\`\`\n${HOSTILE}\n\`\`\`\`\`` };
  return sampleReport("fail", {
    commit: HOSTILE,
    warnings: [HOSTILE],
    scenarios: [
      sampleScenario("fail", {
        scenario: HOSTILE,
        judgement,
        findings: [finding],
        error,
        fingerprint: { model: HOSTILE },
      }),
    ],
  });
}

/** The text outside of code blocks. */
function outsideCode(markdown: string): string {
  const out: string[] = [];
  let fence: string | null = null;
  for (const line of markdown.split("\n")) {
    const mark = /^(`{3,})/.exec(line)?.[1];
    if (fence === null && mark !== undefined) fence = mark;
    else if (fence !== null && line.startsWith(fence) && line.replace(/`+\s*$/, "") === "") fence = null;
    else if (fence === null) out.push(line);
  }
  expect(fence).toBeNull();
  return out.join("\n");
}

describe("renderSummary", () => {
  it("renderSummary has verdict, picture, rows and remedy before the fold, and everything else behind it", () => {
    const text = renderSummary(sampleReport("fail"), {
      pictures: new Map([["train-mlp", "https://example.org/t.png?raw=true"]]),
    });
    expect(text.split("\n")[0]).toBe("### ❌ Memory: `train-mlp` leaks 226&nbsp;KiB a step".replace("&nbsp;", " "));
    const open = text.slice(0, text.indexOf("<details>"));
    for (const part of [
      "](https://example.org/t.png?raw=true)",
      "| ❌ allocated growth | +451&nbsp;MiB | +96.0&nbsp;KiB | +12.0&nbsp;MiB |",
      "| ❌ allocated peak | 1.88&nbsp;GiB | 1.43&nbsp;GiB | 1.45&nbsp;GiB |",
      "`stormlog-gate baseline accept`",
    ]) {
      expect(open).toContain(part);
    }
    expect(open.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(12);
    for (const part of [
      "| ❌ allocated growth | **451.00&nbsp;MiB** | 96.00&nbsp;KiB | 12.00&nbsp;MiB | 9.50&nbsp;MiB |",
      "plateau",
      "This run would have detected +11.0 MiB at the peak, 9.50 MiB of growth.",
      "driver: 570.86.15 in the baseline, 575.51.03 here",
    ]) {
      expect(text.slice(open.length)).toContain(part);
    }
  });

  it("renderSummary links the line to its file at the measured commit, below the repository's page", () => {
    const evidence = { line: "a (1)/train.py:6", code: "history.append(x)", share: 0.98 };
    const line = { ...SAMPLE_FINDING, classification: "leak_line", evidence };
    const scenario = sampleScenario("fail", { findings: [line] });
    const commit = "0123456789abcdef0123456789abcdef01234567";
    const shown = (more: object, repositoryUrl: string | null = "https://github.com/octo/model"): string =>
      renderSummary({ ...sampleReport("fail", { scenarios: [scenario] }), commit, ...more }, { repositoryUrl });
    expect(shown({})).toContain(`](https://github.com/octo/model/blob/${commit}/a%20%281%29/train.py#L6) holds`);
    for (const text of [shown({ commit: "main" }), shown({ commit: null }), shown({}, null)])
      expect(text).not.toContain("/blob/");
    const unread = { ...line, evidence: { ...evidence, code: null } };
    expect(shown({ scenarios: [{ ...scenario, findings: [unread] }] })).not.toContain("/blob/");
  });

  it("reduces a pass to its verdict and one sentence, with the rest folded", () => {
    const text = renderSummary(sampleReport("pass"), { pictures: new Map([["train-mlp", "timeline.png"]]) });
    const open = text.slice(0, text.indexOf("<details>"));
    expect(open.split("\n").filter((line) => line !== "")).toHaveLength(2);
    expect(open).not.toContain("|");
    expect(text.slice(open.length)).toContain("](timeline.png)");
    expect(text.slice(text.indexOf("<details>"))).toContain("✅ allocated peak");
  });

  it("names what was done to the gate's files right below the verdict's sentence", () => {
    const note = "baselines/`a`.json was removed during the run; the copy read before the run was used.";
    const [scenario = sampleScenario()] = sampleReport("fail").scenarios;
    const report = { ...sampleReport("fail"), scenarios: [{ ...scenario, interference: [note] }] };
    const blocks = renderSummary(report).split("\n\n");
    expect(blocks[2]).toMatch(/^> \[!WARNING\]\n> baselines&#47;&#96;a&#96;&#46;?\.?json was removed during the run/);
    const passed = { ...sampleScenario("pass"), scenario: "quiet", interference: [note] };
    expect(renderSummary({ ...report, scenarios: [scenario, passed] })).toContain("> [!WARNING]");
  });

  it("every scenario that fails shows its series, as its picture where there is one and else as letters", () => {
    const scenarios = ["one", "two"].map((scenario) => sampleScenario("fail", { scenario }));
    const text = renderSummary(sampleReport("fail", { scenarios }), {
      pictures: new Map([["one", "https://x/timeline.png"]]),
    });
    expect(text.match(/\(https:\/\/x\/timeline\.png\)/g)).toHaveLength(1);
    expect(text.match(/^`[▁-█ ┊]{40,48}`$/gm)).toHaveLength(1);
    expect(text.indexOf("timeline.png")).toBeLessThan(text.search(/^`[▁-█ ┊]{40,48}`$/m));
    const pictures = new Map(["one", "two"].map((name) => [name, `https://x/${name}.png`]));
    const both = renderSummary(sampleReport("fail", { scenarios }), { pictures });
    expect(both.match(/\(https:\/\/x\/\w+\.png\)/g)).toEqual(["(https://x/one.png)", "(https://x/two.png)"]);
  });

  it("prints how to accept what the change did to a scenario", () => {
    const scenario = {
      ...sampleScenario("unjudged"),
      caused_by: "renamed" as const,
      difference: "0123456789ab-policy",
    };
    const text = renderSummary({ ...sampleReport("unjudged"), scenarios: [scenario] });
    expect(text).toContain("this change renamed");
    expect(text).toContain("/stormlog accept 0123456789ab-policy <reason>");
    expect(text).not.toContain("baseline refresh");
  });

  it("explains an unjudged run and how to record a baseline", () => {
    const text = renderSummary(sampleReport("unjudged"));
    expect(text.split("\n")[0]).toBe("### ❔ Memory: `train-mlp` could not be judged");
    expect(text).toContain("`stormlog-gate baseline refresh`");
    expect(text).toMatch(/^`[▁-█ ┊]+`$/m);
  });

  it("shows the exit status of a failed command and the end of its output", () => {
    const text = renderSummary(sampleReport("error"));
    expect(text).toContain("`COMMAND_FAILED` · exit status 7");
    expect(text).toContain("ValueError: bad shape");
  });

  it("details the scenarios that did not pass, and folds the others into one line", () => {
    const scenarios = [sampleScenario("pass", { scenario: "good" }), sampleScenario("fail", { scenario: "bad" })];
    const text = renderSummary(sampleReport("fail", { scenarios }));
    expect(text.split("\n")[0]).toBe("### ❌ Memory: 1 of 2 scenarios failed");
    expect(text).toContain("#### ❌ `bad` leaks 226 KiB a step");
    expect(text.indexOf("<summary>1 scenario passed</summary>")).toBeGreaterThan(text.indexOf("#### ❌ `bad`"));
    expect(text).not.toContain("#### ✅");
  });

  it("never renders outside text as markup, a mention, a link or a marker", () => {
    const text = renderSummary(hostile());
    const outside = outsideCode(text);
    expect(outside).not.toContain("<!--");
    expect(outside).not.toMatch(/@admin|(?<!&)#12|http:|\]\(/);
    expect(outside.match(/<\/details>/g)).toHaveLength(1);
    expect(outside).not.toMatch(/^## Passed/m);
    expect(text).not.toContain("\u202e");
    for (const line of outside.split("\n").filter((one) => one.startsWith("|"))) {
      // Four columns of the rows and of the runs, five of the checks.
      expect([6, 7]).toContain(line.split("|").length);
    }
  });

  it.each(["fail", "unjudged"] as const)(
    "renderSummary has a limit on scaling in its title where no scenario is %s",
    (verdict) => {
      const law = { scenario: "train", name: "N", metric: "host", device: "host", points: [], fit: null, no_fit: null };
      const scaling = [{ ...law, fits: [], verdict, reason: "above 1" }];
      const scenarios = [1, 2].map((n) => sampleScenario("pass", { scenario: `train@N=${n}` }));
      const report = sampleReport("pass", { verdict, confirmed: false, scaling, scenarios });
      const title = renderSummary(report).split("\n")[0];
      expect(title).toBe(`### ${verdict === "fail" ? "❌" : "❔"} Memory: train over N: scaling ${verdict}: above 1`);
      expect(stormlogReport(report).verdict.summary).toBe(`${verdict}: train over N: scaling ${verdict}: above 1`);
      const single = renderSummary({ ...report, scenarios: scenarios.slice(0, 1) }).split("\n")[0];
      expect(single).toBe(title);
    },
  );

  it("prints equal notes once, with a count", () => {
    const notes = ["the job is slow", "the job is slow"];
    const text = renderSummary(sampleReport("fail", { warnings: ["no swap", "slow disk", "no swap"] }), { notes });
    expect(text.match(/^> (?!\[).+/gm)).toEqual(["> the job is slow (2 times)"]);
    expect(text.match(/^- (no swap|slow disk).*/gm)).toEqual(["- no swap (2 times)", "- slow disk"]);
    expect(text).toContain(" · 2 notes · ");
  });

  it("drops the least important parts first to stay within its limit", () => {
    const full = renderSummary(sampleReport("fail"), { pictures: new Map([["train-mlp", "t.png"]]) });
    const less = renderSummary(sampleReport("fail"), {
      pictures: new Map([["train-mlp", "t.png"]]),
      maxChars: full.length - 1,
    });
    expect(less).not.toContain("<details>");
    expect(less).toContain("allocated growth");
    const least = renderSummary(sampleReport("fail"), { pictures: new Map([["train-mlp", "t.png"]]), maxChars: 800 });
    expect(least).toContain("### ❌ Memory:");
    expect(least).toContain("Left out for length");
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4000 }), (maxChars) => {
        expect(renderSummary(hostile(), { maxChars }).length).toBeLessThanOrEqual(maxChars);
      }),
      { numRuns: 25 },
    );
  });

  it("stays within 60,000 characters for hundreds of scenarios, checks and findings", () => {
    const long = "very long ".repeat(500);
    const checks = Array.from({ length: 500 }, (_, rank) => sampleCheck({ rank, verdict: "fail", reason: long }));
    const findings = Array.from({ length: 200 }, () => ({ ...SAMPLE_FINDING, description: long }));
    const scenarios = Array.from({ length: 120 }, (_, i) =>
      sampleScenario("fail", { scenario: `${i} ${long}`, judgement: sampleJudgement("fail", { checks }), findings }),
    );
    const text = renderSummary(sampleReport("fail", { scenarios }));
    expect(text.length).toBeLessThanOrEqual(60_000);
    expect(text).toContain("Memory: 120 of 120 scenarios failed");
  });
});

describe("md", () => {
  it("leaves ordinary sentences unescaped", () => {
    expect(md("peak +1.5 GiB/s (class=leak) in train-mlp_v2, cuda:0, train.py.")).toBe(
      "peak +1.5 GiB/s (class=leak) in train-mlp_v2, cuda:0, train.py.",
    );
  });

  it("escapes every character that could act as markup", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(..."ahtps:/.w@#-_*`[]()<>!|\\ \n1+="), maxLength: 40 }), (text) => {
        const out = md(text);
        expect(out).not.toMatch(/[\\`*[\]<>|~@\n]|:\/|\/\/|www\.|#(?!\d+;)|__|^[-+=] |^\d+\. /);
      }),
      { numRuns: draws(500) },
    );
  });
});

describe("codeBlock", () => {
  it("codeBlock cannot be closed from inside, and contains no control sequence", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom("`", "\n", " ", "a", "\u001b", "[", "m") }), (text) => {
        const lines = codeBlock(text).split("\n");
        const fence = /^`+/.exec(lines[0]!)![0];
        for (const line of lines.slice(1, -1))
          expect(
            line.trim().replace(/^`+/, "").length + Number(/^ *(`*)/.exec(line)![1]!.length < fence.length),
          ).toBeGreaterThan(0);
        expect(lines.at(-1)).toBe(fence);
        expect(lines.join("")).not.toContain("\u001b");
      }),
    );
  });
});

describe("linkTarget", () => {
  it("accepts only web addresses and plain relative paths", () => {
    expect(linkTarget("timeline.png")).toBe("timeline.png");
    expect(linkTarget("https://x.org/a b(c)")).toBe("https://x.org/a%20b%28c%29");
    for (const bad of ["javascript:alert(1)", "data:text/html,x", "a b", "//evil", "x)](y", null, undefined, ""]) {
      expect(linkTarget(bad)).toBeNull();
    }
  });
});
