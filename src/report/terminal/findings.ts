import type { Finding } from "../../analysis/series/document.ts";
import { findingName, findingSeries } from "../wording/wording.ts";
import type { Paint } from "./ansi.ts";
import { safe, wrapText } from "./terminal-table.ts";

const MAX_FINDINGS = 8;

/** Findings, each with its source line and the advice. */
export function findingLines(findings: readonly Finding[], paint: Paint, width: number): string[] {
  const color = { critical: paint.red, warning: paint.yellow, info: paint.dim } as const;
  const lines = findings.slice(0, MAX_FINDINGS).flatMap((finding) => {
    const series = findingSeries(finding);
    const name = `${findingName(finding)}${series === "" ? "" : ` (${series})`}`;
    const text = wrapText(safe(`● ${name}: ${finding.description}`), width - 2, "  ");
    const hint = finding.remediation[0];
    const { code } = finding.evidence;
    return [
      ...text.map((line, i) => `  ${i === 0 ? line.replace("●", color[finding.severity]("●")) : line}`),
      ...(typeof code === "string" && code !== "" ? [`      ${safe(code.slice(0, Math.max(20, width - 8)))}`] : []),
      ...(hint === undefined
        ? []
        : wrapText(`↳ ${safe(hint)}`, width - 4, "  ").map((line) => paint.dim(`    ${line}`))),
    ];
  });
  const more = findings.length - MAX_FINDINGS;
  return more > 0 ? [...lines, paint.dim(`  and ${more} more`)] : lines;
}
