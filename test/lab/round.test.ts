import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { recordName } from "../../src/baseline/store.ts";
import { packageRoot } from "../../src/core/package-root.ts";
import { CATALOGUE } from "../../src/lab/catalogue.ts";
import type { LabDocument, LabPattern } from "../../src/lab/report/document.ts";
import { cli, freshDirectory } from "../e2e/cli.ts";

/** A round takes minutes: `STORMLOG_TEST_LAB=1` enables it. */
const WANTED = process.env.STORMLOG_TEST_LAB === "1";
const PYTHON = process.env.STORMLOG_TEST_TORCH_PYTHON ?? "/usr/bin/python3";
/**
 * The directory whose records the round is judged by; a pattern without one of this environment measures its own first.
 */
const STORE = process.env.STORMLOG_TEST_LAB_BASELINE ?? path.join(packageRoot(), "baselines");

/** Two at a time, one for each of two cores; the two patterns of several ranks do not lie in the same half. */
const HALVES = [0, 1].map((half) => CATALOGUE.flatMap(({ name }, index) => (index % 2 === half ? [name] : [])));

describe.skipIf(!WANTED)("a round of the leak lab on this machine", () => {
  const directory = freshDirectory();
  const placeOf = (name: string): string =>
    path.join(directory, String(HALVES.findIndex((half) => half.includes(name))));
  let patterns: readonly LabPattern[];

  beforeAll(async () => {
    const common = ["--json", "--device", "cpu", "--python", PYTHON, "--baseline", `file:${STORE}`];
    const halves = await Promise.all(
      HALVES.map(async (names, half) => {
        const args = ["lab", "run", ...names, ...common, "--output", String(half)];
        const { stdout, stderr } = await cli(args, { cwd: directory });
        expect(stdout, stderr).not.toBe("");
        const round: LabDocument = JSON.parse(stdout);
        return round.patterns;
      }),
    );
    const all = halves.flat();
    patterns = CATALOGUE.flatMap(({ name }) => all.filter((pattern) => pattern.name === name));
  }, 7_200_000);

  const measured = (): readonly LabPattern[] => patterns.filter(({ outcome }) => outcome !== "skipped");

  it("a round has a row for every pattern and skips only what is not installed", () => {
    expect(patterns.map(({ name }) => name)).toEqual(CATALOGUE.map(({ name }) => name));
    for (const { outcome, reason } of patterns) if (outcome === "skipped") expect(reason).toMatch(/not installed/);
    expect(measured().length).toBeGreaterThan(0);
  });

  it("judges by the stored record of every pattern that has one of this environment, and measures no other for it", () => {
    for (const { name, fixed } of measured()) {
      const file = path.join(placeOf(name), fixed?.bundle ?? "?", "report.json");
      const [scenario] = JSON.parse(readFileSync(file, "utf8")).payload.scenarios;
      const stored = existsSync(path.join(STORE, recordName(name, scenario.fingerprint)));
      expect(existsSync(path.join(placeOf(name), "baseline", name)), name).toBe(!stored);
      if (stored) expect(scenario.baseline.source, name).toBe(`file:${STORE}`);
    }
  });

  it("states how much every pattern keeps a step by construction", () => {
    for (const { name, leak_bytes_per_step: kept } of measured()) expect(kept, name).toBeGreaterThan(0);
  });

  it("fails every leak that its host can show, and passes every fixed state", () => {
    const outcomes = Object.fromEntries(measured().map(({ name, outcome }) => [name, outcome]));
    const expected = measured().map(({ name }) => [name, CATALOGUE.find((entry) => entry.name === name)?.expected]);
    expect(outcomes).toEqual(Object.fromEntries(expected));
    for (const { name, fixed } of measured()) expect(fixed?.verdict, name).toBe("pass");
  });

  it("names first a line between the leak's marks, for every pattern that failed", () => {
    const flagged = measured().filter(({ outcome }) => outcome === "caught");
    expect(flagged.length).toBeGreaterThan(0);
    for (const { name, line, line_in_leak: inside } of flagged) expect(inside, `${name}: ${line}`).toBe(true);
  });

  it("reports the detectable minimum of the pattern that is not visible", () => {
    const silent = measured().find(({ name }) => name === "scaler_accumulation");
    if (silent === undefined) return;
    expect(silent.outcome).toBe("not-visible");
    expect(silent.leaky?.mde_bytes).toBeGreaterThan((silent.leak_bytes_per_step ?? 0) * (silent.steps ?? 0));
  });

  it("shows that missing zero_grad costs the accuracy, too", () => {
    const pattern = measured().find(({ name }) => name === "missing_zero_grad");
    if (pattern === undefined) return;
    expect(pattern.fixed?.accuracy).toBeGreaterThan(0.6);
    expect(pattern.leaky?.accuracy).toBeLessThan(0.3);
  });

  it("finds about the bytes that are kept by construction, where the heap counter shows them", () => {
    for (const { name, framework, leaky, leak_bytes_per_step: kept, outcome } of measured()) {
      const slope = leaky?.slope_bytes_per_step;
      if (framework !== "torch" || outcome !== "caught" || slope == null || kept === null) continue;
      expect(slope / kept, name).toBeGreaterThan(0.8);
      expect(slope / kept, name).toBeLessThan(1.5);
    }
  });

  it("keeps the evidence of both states, and makes a report of it", async () => {
    for (const { name, leaky, fixed } of measured()) {
      for (const state of [leaky, fixed])
        expect(existsSync(path.join(placeOf(name), state?.bundle ?? "?", "report.json"))).toBe(true);
    }
    const { code } = await cli(["lab", "report", "0", "--output", "page"], { cwd: directory });
    expect(code).toBe(0);
    expect(readFileSync(path.join(directory, "page", "leak-lab.md"), "utf8")).toContain("forward_hook");
  });
});
