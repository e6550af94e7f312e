import path from "node:path";
import type { Pair, Size, State } from "./pairs.ts";

export const TOOLS = ["gate", "gate-baseline", "pytest-memray", "memray", "tracemalloc", "rss"] as const;
export type Tool = (typeof TOOLS)[number];

/** How a named line relates to the leak: the call that leaks, its function, inside the package, elsewhere. */
export type LineMatch = "exact" | "function" | "package" | "wrong" | "none";

export interface Judged {
  readonly kind: "judged";
  readonly red: boolean;
  /** First sentence of the tool. */
  readonly answer: string;
  readonly line: string | null;
  readonly match: LineMatch;
  /** Its answer contains the package's name and its version. */
  readonly package_named: boolean;
  /** Growth that the tool reports, in bytes. */
  readonly growth_bytes: number | null;
  readonly minutes: number;
}

export type Result = Judged | { readonly kind: "skipped"; readonly why: string };

export interface Outcome {
  readonly pair: string;
  readonly state: State;
  readonly size: Size;
  readonly tool: Tool;
  readonly try: number;
  /** Bytes per call times calls, or null where they are not proportional. */
  readonly expected_bytes: number | null;
  readonly result: Result;
}

/** How a line, as `FILE:LINE`, relates to the program's line with the comment `leaks` and to the package. */
export function matchLine(line: string | null, source: string, pair: Pair): LineMatch {
  if (line === null) return "none";
  const [, file = "", number = "0"] = /^(.*):(\d+)$/.exec(line) ?? [];
  if (/^program\.(?:py|cjs)$/.test(path.posix.basename(file))) {
    const lines = source.split("\n");
    const leaks = lines.findIndex((one) => /(?:#|\/\/) leaks$/.test(one)) + 1;
    const begins = lines.findIndex((one) => /^(?:def call\(|exports\.call = )/.test(one)) + 1;
    if (leaks === 0 || begins === 0) throw new Error(`${pair.program}: no line is marked, or it has no call`);
    if (Number(number) === leaks) return "exact";
    return Number(number) >= begins ? "function" : "wrong";
  }
  const installed = pair.runtime === "python" ? "site-packages" : "node_modules";
  return `/${file}`.includes(`/${installed}/${pair.directory ?? pair.package}/`) ? "package" : "wrong";
}

/** The texts contain the package's name with its version, in one of the ways in which they are written together. */
export function namesPackage(texts: readonly string[], { package: name }: Pair, version: string): boolean {
  return texts.some((text) => [" ", "==", "@", "-"].some((between) => text.includes(`${name}${between}${version}`)));
}
