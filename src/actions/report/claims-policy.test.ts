import { describe, expect, it } from "vitest";
import type { Section } from "../../report/model/section.ts";
import { sampleReport } from "../../report/testing/sample-report.ts";
import { policyDifference } from "../../verdict/difference.ts";
import type { Acceptance } from "../../verdict/model/acceptance.ts";
import { callsItselfAccepted, holdClaims } from "./claims.ts";

const CHANGES = [{ path: "policy.unjudged", base: "fail", head: "pass" }];
const TOKEN = policyDifference(CHANGES).token;
const accepted = (over: Partial<Acceptance> = {}): Acceptance => ({
  difference: TOKEN,
  by: "ann",
  reason: "agreed",
  via: "comment",
  at_iso: null,
  head_sha: null,
  url: null,
  ...over,
});

const section = (over: Partial<Section["report"]>): Section => ({
  gateId: "default",
  leg: null,
  headSha: null,
  runAttempt: 1,
  bundleArtifact: null,
  timelineArtifact: null,
  report: sampleReport("pass", { policy_changes: CHANGES, ...over }),
});

const CLAIM = section({
  policy_accepted: accepted({ by: "someone famous" }),
  policy_difference: "000000000000-policy",
});

describe("a section with accepted changes of its own gate", () => {
  it("callsItselfAccepted is true only where a section claims accepted changes", () => {
    expect(callsItselfAccepted([CLAIM])).toBe(true);
    expect(callsItselfAccepted([section({})])).toBe(false);
  });

  it.each([
    ["nothing was accepted", []],
    ["something else was accepted", [accepted({ difference: "000000000000-policy" })]],
  ])("an untrusted section's accepted changes are dropped and its pass becomes warn where %s", (_what, live) => {
    const held = holdClaims([CLAIM], { live, headSha: null, untrusted: true });
    expect(held).toMatchObject({
      unaccepted: 1,
      embellished: 1,
      sections: [{ report: { verdict: "warn", policy_difference: TOKEN } }],
    });
    expect(held.sections[0]?.report.policy_accepted).toBeUndefined();
  });

  it("an untrusted section's accepted changes are dropped where GitHub cannot be asked", () => {
    const held = holdClaims([CLAIM], { live: null, headSha: null, untrusted: true });
    expect(held.sections[0]?.report.policy_accepted).toBeUndefined();
  });

  it("names the account that accepted it on GitHub", () => {
    const held = holdClaims([CLAIM], { live: [accepted()], headSha: null, untrusted: true });
    expect(held).toMatchObject({
      unaccepted: 0,
      embellished: 0,
      sections: [{ report: { verdict: "pass", policy_accepted: { by: "ann" } } }],
    });
  });

  it("accepted changes from a run of this repository count where GitHub cannot be asked", () => {
    const own = section({ policy_accepted: accepted(), policy_difference: TOKEN });
    const held = holdClaims([own], { live: null, headSha: null, untrusted: false });
    expect(held).toMatchObject({
      unaccepted: 0,
      sections: [{ report: { verdict: "pass", policy_accepted: { by: "ann" } } }],
    });
  });
});
