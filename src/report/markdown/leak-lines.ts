import type { Finding } from "../../analysis/series/document.ts";
import { formatBytesDelta } from "../../core/units.ts";
import { packageText, percent } from "../headline/line-answer.ts";
import { LEAK_LINE } from "../wording/source-line.ts";
import { md, table } from "./markdown-text.ts";

const MAX_LINES = 5;

/** Findings that name the line that holds growing memory, and the others. */
export function splitLines(findings: readonly Finding[]): {
  readonly lines: readonly Finding[];
  readonly others: readonly Finding[];
} {
  return {
    lines: findings.filter(({ classification }) => classification === LEAK_LINE),
    others: findings.filter(({ classification }) => classification !== LEAK_LINE),
  };
}

/** "+1.9 KiB per step" or "+2.0 MiB/s"; "–" when neither is known. */
function growthRate({ evidence }: Finding): string {
  const { bytes_per_step: perStep, bytes_per_s: perSecond } = evidence;
  if (typeof perStep === "number") return `${formatBytesDelta(perStep)} per step`;
  return typeof perSecond === "number" ? `${formatBytesDelta(perSecond)}/s` : "–";
}

/** "97 %" of the growth observed inside the process; "–" when unknown. */
function growthShare({ evidence: { share } }: Finding): string {
  return typeof share === "number" ? percent(share) : "–";
}

/** A table of the growing lines with their code, and the usual fix for the first; null when no line is known. */
export function linesMarkdown(lines: readonly Finding[]): string | null {
  const first = lines[0];
  if (first === undefined) return null;
  const rows = lines.slice(0, MAX_LINES).map((finding) => {
    const { line, function: name, code } = finding.evidence;
    const where = `**${md(String(line ?? "?"), 120)}**${typeof name === "string" ? ` ${md(name, 60)}` : ""}`;
    const found =
      finding.package === undefined ? "" : `, ${md(packageText(finding.package, finding.evidence.placed), 160)}`;
    return [
      `${where}${found}`,
      typeof code === "string" ? md(code, 90) : "",
      growthRate(finding),
      growthShare(finding),
    ];
  });
  const out = ["**The line that grows**", table(["Line", "Code", "Growth", "Share"], ["l", "l", "r", "r"], rows)];
  if (lines.length > MAX_LINES) out.push(`…and ${lines.length - MAX_LINES} more in the bundle.`);
  const hint = first.remediation[0];
  if (hint !== undefined) out.push(`↳ ${md(hint, 400)}`);
  return out.join("\n\n");
}
