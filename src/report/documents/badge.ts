import type { Verdict } from "./model.ts";

const COLOR: Readonly<Record<Verdict, string>> = {
  pass: "brightgreen",
  warn: "yellow",
  fail: "red",
  unjudged: "lightgrey",
  error: "purple",
};

/** The only keys that a shields.io endpoint badge accepts. */
interface Badge {
  readonly label: string;
  readonly message: string;
  readonly color: string;
}

/** The JSON document of a shields.io endpoint badge. */
export function badgeJson({ label, message, color }: Badge): string {
  return `${JSON.stringify({ schemaVersion: 1, label, message, color })}\n`;
}

/** The badge of a nightly gate, marked where the gate only advises. */
export function nightlyBadge(verdict: Verdict, advisory: boolean): string {
  return badgeJson({ label: "memory", message: advisory ? `${verdict} (advisory)` : verdict, color: COLOR[verdict] });
}
