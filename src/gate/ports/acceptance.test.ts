import { describe, expect, it } from "vitest";
import { type ScenarioReport, scenarioReport } from "../../report/model/gate-report.ts";
import { sampleReport } from "../../report/testing/sample-report.ts";
import { differenceOf } from "../../verdict/difference.ts";
import type { Acceptance, RefusedAcceptance } from "../../verdict/model/acceptance.ts";
import { readCheck } from "../../verdict/model/judgement-document.ts";
import { AcceptanceMatcher, type LiveAcceptances } from "./acceptance.ts";

const HEAD = "a".repeat(40);

function redScenario(): ScenarioReport {
  const [scenario] = sampleReport("fail").scenarios;
  if (scenario === undefined) throw new Error("the sample has no scenario");
  return scenario;
}

const RED = redScenario();
const TOKEN = RED.judgement === null ? "" : (differenceOf(RED.scenario, RED.fingerprint, RED.judgement)?.token ?? "");

const acceptance = (over: Partial<Acceptance> = {}): Acceptance => ({
  difference: TOKEN,
  by: "ann",
  reason: "wanted",
  via: "comment",
  at_iso: null,
  head_sha: null,
  url: null,
  ...over,
});
const refusal = (why: string): RefusedAcceptance => ({ difference: TOKEN, by: "bob", via: "comment", url: null, why });
const live = (over: Partial<LiveAcceptances> = {}): LiveAcceptances => ({
  accepted: [],
  refused: [],
  warnings: [],
  headSha: HEAD,
  ...over,
});

describe("a failed scenario", () => {
  it("a failed scenario has a token, and stays failed without an acceptance", async () => {
    const matcher = new AcceptanceMatcher(async () => live());
    expect(await matcher.apply(RED)).toEqual({ ...RED, difference: TOKEN });
    expect(await matcher.notes()).toEqual([]);
  });

  it("a failed scenario has its token where acceptances cannot be read", async () => {
    const matcher = new AcceptanceMatcher(undefined);
    expect(await matcher.apply(RED)).toMatchObject({ verdict: "fail", difference: TOKEN });
    expect(await matcher.notes()).toEqual([]);
  });

  it("a failed scenario becomes a warning when it is accepted, in its picture too, and keeps its judgement", async () => {
    const matcher = new AcceptanceMatcher(async () => live({ accepted: [acceptance()], refused: [refusal("no")] }));
    const applied = await matcher.apply(RED);
    expect(applied).toMatchObject({ verdict: "warn", accepted: { by: "ann" }, timeline: { verdict: "warn" } });
    expect(applied.judgement).toBe(RED.judgement);
    // Nothing fails any more, so ignored acceptances do not matter.
    expect(await matcher.notes()).toEqual([]);
  });

  it("a failed scenario uses the newest acceptance that covers it", async () => {
    const accepted = [acceptance({ by: "old" }), acceptance({ by: "new" }), acceptance({ difference: "0".repeat(12) })];
    const applied = await new AcceptanceMatcher(async () => live({ accepted })).apply(RED);
    expect(applied.accepted?.by).toBe("new");
  });

  it("the notes list a limited number of reasons why acceptances are ignored", async () => {
    const smaller = TOKEN.replace(/([dh][aruh][pgc][bmr])\d+/g, "$11");
    const matcher = new AcceptanceMatcher(async () =>
      live({
        accepted: [acceptance({ difference: smaller }), acceptance({ head_sha: "bbbbbbb" })],
        refused: Array.from({ length: 50 }, (_, n) => refusal(`reason ${n}`)),
      }),
    );
    expect(await matcher.apply(RED)).toMatchObject({ verdict: "fail" });
    const notes = await matcher.notes();
    expect(notes[0]).toMatch(/for commit bbbbbbb only/);
    expect(notes[1]).toMatch(/is for a smaller difference than the one found now/);
    expect(notes).toHaveLength(2 + 5 + 1);
    expect(notes.at(-1)).toBe("45 more acceptances are ignored");
  });

  it("the notes list the accepted differences when none of them matches", async () => {
    const matcher = new AcceptanceMatcher(async () =>
      live({ accepted: [acceptance({ difference: `${"0".repeat(12)}-dapb100` })] }),
    );
    await matcher.apply(RED);
    expect(await matcher.notes()).toEqual([
      expect.stringContaining("Only other differences were accepted: 000000000000-dapb100 by ann"),
    ]);
  });

  it("a failed scenario stays failed when GitHub cannot be asked, with one warning", async () => {
    let asked = 0;
    const matcher = new AcceptanceMatcher(async () => {
      asked += 1;
      throw new Error("no network");
    });
    await matcher.apply(RED);
    expect(await matcher.apply(RED)).toMatchObject({ verdict: "fail" });
    expect(asked).toBe(1);
    expect(await matcher.notes()).toEqual(["The acceptances could not be read: no network"]);
  });
});

describe("a scenario that cannot be accepted", () => {
  const failed: ScenarioReport["error"] = { code: "COMMAND_FAILED", message: "exit 1", hint: null };
  const oom = RED.judgement && {
    ...RED.judgement,
    checks: RED.judgement.checks.map((check) => readCheck({ ...check, aspect: "oom", limit: "budget" })),
  };

  it.each<[string, ScenarioReport]>([
    ["a failed command", scenarioReport({ ...RED, error: failed })],
    ["an error", scenarioReport({ ...RED, verdict: "error", judgement: null, error: failed })],
    ["running out of memory", scenarioReport({ ...RED, judgement: oom })],
    ["an unjudged scenario", { ...RED, verdict: "unjudged" }],
    ["a pass", { ...RED, verdict: "pass" }],
  ])("%s cannot be accepted: it has no token, and GitHub is not asked", async (_what, report) => {
    const matcher = new AcceptanceMatcher(() => Promise.reject(new Error("asked")));
    expect(await matcher.apply(report)).toBe(report);
    expect(await matcher.notes()).toEqual([]);
  });
});
