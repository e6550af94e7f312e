import type { GateReport, Verdict } from "./model.ts";

const COLOR: Readonly<Record<Verdict, string>> = {
  pass: "brightgreen",
  warn: "yellow",
  fail: "red",
  unjudged: "lightgrey",
  error: "purple",
};

/** What a shields.io endpoint badge reads; it takes no other keys. */
export interface Badge {
  readonly label: string;
  readonly message: string;
  readonly color: string;
}

/** The document behind a shields.io endpoint badge. */
export function badgeJson({ label, message, color }: Badge): string {
  return `${JSON.stringify({ schemaVersion: 1, label, message, color })}\n`;
}

/** The JSON that a shields.io endpoint badge reads. */
export function renderBadge(report: GateReport): string {
  return badgeJson({ label: "memory", message: report.word, color: COLOR[report.word] });
}

/** The same of a nightly gate; one that only advises says so, and that it does not block is no green. */
export function nightlyBadge(word: Verdict, advisory: boolean): string {
  return badgeJson({ label: "memory", message: advisory ? `${word} (advisory)` : word, color: COLOR[word] });
}
