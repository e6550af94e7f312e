import { describe, expect, it } from "vitest";
import type { LinePackage } from "../../analysis/series/document.ts";
import { renderSummary } from "../markdown/summary-markdown.ts";
import type { ScenarioReport } from "../model/gate-report.ts";
import type { LockChange } from "../model/report-schema.ts";
import { renderTerminal } from "../terminal/terminal.ts";
import { SAMPLE_FINDING, sampleReport, sampleScenario } from "../testing/sample-report.ts";
import { lockText, ownLockText } from "./line-answer.ts";

const CHANGES: readonly LockChange[] = [
  { ecosystem: "python", name: "numpy", from: "1.26.0", to: "2.0.0" },
  { ecosystem: "node", name: "undici", from: null, to: "5.14.0" },
  { ecosystem: "python", name: "old", from: "1", to: null },
];

const owned = (owner: LinePackage): ScenarioReport => ({
  ...sampleScenario("fail", {
    findings: [{ ...SAMPLE_FINDING, classification: "leak_line", evidence: { line: "train.py:6" }, package: owner }],
  }),
  lock_changes: { total: 9, packages: CHANGES },
});
const NUMPY = { ecosystem: "python", name: "NumPy", version: "2.0.0", relation: "called" } as const;

describe("the packages that a change locks to other versions", () => {
  it("changed packages are listed with both versions and the number of the others", () => {
    expect(lockText(owned(NUMPY), "pull-request")).toBe(
      "9 locked packages changed in this pull request: " +
        "numpy 1.26.0 -> 2.0.0, undici added at 5.14.0, old 1 removed and 6 more",
    );
    expect(lockText(sampleScenario("fail"))).toBeNull();
  });

  it("changed packages are cut to five in the text, and the package of the line is still found", () => {
    const others = Array.from({ length: 6 }, (_, i) => ({ ...CHANGES[0]!, name: `other-${i}` }));
    const scenario = { ...owned(NUMPY), lock_changes: { total: 9, packages: [...others, ...CHANGES] } };
    expect(lockText(scenario)).toMatch(/ other-4 1\.26\.0 -> 2\.0\.0 and 4 more$/);
    expect(ownLockText(scenario)).toContain("numpy");
  });

  it("include that of the line under its normal name, and not one of the same name elsewhere", () => {
    expect(ownLockText(owned(NUMPY))).toBe("numpy 1.26.0 -> 2.0.0 since the base commit");
    expect(ownLockText(owned({ ...NUMPY, ecosystem: "node" }))).toBeNull();
    expect(ownLockText({ ...owned(NUMPY), findings: [] })).toBeNull();
  });

  it("changed packages are in the details, and the package of the line is shown beside the line", () => {
    const shown = (scenario: ScenarioReport, verbose: boolean): string =>
      renderTerminal(sampleReport("fail", { scenarios: [scenario] }), { color: false, width: 200, verbose });
    expect(shown(owned(NUMPY), false)).toContain("    numpy 1.26.0 -> 2.0.0 since the base commit\n");
    expect(shown(owned(NUMPY), false)).not.toContain("undici");
    expect(shown(owned({ ...NUMPY, name: "other" }), false)).not.toContain("1.26.0");
    expect(shown(owned(NUMPY), true)).toContain("9 locked packages changed since the base commit: numpy");
    const [lead, details] = renderSummary(sampleReport("fail", { scenarios: [owned(NUMPY)] })).split("<details>");
    expect(lead).toMatch(/numpy 1\.26\.0 .*2\.0\.0 in this pull request\./);
    expect(lead).not.toContain("undici");
    expect(details).toContain("9 locked packages changed in this pull request");
  });
});
