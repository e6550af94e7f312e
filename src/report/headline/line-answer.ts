import type { Finding, LinePackage, Package } from "../../analysis/series/document.ts";
import { normalName } from "../../core/locks.ts";
import { plural } from "../../core/text.ts";
import { formatShort } from "../../core/units.ts";
import type { ScenarioReport } from "../model/gate-report.ts";
import type { LockChange } from "../model/report-schema.ts";
import type { Reader } from "../wording/next-steps.ts";
import {
  HELD_AT_PEAK,
  LEAK_LINE,
  ONE_TIME_LINE,
  PEAK_LINE,
  type SourceLocation,
  sourceLocationOf,
  UNATTRIBUTED_GROWTH,
} from "../wording/source-line.ts";

/** The line an answer names. Texts come from the measured program: escape them where they are printed. */
export interface LineAnswer {
  readonly kind: "leak" | "one-time" | "peak";
  readonly finding: Finding;
  /** "train.py:6" */
  readonly location: string;
  /** Null when the file is not in the repository. */
  readonly source: SourceLocation | null;
  /** Text of the line; null when it could not be read. */
  readonly code: string | null;
  /** "the list `history`"; null when unknown. */
  readonly keptBy: string | null;
  /** Share of the judged growth, or of the difference of the peaks; 0 to 1. */
  readonly share: number | null;
  /** That share in bytes: by how much it grew, or holds more than on the base. */
  readonly bytes: number | null;
  /** The package that the line is in, calls, or is called by, as {@link packageText}; null for none. */
  readonly package: string | null;
  /** What usually fixes it, by the retainer that was found. */
  readonly fix: string | null;
}

const text = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);
const size = (value: unknown): number | null => (typeof value === "number" && Number.isFinite(value) ? value : null);

const CLASSIFICATIONS = { leak: LEAK_LINE, "one-time": ONE_TIME_LINE, peak: PEAK_LINE } as const;

/** The line that holds most of a leak; null when none was found. */
export function leakLine(findings: readonly Finding[]): LineAnswer | null {
  return linesOf(findings, "leak")[0] ?? null;
}

/** What usually fixes a breach, by the retainer of its line; null without one. */
export function fixOf({ verdict, findings }: ScenarioReport): string | null {
  return verdict === "fail" || verdict === "warn" ? (leakLine(findings)?.fix ?? null) : null;
}

/** The line that holds most of a leak, of a one-time increase, or of a higher peak; null when none was found. */
export function namedLine(findings: readonly Finding[]): LineAnswer | null {
  return leakLine(findings) ?? linesOf(findings, "one-time")[0] ?? peakLines(findings)[0] ?? null;
}

/** The lines that hold more at a higher peak, the largest difference first. */
export function peakLines(findings: readonly Finding[]): readonly LineAnswer[] {
  return linesOf(findings, "peak");
}

function linesOf(findings: readonly Finding[], kind: LineAnswer["kind"]): readonly LineAnswer[] {
  return findings
    .filter(({ classification }) => classification === CLASSIFICATIONS[kind])
    .flatMap((finding): LineAnswer[] => {
      const location = text(finding.evidence.line);
      if (location === null) return [];
      const { code, kept_by, share, growth_bytes, difference_bytes, placed } = finding.evidence;
      return [
        {
          kind,
          finding,
          location,
          source: sourceLocationOf(finding),
          code: text(code),
          keptBy: text(kept_by),
          share: size(share),
          bytes: size(kind === "peak" ? difference_bytes : growth_bytes),
          package: finding.package === undefined ? null : packageText(finding.package, placed),
          fix: finding.remediation[0] ?? null,
        },
      ];
    });
}

/**
 * The request that a run had no memory for: "train.py:178 asked for 2.00 MiB beside 372 MiB", without a size where that
 * is not known; null where its line is not known; `brief` leaves out the directories of its file. Not escaped.
 */
