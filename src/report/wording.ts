import { formatBytes, formatDuration } from "../core/units.ts";
import type { ExitState } from "../telemetry/recording/model.ts";
import type { Check, FingerprintDifference, Judgement } from "../verdict/judgement.ts";
import type { GateReport, ScenarioReport } from "./documents/model.ts";

/** Words that every written report shares. Nothing here is escaped: outside names and reasons are, where they are printed. */

const WORD_ORDER = { fail: 0, unjudged: 1, warn: 2, pass: 3 } as const;

/** Checks in the order a reader wants them: the worst first, what gates before what only explains. */
export function sortChecks(checks: readonly Check[]): Check[] {
  return [...checks].sort(
    (a, b) => WORD_ORDER[a.verdict] - WORD_ORDER[b.verdict] || Number(b.gating) - Number(a.gating) || a.rank - b.rank,
  );
}

/** "allocated growth", with the device where the checks have more than one, and the rank where there is any but rank 0. */
export function checkName(check: Check, all: readonly Check[]): string {
  const where: string[] = [];
  if (all.some(({ rank }) => rank > 0)) where.push(`rank ${check.rank}`);
  if (new Set(all.map(({ device }) => device)).size > 1 && check.device !== check.metric) where.push(check.device);
  const name = check.aspect === "oom" ? "out of memory" : `${check.metric} ${check.aspect}`;
  return where.length === 0 ? name : `${name} (${where.join(", ")})`;
}

/** Candidate, baseline, limit and smallest visible change of a check, as table cells; "–" where there is nothing to say. */
export function checkCells(check: Check): { candidate: string; baseline: string; limit: string; sees: string } {
  const size = (bytes: number | null) => (bytes === null || !Number.isFinite(bytes) ? "–" : formatBytes(bytes));
  if (check.aspect === "class") {
    return { candidate: check.candidate_class ?? "–", baseline: check.baseline_class ?? "–", limit: "–", sees: "–" };
  }
  const limit = size(check.threshold_bytes);
  return {
    candidate: size(check.candidate_bytes),
    baseline: size(check.baseline_bytes),
    limit: check.limit === "baseline" || limit === "–" ? limit : `${limit} (${check.limit})`,
    sees: size(check.mde_bytes),
  };
}

/** What the run could have noticed at least: "a peak 11 MiB higher, a growth of 9.5 MiB"; null when no check knows. */
export function sensitivity(judgement: Judgement): string | null {
  const worst = (aspect: Check["aspect"]) => {
    let most: number | null = null;
    for (const check of judgement.checks) {
      // An anchor's margin says how far releases may drift, not what this run can see.
      if (!check.gating || check.limit === "anchor" || check.aspect !== aspect) continue;
      if (check.mde_bytes === null || !Number.isFinite(check.mde_bytes)) continue;
      if (most === null || check.mde_bytes > most) most = check.mde_bytes;
    }
    return most;
  };
  const peak = worst("peak");
  const growth = worst("growth");
  const parts: string[] = [];
  if (peak !== null) parts.push(`a peak ${formatBytes(peak)} higher`);
  if (growth !== null) parts.push(`a growth of ${formatBytes(growth)}`);
  return parts.length === 0 ? null : parts.join(" or ");
}

export function exitText(exit: ExitState): string {
  switch (exit.kind) {
    case "running":
      return "still running when the recording ended";
    case "exited":
      return `exit status ${exit.code}`;
    case "signaled":
      return `ended by ${exit.signal}`;
    case "timeout":
      return `stopped after ${formatDuration(exit.after_s)}`;
    case "interrupted":
      return `interrupted by ${exit.signal}`;
    case "not-started":
      return `not started: ${exit.message}`;
  }
}

export function differenceText(difference: FingerprintDifference): string {
  const value = (of: string | number | null) => (of === null ? "unknown" : String(of));
  return `${difference.field}: ${value(difference.baseline)} in the baseline, ${value(difference.candidate)} here`;
}

export function baselineText(scenario: ScenarioReport): string {
  const { baseline } = scenario;
  if (baseline === null) return "no baseline";
  const plural = (count: number, word: string) => `${count} ${word}${count === 1 ? "" : "s"}`;
  const newest = baseline.newest_iso === null ? "" : `, newest ${baseline.newest_iso.slice(0, 10)}`;
  return `${baseline.source}: ${plural(baseline.runs, "run")} of ${plural(baseline.sessions, "session")}${newest}`;
}

