import type { PhaseMemory, PhasesMemory } from "../../analysis/growth/phases.ts";
import type { Finding } from "../../analysis/series/document.ts";
import { groupBy } from "../../core/group-by.ts";
import { plural } from "../../core/text.ts";
import { formatBytesDelta, formatDuration, formatShort } from "../../core/units.ts";
import { formatSize, metricLabel } from "../../telemetry/recording/metrics.ts";
import type { ExitState } from "../../telemetry/recording/model.ts";
import type { Check, FingerprintDifference } from "../../verdict/model/judgement.ts";
import type { SeriesKey } from "../../verdict/model/series-index.ts";
import { newestAnalysis } from "../model/decisive-run.ts";
import { type GateReport, type ScenarioReport, type Timeline, verdictUrgency } from "../model/gate-report.ts";

/** Phrases that all written reports share, not escaped: each renderer escapes outside text where it prints it. */

/** Checks with the worst first, and gating checks before advisory ones. */
export function sortChecks(checks: readonly Check[]): Check[] {
  return [...checks].sort(
    (a, b) =>
      verdictUrgency(a.verdict) - verdictUrgency(b.verdict) || Number(b.gating) - Number(a.gating) || a.rank - b.rank,
  );
}

/**
 * "allocated growth", with the phase it is of, the device where the checks cover several, and the rank where one is
 * above 0.
 */
export function checkName(check: Check, all: readonly Check[]): string {
  const { ranks, devices } = distinguished(all);
  const where: string[] = check.phase === undefined ? [] : [check.phase];
  if (ranks) where.push(`rank ${check.rank}`);
  if (devices && check.device !== check.metric) where.push(check.device);
  const name = check.aspect === "oom" ? "out of memory" : `${metricLabel(check.metric)} ${check.aspect}`;
  return where.length === 0 ? name : `${name} (${where.join(", ")})`;
}

/** "rank 0 cuda:0 allocated", the rank where there are several. */
export function seriesLabel({ rank, device, metric }: SeriesKey, hasRanks: boolean): string {
  return [hasRanks ? `rank ${rank}` : null, device === metric ? null : device, metricLabel(metric)]
    .filter((part) => part !== null)
    .join(" ");
}

const known = new WeakMap<readonly Check[], { readonly ranks: boolean; readonly devices: boolean }>();

/** Which parts of a name tell the checks of one list apart, computed once a list: a section may have thousands. */
function distinguished(all: readonly Check[]): { readonly ranks: boolean; readonly devices: boolean } {
  const before = known.get(all);
  if (before !== undefined) return before;
  const devices = new Set(all.map(({ device }) => device)).size > 1;
  const found = { ranks: all.some(({ rank }) => rank > 0), devices };
  known.set(all, found);
  return found;
}

/** A size as a table cell, "–" where it is unknown. @param metric of which it is; default one of bytes */
export function sizeCell(bytes: number | null, metric = ""): string {
  return bytes === null || !Number.isFinite(bytes) ? "–" : formatSize(metric, bytes);
}

/** Candidate, baseline, limit and smallest detectable change of a check as table cells, "–" where there is none. */
export function checkCells(check: Check): { candidate: string; baseline: string; limit: string; sees: string } {
  if (check.aspect === "class") {
    return { candidate: check.candidate_class ?? "–", baseline: check.baseline_class ?? "–", limit: "–", sees: "–" };
  }
  const limit = sizeCell(check.threshold_bytes, check.metric);
  return {
    candidate: sizeCell(check.candidate_bytes, check.metric),
    baseline: sizeCell(check.baseline_bytes, check.metric),
    limit: check.limit === "baseline" || limit === "–" ? limit : `${limit} (${check.limit})`,
    sees: sizeCell(check.mde_bytes, check.metric),
  };
}

export function exitText(exit: ExitState): string {
  switch (exit.kind) {
    case "running":
      return "still running when the recording ended";
    case "exited":
      return `exit status ${exit.code}`;
    case "signaled":
      return `terminated by ${exit.signal}`;
    case "timeout":
      return `timed out after ${formatDuration(exit.after_s)}`;
    case "interrupted":
      return `interrupted by ${exit.signal}`;
    case "not-started":
      return `not started: ${exit.message}`;
    case "stopped":
      return `stopped by ${exit.signal} after the load`;
  }
}

/** How the last run that did not succeed ended; null when every run succeeded. */
export function failedExit({ runs }: ScenarioReport): ExitState | null {
  const isWhole = (exit: ExitState): boolean => exit.kind === "stopped" || (exit.kind === "exited" && exit.code === 0);
  return runs.findLast(({ info }) => !isWhole(info.exit))?.info.exit ?? null;
}

