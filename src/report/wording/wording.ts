import type { Finding } from "../../analysis/series/document.ts";
import { plural } from "../../core/text.ts";
import { formatBytes, formatDuration } from "../../core/units.ts";
import { metricLabel } from "../../telemetry/recording/metrics.ts";
import type { ExitState } from "../../telemetry/recording/model.ts";
import type { Check, FingerprintDifference } from "../../verdict/model/judgement.ts";
import type { GateReport, ScenarioReport, Timeline } from "../model/gate-report.ts";
import { verdictUrgency } from "../model/severity.ts";

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

/** A size as a table cell, "–" where it is unknown. */
export function sizeCell(bytes: number | null): string {
  return bytes === null || !Number.isFinite(bytes) ? "–" : formatBytes(bytes);
}

/** Candidate, baseline, limit and smallest detectable change of a check as table cells, "–" where there is none. */
export function checkCells(check: Check): { candidate: string; baseline: string; limit: string; sees: string } {
  if (check.aspect === "class") {
    return { candidate: check.candidate_class ?? "–", baseline: check.baseline_class ?? "–", limit: "–", sees: "–" };
  }
  const limit = sizeCell(check.threshold_bytes);
  return {
    candidate: sizeCell(check.candidate_bytes),
    baseline: sizeCell(check.baseline_bytes),
    limit: check.limit === "baseline" || limit === "–" ? limit : `${limit} (${check.limit})`,
    sees: sizeCell(check.mde_bytes),
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
  }
}

/** How the last run that did not succeed ended; null when every run succeeded. */
export function failedExit({ runs }: ScenarioReport): ExitState | null {
  return runs.findLast(({ info }) => info.exit.kind !== "exited" || info.exit.code !== 0)?.info.exit ?? null;
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
