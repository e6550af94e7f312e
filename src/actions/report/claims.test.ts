import { describe, expect, it } from "vitest";
import type { ScenarioReport, Verdict } from "../../report/model/gate-report.ts";
import type { Section } from "../../report/model/section.ts";
import { sampleReport, sampleScenario } from "../../report/testing/sample-report.ts";
import { differenceOf } from "../../verdict/difference.ts";
import type { Acceptance } from "../../verdict/model/acceptance.ts";
import { type Ground, holdClaims } from "./claims.ts";

const HEAD = "a".repeat(40);
const failed = sampleScenario("fail");
const token = differenceOf(failed.scenario, failed.fingerprint, failed.judgement!)!.token;
const acceptance: Acceptance = {
  difference: token,
  by: "ann",
  reason: "agreed",
  via: "comment",
  at_iso: null,
  head_sha: null,
  url: null,
};

const held = (verdict: Verdict, scenario: ScenarioReport, ground: Partial<Ground> = {}) => {
  const section: Section = {
    gateId: "default",
    leg: null,
    headSha: HEAD,
    runAttempt: 1,
    bundleArtifact: 5,
    timelineArtifact: 6,
    report: sampleReport(verdict, { scenarios: [scenario] }),
  };
  return holdClaims([section], { live: null, headSha: HEAD, untrusted: true, ...ground });
};

describe("a section held against itself", () => {
  it.each(["pass", "warn", "fail", "unjudged", "error"] as const)(
    "a section keeps the verdict %s that its checks support",
    (verdict) => {
      const { sections, embellished } = held(verdict, sampleScenario(verdict));
      expect(sections[0]?.report.verdict).toBe(verdict);
      expect(embellished).toBe(0);
    },
  );

  it("a section's verdict may be worse than its checks, never better", () => {
    expect(held("fail", { ...sampleScenario("pass"), verdict: "fail" }).sections[0]?.report.verdict).toBe("fail");
    const better = held("pass", { ...failed, verdict: "pass" });
    expect(better).toMatchObject({ embellished: 1, sections: [{ report: { verdict: "fail" } }] });
  });

  it("does not link the page of an untrusted run, but its download", () => {
    expect(held("fail", failed).sections[0]).toMatchObject({ timelineArtifact: null, bundleArtifact: 5 });
    expect(held("fail", failed, { untrusted: false }).sections[0]).toMatchObject({ timelineArtifact: 6 });
  });
});

describe("a known leak that a section claims", () => {
  const known = { package: "hoard", version: "1", at: "keep", until: "2027-01-31", reason: "not released" };
  const claimed: ScenarioReport = { ...failed, verdict: "warn", known_leaks: [known] };

  it("counts for a run of this repository, and not for a fork's, which may have read another configuration", () => {
    const [own] = held("warn", claimed, { untrusted: false }).sections;
    expect(own?.report).toMatchObject({ verdict: "warn", scenarios: [{ known_leaks: [known] }] });
    const [fork] = held("warn", claimed, { untrusted: true }).sections;
    expect(fork?.report.verdict).toBe("fail");
    expect(fork?.report.scenarios[0]).not.toHaveProperty("known_leaks");
  });
});

describe("an acceptance that a section claims", () => {
  const claimed: ScenarioReport = {
    ...failed,
    verdict: "warn",
    difference: token,
    accepted: { ...acceptance, by: "me" },
  };

  it("counts an acceptance by an account with write permission", () => {
    const [section] = held("warn", claimed, { live: [acceptance] }).sections;
    expect(section?.report).toMatchObject({ verdict: "warn", scenarios: [{ accepted: { by: "ann" } }] });
  });

  it.each([
    ["there is none", []],
    ["another difference was accepted", [{ ...acceptance, difference: "000000000000-dapb1" }]],
    ["it was accepted for another commit", [{ ...acceptance, head_sha: "b".repeat(40) }]],
  ])("an acceptance does not count when %s", (_why, live) => {
    expect(held("warn", claimed, { live })).toMatchObject({
      unaccepted: 1,
      sections: [{ report: { verdict: "fail" } }],
    });
  });

  it("does not trust an untrusted run's acceptance where GitHub cannot be asked, but one of this repository", () => {
    expect(held("warn", claimed).sections[0]?.report.verdict).toBe("fail");
    expect(held("warn", claimed, { untrusted: false }).sections[0]?.report.verdict).toBe("warn");
  });

  it("checks the acceptance against the checks, not against the section's own token", () => {
    const renamed = { ...claimed, difference: "000000000000-dapb1" };
    const live = [{ ...acceptance, difference: "000000000000-dapb1" }];
    expect(held("warn", renamed, { live }).sections[0]?.report).toMatchObject({
      verdict: "fail",
      scenarios: [{ difference: token }],
    });
  });
});