export function differenceText(difference: FingerprintDifference): string {
  const value = (of: string | number | null) => (of === null ? "unknown" : String(of));
  return `${difference.field}: ${value(difference.baseline)} in the baseline, ${value(difference.candidate)} here`;
}

export function baselineText({ baseline }: ScenarioReport): string {
  if (baseline === null) return "no baseline";
  const newest = baseline.newest_iso === null ? "" : `, newest ${baseline.newest_iso.slice(0, 10)}`;
  return `${baseline.source}: ${plural(baseline.runs, "run")} of ${plural(baseline.sessions, "session")}${newest}`;
}

/** "run 3 of 5": the run whose picture and sizes are shown; null where there was only one, or it is not known. */
export function shownRunText(timeline: Timeline | null): string | null {
  const run = timeline?.run;
  return run === undefined || run.of < 2 ? null : `run ${run.number} of ${run.of}`;
}

/** "leak", "transient spike" */
export function findingName({ classification }: Finding): string {
  return classification.replaceAll("_", " ");
}

/** Rank and device of a finding; empty where it has neither. */
export function findingSeries({ rank, device }: Finding): string {
  return [rank === null ? null : `rank ${rank}`, device].filter((part) => part !== null).join(", ");
}

/** "4 runs in 3 min 06 s" */
export function costText({ runs, minutes }: GateReport["cost"]): string {
  return `${plural(runs, "run")} in ${formatDuration(minutes * 60)}`;
}

export function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** "2 lines below it were removed: self.cache.pop(key)"; null where the nearest change wrote a line. */
function removedText({ line, nearest_change: nearest, removed_lines: count, removed_code: code }: Finding["evidence"]) {
  if (typeof count !== "number" || typeof nearest !== "string" || typeof line !== "string") return null;
  const numberOf = (place: string): number => Number(place.slice(place.lastIndexOf(":") + 1));
  const apart = numberOf(nearest) - numberOf(line);
  const where = Math.abs(apart) > 9 ? `at ${nearest}` : apart < 0 ? "above it" : "below it";
  const shown = typeof code === "string" && code !== "" ? `: ${code}` : "";
  return `${plural(count, "line")} ${where} ${count === 1 ? "was" : "were"} removed${shown}`;
}

/** Whether the change wrote the line that a finding names; null when that is unknown. Contains outside text. */
export function changedText({ evidence }: Finding, reader: "terminal" | "pull-request" = "terminal"): string | null {
  switch (evidence.changed) {
    case "changed":
      return reader === "pull-request" ? "changed in this pull request" : "changed since the base commit";
    case "unchanged":
      if (typeof evidence.called_from === "string") {
        return `unchanged; called from ${evidence.called_from}, which changed`;
      }
      if (typeof evidence.nearest_change !== "string") return "unchanged";
      return `unchanged; ${removedText(evidence) ?? `the nearest change is ${evidence.nearest_change}`}`;
    default:
      return null;
  }
}

/** Settings listed in a terminal; the rest is in the bundle. */
const MAX_CHANGES = 8;

/** Why a breach only warns: who accepted it, or which known leak it is; one sentence each, not escaped. */
export function excuseNotes({ accepted, known_leaks: known = [] }: ScenarioReport): readonly string[] {
  return [
    ...(accepted === undefined ? [] : [`Accepted by ${accepted.by} (${accepted.via}): ${accepted.reason}`]),
    ...known.map(
      ({ package: name, version, at, until, reason }) =>
        `Known leak of ${name} ${version} at ${at} until ${until}: ${reason}`,
    ),
  ];
}

/** The changes to the gate's own settings, one line each, not escaped. */
export function policyNotes(report: GateReport): readonly string[] {
  const { policy_changes: changes = [], policy_accepted: accepted } = report;
  if (changes.length === 0) return [];
  // The beginning of a command identifies it.
  const value = (text: string | null): string => (text === null ? "not set" : text.slice(0, 60));
  const left = changes.length - MAX_CHANGES;
  return [
    accepted === undefined
      ? "This change alters the gate's own settings. Those of the base commit are in force:"
      : `This change alters the gate's own settings, accepted by ${accepted.by} (${accepted.via}): ${accepted.reason}`,
    ...changes.slice(0, MAX_CHANGES).map(({ path, base, head }) => `  ${path}: ${value(base)} → ${value(head)}`),
    ...(left > 0 ? [`  and ${left} more in the bundle`] : []),
  ];
}

