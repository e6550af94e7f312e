import type { GateReport, GateWord } from "./model.ts";

const COLOR: Readonly<Record<GateWord, string>> = {
  pass: "brightgreen",
  warn: "yellow",
  fail: "red",
  unjudged: "lightgrey",
  error: "purple",
};

/** The JSON that a shields.io endpoint badge reads. */
export function renderBadge(report: GateReport): string {
  return `${JSON.stringify({ schemaVersion: 1, label: "memory", message: report.word, color: COLOR[report.word] })}\n`;
}
