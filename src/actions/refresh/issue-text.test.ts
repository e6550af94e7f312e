import { describe, expect, it } from "vitest";
import type { NightlyScenario, SessionOutcome } from "../../nightly/nightly-run.ts";
import type { NightlyEntry } from "../../nightly/state.ts";
import { type ScenarioReport, scenarioReport } from "../../report/model/gate-report.ts";
import { sampleReport } from "../../report/testing/sample-report.ts";
import { closedIssueText, type IssueContext, isReported, openIssueText } from "./issue-text.ts";

const HOSTILE = "<img src=x onerror=alert(1)> @everyone #1 [x](javascript:1) | ``` \n# head";

const entry = (over: Partial<NightlyEntry> = {}): NightlyEntry => ({
  time: "2026-11-21T03:17:00Z",
  commit: "c".repeat(40),
  session: "s",
  scenario: "train",
  environment: "0".repeat(16),
  word: "fail",
  outcome: "held",
  runs: 4,
  series: [0, "host", "host"],
  level_bytes: 3 * 1024 ** 2,
  baseline_bytes: 2 * 1024 ** 2,
  threshold_bytes: 2.5 * 1024 ** 2,
  growth_bytes: null,
  ...over,
});

function night(sessionOutcome: SessionOutcome, over: Partial<ScenarioReport> = {}): NightlyScenario {
  const report = scenarioReport({ ...(sampleReport("fail").scenarios[0] as ScenarioReport), ...over });
  return {
    scenario: {
      name: report.scenario,
      command: { kind: "shell", script: "true" },
      cwd: "/",
      env: {},
      timeoutS: null,
      horizon: null,
      budgets: [],
      repeats: "auto",
      definition: null,
    },
    report,
    sessionOutcome,
    older: null,
    night: { scenario: report.scenario, fingerprint: {}, runs: [] },
    entry: entry({ scenario: report.scenario }),
    envelopes: [],
    change: null,
    stored: null,
  };
}

const context = (nights: readonly NightlyEntry[], baseline = "ref:refs/stormlog/baselines"): IssueContext => ({
  key: "default",
  repositoryUrl: "https://github.com/octo/model",
  runUrl: "https://github.com/octo/model/actions/runs/7",
  bundleUrl: null,
  baseline,
  nights,
});

describe("the issue about the main branch", () => {
  const held = night({ kind: "held", why: "hold-breach" });

  it("names the scenario, its checks, its nights and every next step", () => {
    const nights = [
      entry({ level_bytes: 2 * 1024 ** 2, word: "pass", outcome: "approved", scenario: held.report.scenario }),
      held.entry,
    ];
    const { title, body } = openIssueText([held], context(nights));
    expect(title).toContain(held.report.scenario);
    expect(body).toContain("accept: <reason>");
    expect(body).toContain("git push origin refs/stormlog/baselines");
    expect(body).toContain("+1.00 MiB");
    expect(body).toMatch(/per night: `[▁▂▃▄▅▆▇█]{2}`/u);
    expect(body).toContain("https://github.com/octo/model/actions/runs/7");
  });

  it("names the directory's commands where the store is one of files", () => {
    const { body } = openIssueText([held], context([], "file:baselines"));
    expect(body).toContain("--baseline file:DIR");
    expect(body).not.toContain("git push origin");
  });

  it("escapes a scenario's name, a finding and the reason of an outcome", () => {
    const bad = night(
      { kind: "held", why: "hold-breach" },
      {
        scenario: HOSTILE,
        findings: [
          { ...(sampleReport("fail").scenarios[0]?.findings[0] as never as object), description: HOSTILE } as never,
        ],
      },
    );
    const nights = [{ ...bad.entry, commit: "`x` @all" }];
    for (const { title, body } of [openIssueText([bad], context(nights)), closedIssueText([bad], context(nights))]) {
      expect(body).not.toMatch(/<img|@everyone|@all|\]\(javascript|^# head/m);
      expect(title).not.toContain("\n");
    }
    const unsaved = night({ kind: "unsaved", reason: HOSTILE });
    expect(closedIssueText([unsaved], context([])).body).not.toMatch(/<img|@everyone/);
  });

  it("isReported covers held levels and exceeded budgets, not the release anchor or an accepted level", () => {
    const judgement = held.report.judgement;
    const only = (limit: "budget" | "anchor" | "baseline") =>
      ({
        ...judgement,
        checks: (judgement?.checks ?? []).map((check) => ({ ...check, limit, gating: true, verdict: "fail" })),
      }) as ScenarioReport["judgement"];
    expect(isReported(held)).toBe(true);
    expect(isReported(night({ kind: "epoch", reason: "x" }))).toBe(false);
    expect(isReported(night({ kind: "approved" }, { judgement: only("anchor") }))).toBe(false);
    expect(isReported(night({ kind: "approved" }, { judgement: only("budget") }))).toBe(true);
  });
});
