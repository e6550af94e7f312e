import type { Verdict } from "../model/gate-report.ts";

const COLOR: Readonly<Record<Verdict, string>> = {
  pass: "brightgreen",
  warn: "yellow",
  fail: "red",
  unjudged: "lightgrey",
  error: "purple",
};

/** The shields.io endpoint badge of a nightly gate, marked where the gate only advises. Other keys are not accepted. */
export function nightlyBadge(verdict: Verdict, advisory: boolean): string {
  const message = advisory ? `${verdict} (advisory)` : verdict;
  return `${JSON.stringify({ schemaVersion: 1, label: "memory", message, color: COLOR[verdict] })}\n`;
}
