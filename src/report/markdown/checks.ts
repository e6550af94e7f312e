import type { Finding } from "../../analysis/series/document.ts";
import type { ScenarioReport } from "../model/gate-report.ts";
import { moreText, shownChecks } from "../wording/shown-checks.ts";
import { checkCells, checkName, findingName, findingSeries, sortChecks } from "../wording/wording.ts";
import { SIGN, unbroken } from "./answer.ts";
import { md, table } from "./markdown-text.ts";

const SEVERITY_SIGN = { critical: "🔴", warning: "🟠", info: "🔵" } as const;
const MAX_CHECKS = 24;
const MAX_REASONS = 5;
const MAX_FINDINGS = 6;

/** The checks with candidate, baseline, limit and smallest detectable change, and the reasons of those not passed. */
export function checksText(scenario: ScenarioReport): string {
  const checks = scenario.judgement?.checks ?? [];
  const shown = shownChecks(checks, MAX_CHECKS);
  const rows = shown.rows.flatMap(({ check, more }) => {
    const cells = checkCells(check);
    const advisory = check.gating || check.verdict === "pass" ? "" : " (advisory)";
    const row = [
      `${SIGN[check.verdict]} ${md(checkName(check, checks), 80)}${advisory}`,
      check.verdict === "fail" ? `**${unbroken(cells.candidate)}**` : unbroken(cells.candidate),
      unbroken(cells.baseline),
      unbroken(cells.limit),
      unbroken(cells.sees),
    ];
    return more === 0 ? [row] : [row, [`…${moreText(more)}`, "", "", "", ""]];
  });
  const out = [table(["Check", "Candidate", "Baseline", "Limit", "Would detect"], ["l", "r", "r", "r", "r"], rows)];
  if (shown.hidden > 0) out.push(`…and ${shown.hidden} more in the bundle.`);
  const reasons = sortChecks(checks)
    .filter(({ verdict }) => verdict !== "pass")
    .slice(0, MAX_REASONS);
  if (reasons.length > 0) {
    out.push(reasons.map((check) => `- ${md(checkName(check, checks), 80)}: ${md(check.reason, 300)}`).join("\n"));
  }
  return out.join("\n\n");
}

/** Findings with their hint; null when there are none. */
export function findingsText(findings: readonly Finding[]): string | null {
  if (findings.length === 0) return null;
  const lines = findings.slice(0, MAX_FINDINGS).map((finding) => {
    const series = findingSeries(finding);
    const name = `**${md(findingName(finding), 60)}**${series === "" ? "" : ` (${md(series, 80)})`}`;
    const hint = finding.remediation[0] === undefined ? "" : `  \n  ↳ ${md(finding.remediation[0], 300)}`;
    return `- ${SEVERITY_SIGN[finding.severity]} ${name}: ${md(finding.description, 400)}${hint}`;
  });
  if (findings.length > MAX_FINDINGS) lines.push(`- …and ${findings.length - MAX_FINDINGS} more in the bundle`);
  return `**Findings**\n\n${lines.join("\n")}`;
}
