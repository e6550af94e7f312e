import type { Finding, LinePackage } from "../../analysis/document.ts";
import { formatShort } from "../../core/units.ts";
import {
  LEAK_LINE,
  ONE_TIME_LINE,
  type SourceLocation,
  sourceLocationOf,
  UNATTRIBUTED_GROWTH,
} from "../source-line.ts";

/** The line an answer names. Texts come from the measured program: escape them where they are printed. */
export interface LineAnswer {
  readonly kind: "leak" | "one-time";
  readonly finding: Finding;
  /** "train.py:6" */
  readonly location: string;
  /** Null when the file is not in the repository. */
  readonly source: SourceLocation | null;
  /** Text of the line; null when it could not be read. */
  readonly code: string | null;
  /** "the list `history`"; null when unknown. */
  readonly keptBy: string | null;
  /** Share of the judged growth, 0 to 1. */
  readonly share: number | null;
  readonly bytes: number | null;
  /** The package that the line is in, calls, or is called by, as {@link packageText}; null for none. */
  readonly package: string | null;
  /** What usually fixes it, by the retainer that was found. */
  readonly fix: string | null;
}

const text = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);
const size = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null);

/** The line that holds most of a leak, or of a one-time increase; null when none was found. */
export function lineAnswer(findings: readonly Finding[], kind: LineAnswer["kind"] = "leak"): LineAnswer | null {
  const wanted = kind === "leak" ? LEAK_LINE : ONE_TIME_LINE;
  const finding = findings.find(({ classification }) => classification === wanted);
  const location = text(finding?.evidence.line);
  if (finding === undefined || location === null) return null;
  const { code, kept_by, share, growth_bytes, placed } = finding.evidence;
  return {
    kind,
    finding,
    location,
    source: sourceLocationOf(finding),
    code: text(code),
    keptBy: text(kept_by),
    share: size(share),
    bytes: size(growth_bytes),
    package: finding.package === undefined ? null : packageText(finding.package, placed),
    fix: finding.remediation[0] ?? null,
  };
}

/** What the frames on the line's stack show of a package: "in aiohttp 3.10.10", "allocated in numpy 2.3.1". */
export function packageText(owner: LinePackage, placed: unknown): string {
  const { relation, name, version, yanked, deprecated } = owner;
  const withdrawn = yanked ? " (yanked)" : deprecated === undefined ? "" : " (deprecated)";
  const named = `${name} ${version}${withdrawn}`;
  switch (relation) {
    case "contains":
      return `in ${named}`;
    case "called":
      return `${placed === "kept" ? "kept" : "allocated"} in ${named}`;
    case "calls":
      return `called by ${named}`;
  }
}

/** "97 %", never "100 %" for a part. */
export function percent(share: number): string {
  return share >= 1 ? "100 %" : share > 0.99 ? "99 %" : `${Math.round(100 * share)} %`;
}

/** What holds the memory, and how much of it: "list `history`, 98 % of the growth". Not escaped. */
export function lineNote(line: LineAnswer): string {
  const parts: string[] = [];
  if (line.keptBy !== null) parts.push(line.keptBy.replace(/^the /, ""));
  if (line.kind === "leak" && line.share !== null) parts.push(`${percent(line.share)} of the growth`);
  return parts.join(", ");
}

/** "one-time +50.0 MiB at train.py:18, still held at the end" */
export function oneTimeText(line: LineAnswer): string {
  const amount = line.bytes === null ? "" : ` +${formatShort(line.bytes)}`;
  const found = line.package === null ? "" : `, ${line.package}`;
  return `one-time${amount} at ${line.location}${found}, still held at the end`;
}

/** Growth that no line holds, in one sentence, and the tool that would name it; null when that was not found. */
export function unattributed(
  findings: readonly Finding[],
): { readonly text: string; readonly next: string | null } | null {
  const finding = findings.find(({ classification }) => classification === UNATTRIBUTED_GROWTH);
  const share = size(finding?.evidence.share);
  if (finding === undefined || share === null || share < 0.05) return null;
  const memory =
    finding.evidence.memory === "native" ? "native memory that no line holds" : "held by no line that was found";
  return { text: `${percent(share)} of the growth is ${memory}`, next: finding.remediation[0] ?? null };
}
