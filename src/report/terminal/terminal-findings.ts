import type { Finding } from "../../analysis/document.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { oneLine } from "../../core/text.ts";
import type { Paint } from "./ansi.ts";
import { wrapText } from "./terminal-table.ts";

const MAX_FINDINGS = 8;

/** Findings as a person reads them, each with what to do about it. */
export function findingLines(findings: readonly Finding[], paint: Paint, width: number): string[] {
  const color = { critical: paint.red, warning: paint.yellow, info: paint.dim } as const;
  const lines = findings.slice(0, MAX_FINDINGS).flatMap((finding) => {
    const where = [finding.rank === null ? null : `rank ${finding.rank}`, finding.device].filter(
      (part) => part !== null,
    );
    const kind = one(finding.classification.replaceAll("_", " "));
    const place = where.length === 0 ? "" : ` (${one(where.join(", "))})`;
    const text = wrapText(`● ${kind}${place}: ${one(finding.description)}`, width - 2, "  ");
    const hint = finding.remediation[0];
    const { code } = finding.evidence;
    return [
      ...text.map((line, i) => `  ${i === 0 ? line.replace("●", color[finding.severity]("●")) : line}`),
      ...(typeof code === "string" && code !== "" ? [`      ${one(code.slice(0, Math.max(20, width - 8)))}`] : []),
      ...(hint === undefined
        ? []
        : wrapText(`↳ ${one(hint)}`, width - 4, "  ").map((line) => paint.dim(`    ${line}`))),
    ];
  });
  const more = findings.length - MAX_FINDINGS;
  return more > 0 ? [...lines, paint.dim(`  and ${more} more`)] : lines;
}

function one(text: string): string {
  return escapeTerminal(oneLine(text));
}