/** One sentence for a scenario's verdict. */
export function headlineOf(scenario: ScenarioReport): string {
  return scenario.judgement?.reason ?? scenario.error?.message ?? "nothing was measured";
}

export interface Step {
  readonly text: string;
  /** A command to copy; ours alone, never from outside. */
  readonly command?: string;
}

/** Where a person reads what to do next: at a terminal, or below a pull request, where a comment can accept. */
export type Reader = "terminal" | "pull-request";

/** What to do next about a scenario, most useful first. */
export function nextSteps(scenario: ScenarioReport, reader: Reader = "terminal"): Step[] {
  const { judgement } = scenario;
  switch (scenario.word) {
    case "pass":
      return judgement?.checks.some((check) => check.improved)
        ? [{ text: "It uses less than before. To hold on to that, accept it as the new baseline:", command: ACCEPT }]
        : [];
    case "warn":
      return scenario.accepted === undefined
        ? [{ text: "Nothing has to change to merge; the timeline shows where it rose." }]
        : [{ text: "Nothing has to change to merge; the next refresh after it takes the new level as the baseline." }];
    case "fail": {
      const steps: Step[] = [];
      const advised = scenario.findings.some((finding) => finding.remediation.length > 0);
      steps.push({
        text: advised
          ? "Fix it as the finding says, or open the interactive timeline where the memory leaves the baseline."
          : "Open the interactive timeline at the point where the memory leaves the baseline.",
      });
      const relative = judgement?.checks.some((check) => check.verdict === "fail" && check.limit !== "budget") ?? false;
      // The limit that an out-of-memory error breached is the machine's, not a number in a file.
      const budget =
        judgement?.checks.some(({ verdict, limit, aspect }) => {
          return verdict === "fail" && limit === "budget" && aspect !== "oom";
        }) ?? false;
      if (budget) steps.push({ text: "If it has to be that large, raise its budget." });
      const comment = reader === "pull-request" ? acceptComment(scenario) : null;
      if (comment !== null) {
        const text = "If it is meant, somebody with write permission accepts it with a comment here that says why:";
        steps.push({ text, command: comment });
      } else if (relative) {
        steps.push({ text: "If the change is meant, accept it as the new baseline:", command: ACCEPT });
      }
      return steps;
    }
    case "unjudged": {
      // A leg that left nothing has no baseline to be given.
      if (judgement === null && scenario.error?.hint) return [{ text: scenario.error.hint }];
      return [unjudgedStep(scenario, reader)];
    }
    case "error":
      return scenario.error?.hint ? [{ text: scenario.error.hint }] : [];
  }
}

function unjudgedStep({ judgement }: ScenarioReport, reader: Reader): Step {
  const below = reader === "pull-request";
  if (judgement !== null && judgement.next.kind !== "done") {
    return below
      ? { text: "More runs would settle it: raise max-runs or max-minutes, and run the job again." }
      : {
          text: "More runs would settle it; let the gate make them, or raise its limit of runs.",
          command: "stormlog-gate run --max-runs 10",
        };
  }
  const isForeign = judgement?.fingerprint.some(({ kind }) => kind === "identity") ?? false;
  const why = isForeign ? "The baseline is from another environment. Record one here" : "Record a baseline";
  const how = below
    ? "on the base branch, then run this job again: start the workflow with refresh there, or run"
    : isForeign
      ? "on the base branch:"
      : "on the base branch, then ask again:";
  return { text: `${why}${isForeign && !below ? "," : ""} ${how}`, command: REFRESH };
}

/** The comment that accepts a scenario's difference; null when nothing can be accepted. The token may come from outside. */
function acceptComment({ difference }: ScenarioReport): string | null {
  if (difference === undefined || !/^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$/.test(difference) || difference.length > 80)
    return null;
  return `/stormlog accept ${difference} <reason>`;
}

/** Commands of {@link nextSteps} as they are for the default places. */
export const ACCEPT = "stormlog-gate baseline accept";
export const REFRESH = "stormlog-gate baseline refresh";

/** "4 runs in 3 min 06 s". */
export function costText(report: GateReport): string {
  return runsText(report.cost);
}

export function runsText({ runs, minutes }: GateReport["cost"]): string {
  return `${runs} run${runs === 1 ? "" : "s"} in ${formatDuration(minutes * 60)}`;
}

export function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
