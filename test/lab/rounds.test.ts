import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { packageRoot } from "../../src/core/package-root.ts";
import { CATALOGUE } from "../../src/lab/catalogue.ts";
import type { LabOutcome } from "../../src/lab/report/document.ts";

const SUMMARY = path.join(packageRoot(), "scripts", "ci", "leak-lab-summary.mjs");
type Round = Readonly<Record<string, LabOutcome>>;

/** The report of these rounds; null is a round without a result. */
function report(...rounds: readonly (Round | null)[]): ReturnType<typeof toldOf> {
  return toldOf([], rounds);
}

/** The same for rounds that requested these patterns by name. */
function toldOf(
  named: readonly string[],
  rounds: readonly (Round | null)[],
): { readonly code: number | null; readonly text: string } {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-rounds-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(path.join(directory, "catalogue.json"), JSON.stringify({ patterns: CATALOGUE }));
  for (const [index, outcomes] of rounds.entries()) {
    if (outcomes === null) continue;
    const patterns = Object.entries(outcomes).map(([name, outcome]) => ({ name, outcome }));
    mkdirSync(path.join(directory, String(index + 1)));
    writeFileSync(path.join(directory, String(index + 1), "lab.json"), JSON.stringify({ patterns }));
  }
  const { status, stdout } = spawnSync(process.execPath, [SUMMARY, directory, String(rounds.length), ...named], {
    encoding: "utf8",
  });
  return { code: status, text: stdout };
}

const AS_EXPECTED: Round = { forward_hook: "caught", scaler_accumulation: "not-visible", jax_pullbacks: "skipped" };

describe("the summary of several lab rounds", () => {
  it("passes when each pattern matched the catalogue in every round", () => {
    const { code, text } = report(AS_EXPECTED, { ...AS_EXPECTED, scaler_accumulation: "warned" });
    expect(text).toMatch(/forward_hook +caught +caught 2 of 2\n/);
    expect(text).toMatch(/scaler_accumulation +not-visible +not-visible 1 of 2, warned 1 of 2\n/);
    expect(text).toContain("2 rounds: 2 of 2 leaks caught, 0 false alarms in 4 fixed states, 0 surprises.");
    expect(code).toBe(0);
  });

  it.each<LabOutcome>(["not-visible", "warned", "false-alarm", "broken"])(
    "the summary fails and names the round when a pattern was %s in it",
    (odd) => {
      const { code, text } = report(AS_EXPECTED, { ...AS_EXPECTED, forward_hook: odd });
      expect(code).toBe(1);
      expect(text).toContain(`${odd} 1 of 2   <- round 2`);
      expect(text).toContain("1 of 2 leaks caught");
      expect(text).toContain("1 surprise.");
    },
  );

  it("fails when a requested pattern was skipped", () => {
    const { code, text } = toldOf(["forward_hook", "jax_pullbacks"], [AS_EXPECTED]);
    expect(code).toBe(1);
    expect(text).toMatch(/jax_pullbacks +caught +skipped 1 of 1 {3}<- round 1\n/);
    expect(toldOf(["forward_hook"], [AS_EXPECTED]).code).toBe(0);
  });

  it("fails when a round is missing, or nothing could be judged", () => {
    expect(report(AS_EXPECTED, null)).toMatchObject({ code: 1 });
    expect(report(AS_EXPECTED, null).text).toContain("Without a result: round 2.");
    expect(report({ jax_pullbacks: "skipped" })).toMatchObject({ code: 1 });
  });
});