/** A table whose first column has names, which are the program's, and whose others align right; not escaped. */
export interface TextTable {
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** What the processes of the newest candidate run hold; no rows where it has one. */
export const processTable = ({ runs }: ScenarioReport): TextTable => ({
  head: ["process", "peak", "growth", "of all growth"],
  rows: (newestAnalysis(runs)?.processes ?? []).map(({ role, pids, peak_bytes, growth_bytes, share }) => [
    `${role}${pids > 1 ? ` (${pids} processes)` : ""}`,
    formatShort(peak_bytes),
    growth_bytes === null ? "unknown" : formatBytesDelta(growth_bytes),
    share === null ? "–" : `${Math.round(100 * share)} %`,
  ]),
});

/** The first phases of the newest candidate run that named any, with notes on them; null when none did. */
export function phaseTable({ runs }: ScenarioReport, most: number) {
  const memory = runs.findLast(({ role, phases }) => role === "candidate" && phases !== undefined)?.phases;
  if (memory === undefined) return null;
  const rows = memory.phases.slice(0, most).map(phaseCells);
  const head = ["phase", "entered", "time", "highest", "growth"];
  return { table: { head, rows }, notes: phaseNotes(memory, memory.phases.length - rows.length) };
}

function phaseCells(phase: PhaseMemory): readonly string[] {
  const { name, entered, unended, processes, seconds, growth_bytes: growth } = phase;
  const inProcesses = processes > 1 ? ` in ${processes} processes` : "";
  const open = unended === 0 ? "" : unended === entered ? ", not ended" : `, ${unended} not ended`;
  return [
    name,
    `${entered}${inProcesses}${open}`,
    seconds === null ? "–" : formatDuration(seconds),
    sizeCell(phase.highest_bytes),
    growth === null ? "–" : formatBytesDelta(growth),
  ];
}

/** Which memory the sizes measure, and what the table omits; not escaped. */
function phaseNotes(memory: PhasesMemory, hidden: number): readonly string[] {
  const { metric, device, phases, dropped } = memory;
  const of =
    metric === "host"
      ? "host memory of the process tree"
      : device === "host"
        ? "memory allocated from the heap"
        : `memory allocated on ${device ?? "the devices"}`;
  const median = phases.some(({ entered }) => entered > 1) ? ", median over entries" : "";
  return [
    `Sizes: samples of the ${of}; growth from entry to end${median}.`,
    ...(hidden > 0 ? [`report.json lists ${plural(hidden, "more phase", "more phases")}.`] : []),
    ...(dropped > 0 ? [`${plural(dropped, "further entry was", "further entries were")} dropped.`] : []),
  ];
}

interface ShownChecks {
  readonly rows: readonly { readonly check: Check; readonly more: number }[];
  readonly hidden: number;
}

/** How near a check is to its limit, or without one how large its value is: larger is worse. */
function badness({ candidate_bytes: candidate, threshold_bytes: threshold }: Check): number {
  if (candidate === null || !Number.isFinite(candidate)) return Number.NEGATIVE_INFINITY;
  return threshold !== null && threshold > 0 ? candidate / threshold : candidate;
}

/**
 * The checks to show, the worst first: all up to `most`; above that, the worst ranks of each kind (verdict, metric,
 * aspect, limit) with the number of ranks omitted (`more`), and the number of checks of omitted kinds (`hidden`).
 */
export function shownChecks(checks: readonly Check[], most: number): ShownChecks {
  const sorted = sortChecks(checks);
  if (sorted.length <= most) return { rows: sorted.map((check) => ({ check, more: 0 })), hidden: 0 };
  const kinds = [
    ...groupBy(sorted, ({ verdict, gating, aspect, limit, metric }) =>
      JSON.stringify([verdict, gating, aspect, limit, metric]),
    ).values(),
  ];
  // More ranks of one kind add nothing for a reader.
  const each = Math.max(1, Math.min(4, Math.floor(most / kinds.length)));
  const rows = kinds.slice(0, most).flatMap((own) => {
    const worst = [...own].sort((a, b) => badness(b) - badness(a) || a.rank - b.rank).slice(0, each);
    return worst.map((check, at) => ({ check, more: at === worst.length - 1 ? own.length - worst.length : 0 }));
  });
  return { rows, hidden: kinds.slice(most).reduce((sum, own) => sum + own.length, 0) };
}

/** "and 1,020 more like them" */
export function moreText(more: number): string {
  return `and ${more.toLocaleString("en-US")} more like ${more === 1 ? "it" : "them"}`;
}