export function requestText(findings: readonly Finding[], brief = false): string | null {
  const found = findings.find(({ classification }) => classification === "oom")?.evidence;
  const [line, asked, held] = [text(found?.line), size(found?.requested_bytes), size(found?.allocated_bytes)];
  if (line === null) return null;
  const place = brief ? line.replace(/^.*\//, "") : line;
  return `${place} asked for ${asked === null ? "memory" : formatShort(asked)}${held === null ? "" : ` beside ${formatShort(held)}`}`;
}

/** What the frames on the line's stack show of a package: "in aiohttp 3.10.10", "allocated in numpy 2.3.1". */
export function packageText(owner: LinePackage, placed: unknown): string {
  const named = packageName(owner);
  switch (owner.relation) {
    case "contains":
      return `in ${named}`;
    case "called":
      return `${placed === "kept" ? "kept" : "allocated"} in ${named}`;
    case "calls":
      return `called by ${named}`;
  }
}

/** "request 2.88.2 (deprecated)" */
export function packageName({ name, version, yanked, deprecated }: LinePackage): string {
  return `${name} ${version}${yanked ? " (yanked)" : deprecated === undefined ? "" : " (deprecated)"}`;
}

/** "97 %"; never "100 %" for a part, and "under 1 %" instead of "0 %". */
export function percent(share: number): string {
  if (share < 0.01) return "under 1 %";
  return share < 1 ? `${Math.min(99, Math.round(100 * share))} %` : "100 %";
}

/** "98 % of the growth", or "44 % of the growth with 3 lines of the package"; null where the share is not known. */
export function growthShare({ share, finding }: LineAnswer): string | null {
  const others = size(finding.evidence.package_lines);
  const more = others === null ? "" : ` with ${plural(others, "line")} of the package`;
  return share === null ? null : `${percent(share)} of the growth${more}`;
}

/** What holds the memory, and how much of it: "list `history`, 98 % of the growth". Not escaped. */
export function lineNote(line: LineAnswer): string {
  const parts: string[] = [];
  if (line.keptBy !== null) parts.push(line.keptBy.replace(/^the /, ""));
  const share = line.kind === "leak" ? growthShare(line) : null;
  if (share !== null) parts.push(share);
  if (line.kind === "peak") parts.push(moreText(line));
  return parts.join(", ");
}

/** "131 MiB more than on the base, 88 % of the difference": what a line holds more at a higher peak. */
export function moreText({ bytes, share, finding }: LineAnswer): string {
  const phase = text(finding.evidence.phase);
  const when = phase === null ? "" : `, in phase ${phase}`;
  const part = `${share === null ? "" : `, ${percent(share)} of the difference`}${when}`;
  const than = finding.evidence.compared_with === "baseline" ? "in the baseline" : "on the base";
  return bytes === null ? `more than ${than}${when}` : `${formatShort(bytes)} more than ${than}${part}`;
}

/**
 * "140 MiB of 172 MiB are held at job.py:4, 12 MiB at job.py:9; no other peak to compare with": what a peak consists
 * of, where no line is known to make it higher; null where no line holds much of it. Not escaped.
 */
export function heldText({
  findings,
  peak,
  error,
}: Pick<ScenarioReport, "error" | "findings" | "peak">): string | null {
  const held = findings
    .filter(({ classification }) => classification === HELD_AT_PEAK)
    .map(({ evidence }) => ({ line: text(evidence.line), bytes: size(evidence.peak_bytes) }))
    .flatMap(({ line, bytes }) => (line === null || bytes === null ? [] : [`${formatShort(bytes)} at ${line}`]));
  const [first, ...others] = held;
  if (first === undefined || peak == null || namedLine(findings) !== null) return null;
  const most = first.replace(" at ", ` of ${formatShort(peak.bytes)} are held at `);
  const largest = [most, ...others.slice(0, 2)].join(", ");
  return error === null ? `${largest}; no other peak to compare with` : largest;
}

/** "one-time +50.0 MiB at train.py:18, still held at the end" */
export function oneTimeText(line: LineAnswer): string {
  const amount = line.bytes === null ? "" : ` +${formatShort(line.bytes)}`;
  const found = line.package === null ? "" : `, ${line.package}`;
  return `one-time${amount} at ${line.location}${found}, still held at the end`;
}

const WITHOUT_LINE: ReadonlyMap<unknown, string> = new Map([
  ["native", "native memory that no line holds"],
  ["freed", "memory that was freed and the C heap keeps (fragmentation)"],
  ["files", "in files in RAM (shared memory, tmpfs, deleted files that are open)"],
]);

/** "; 700 more blocks from program.py:11 stay, allocated in pandas 2.2.0"; "" where they are unknown. */
function stayingText({ evidence, package: found }: Finding): string {
  const [line, count] = [text(evidence.line), size(evidence.objects)];
  if (line === null || count === null) return "";
  return `; ${plural(count, "more block")} from ${line} stay${found === undefined ? "" : `, ${packageText(found, "allocated")}`}`;
}

/**
 * Growth that no line holds, in one sentence, and the tool that would name it; null when that was not found. Of several
 * devices, and the host, that of the named line.
 */
export function unattributed(
  findings: readonly Finding[],
): { readonly text: string; readonly next: string | null } | null {
  const named = leakLine(findings)?.finding;
  const finding = findings.find(({ classification, device }) => {
    return classification === UNATTRIBUTED_GROWTH && (named === undefined || device === named.device);
  });
  const share = size(finding?.evidence.share);
  if (finding === undefined || share === null || share < 0.05) return null;
  const memory = WITHOUT_LINE.get(finding.evidence.memory) ?? "not attributed to a line";
  const by = text(finding.evidence.allocated_by);
  const from = by === null ? "" : `, allocated by ${by}`;
  return {
    text: `${percent(share)} of the growth is ${memory}${from}${stayingText(finding)}`,
    next: finding.remediation[0] ?? null,
  };
}

/** How the change is called. */
const SINCE: Readonly<Record<Reader, string>> = {
  terminal: "since the base commit",
  "pull-request": "in this pull request",
};

/** Whether a change of a lock is that of an installed package. */
export function changesPackage({ ecosystem, name }: LockChange, owner: Package): boolean {
  if (ecosystem !== owner.ecosystem) return false;
  return ecosystem === "python" ? normalName(name) === normalName(owner.name) : name === owner.name;
}

/** "numpy 1.26.0 -> 2.0.0". Not escaped. */
export function changeText({ name, from, to }: Omit<LockChange, "ecosystem">): string {
  if (from === null) return `${name} added at ${to}`;
  return to === null ? `${name} ${from} removed` : `${name} ${from} -> ${to}`;
}

/** The packages that a breaching change locks to other versions, in one sentence; null for none. Not escaped. */
export function lockText({ lock_changes: locks }: ScenarioReport, reader: Reader = "terminal"): string | null {
  if (locks === undefined || locks.packages.length === 0) return null;
  // Packages that a sentence lists.
  const shown = locks.packages.slice(0, 5);
  const rest = locks.total - shown.length;
  const listed = shown.map(changeText).join(", ");
  const more = rest > 0 ? ` and ${rest} more` : "";
  return `${plural(locks.total, "locked package")} changed ${SINCE[reader]}: ${listed}${more}`;
}

/** "numpy 1.26.0 -> 2.0.0 in this pull request" for the package of the named line; null where it is unchanged. */
export function ownLockText(scenario: ScenarioReport, reader: Reader = "terminal"): string | null {
  const owner = namedLine(scenario.findings)?.finding.package;
  const own = scenario.lock_changes?.packages.find((change) => owner !== undefined && changesPackage(change, owner));
  return own === undefined ? null : `${changeText(own)} ${SINCE[reader]}`;
}
