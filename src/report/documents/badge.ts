import type { Verdict } from "../model/gate-report.ts";

const COLOR: Readonly<Record<Verdict, string>> = {
  pass: "brightgreen",
  warn: "yellow",
  fail: "red",
  unjudged: "lightgrey",
  error: "purple",
};

/** The JSON document of a shields.io endpoint badge, which accepts no other keys. */
export function badgeJson(label: string, message: string, color: string): string {
  return `${JSON.stringify({ schemaVersion: 1, label, message, color })}\n`;
}

/** The badge of a nightly gate, marked where the gate only advises. */
export function nightlyBadge(verdict: Verdict, advisory: boolean): string {
  return badgeJson("memory", advisory ? `${verdict} (advisory)` : verdict, COLOR[verdict]);
}
