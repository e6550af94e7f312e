import type { Finding } from "../../analysis/series/document.ts";
import { isCounted, METRIC, metricLabel } from "../../telemetry/recording/metrics.ts";
import type { Check, Judgement } from "../../verdict/model/judgement.ts";
import { sameSeries } from "../../verdict/model/series-index.ts";
import { type ScenarioReport, verdictUrgency } from "../model/gate-report.ts";
import { LEAK_LINE, ONE_TIME_LINE, PEAK_LINE } from "../wording/source-line.ts";
import { requestText } from "./line-answer.ts";

/** Checks with one cause: the one that decides, and those that it explains. */
export interface Cause {
  /** A leak is growth of the class "leak"; other growth is only above its limit. */
  readonly kind: "oom" | "leak" | "growth" | "peak" | "budget";
  readonly decisive: Check;
  /** The most telling first. */
  readonly explained: readonly Check[];
}

/** Growth comes before the peak that it causes. */
const KIND = { oom: 0, growth: 1, class: 2, peak: 3, budget: 3 } as const;

/** How far a check is above its limit, else above its baseline, bytes. */
function excess({ candidate_bytes: found, threshold_bytes: limit, baseline_bytes: baseline }: Check): number {
  return (found ?? 0) - (limit ?? baseline ?? 0);
}

/**
 * The checks by importance: worst verdict, gating before advisory, confirmed before unconfirmed, growth before peak,
 * allocator before pages, and of host and devices first where most memory is lost.
 */
function byImportance(checks: readonly Check[]): readonly Check[] {
  const lost = new Map<string, number>();
  const lostIn = (check: Check): number => lost.get(domain(check)) ?? 0;
  for (const check of checks)
    if (check.verdict === "fail" && check.gating) lost.set(domain(check), Math.max(lostIn(check), excess(check)));
  return [...checks].sort(
    (a, b) =>
      verdictUrgency(a.verdict) - verdictUrgency(b.verdict) ||
      Number(b.gating) - Number(a.gating) ||
      Number(b.confirmed) - Number(a.confirmed) ||
      KIND[a.kind] - KIND[b.kind] ||
      // One gate over several ranks counts the pages of all of them to its own rank.
      Number(METRIC[b.metric].isCounted) - Number(METRIC[a.metric].isCounted) ||
      lostIn(b) - lostIn(a) ||
      a.rank - b.rank,
  );
}

/** The check that decided; null without checks. */
export function decidingCheck(checks: readonly Check[]): Check | null {
  return byImportance(checks)[0] ?? null;
}

/** Memory of the host, memory of devices, and each thing that is counted beside memory have causes of their own. */
function domain({ device, metric }: Check): string {
  if (isCounted(metric)) return metric;
  return device === "host" || metric === "host" ? "host" : "device";
}

function grows({ kind }: Check): boolean {
  return kind === "growth" || kind === "class";
}

/**
 * Whether one breach explains another of the same domain. Growth explains growth of other counters and ranks, and the
 * peaks of its own rank. A peak explains peaks of other counters and ranks. Running out of memory explains its rank. A
 * budget is a limit of its own, whatever else grew.
 */
function explains(cause: Check, other: Check): boolean {
  if (domain(cause) !== domain(other)) return false;
  if (cause.kind === "oom") return cause.rank === other.rank;
  if (other.limit === "budget" && cause.limit !== "budget") return false;
  if (grows(cause)) return grows(other) || (other.kind !== "oom" && other.rank === cause.rank);
  return !grows(other) && other.kind !== "oom";
}

/** The causes of what failed or warns, the decisive one first; empty when every check passed or is unjudged. */
export function causesOf(checks: readonly Check[]): readonly Cause[] {
  const notable = byImportance(checks.filter(({ verdict }) => verdict === "fail" || verdict === "warn"));
  const isLeak = (check: Check): boolean =>
    grows(check) &&
    checks.some((one) => one.kind === "class" && one.candidate_class === "leak" && sameSeries(one, check));
  const causes: { decisive: Check; explained: Check[] }[] = [];
  for (const check of notable) {
    const cause = causes.find(({ decisive }) => explains(decisive, check));
    if (cause === undefined) causes.push({ decisive: check, explained: [] });
    else cause.explained.push(check);
  }
  return causes.map(({ decisive, explained }): Cause => {
    const kind = isLeak(decisive) ? "leak" : decisive.kind === "class" ? "growth" : decisive.kind;
    return { kind, decisive, explained };
  });
}

/** Findings that growth explains: they describe the same growth once more. */
const OF_GROWTH = new Set(["leak", "rising", "slow_growth", "pressure", "persistent_drift"]);
const OF_LINES = new Set([LEAK_LINE, ONE_TIME_LINE, PEAK_LINE]);

/** "allocated growth on cuda:0, rank 0": the deciding check of a cause, as documents name it. */
function nameOf({ decisive: { metric, aspect, device, rank, phase } }: Cause): string {
  return `${metricLabel(metric)} ${aspect} on ${device}, rank ${rank}${phase === undefined ? "" : `, phase ${phase}`}`;
}

function explainsFinding(cause: Cause, finding: Finding): boolean {
  const { metric } = cause.decisive;
  if (isCounted(metric) || isCounted(finding.metric ?? "")) return metric === finding.metric;
  if (finding.classification === "oom") return cause.kind === "oom" && requestText([finding]) !== null;
  if (finding.classification === PEAK_LINE) return cause.kind === "peak" || cause.kind === "budget";
  const isGrowth = cause.kind === "leak" || cause.kind === "growth";
  return isGrowth && (OF_GROWTH.has(finding.classification) || OF_LINES.has(finding.classification));
}

/** Checks and findings with the deciding check that explains each, in `explained_by`. */
export function withExplanations<T extends Pick<ScenarioReport, "findings" | "judgement">>(report: T): T {
  const { judgement, findings } = report;
  if (judgement === null) return report;
  const causes = causesOf(judgement.checks);
  if (causes.length === 0) return report;
  const checks = judgement.checks.map((check) => {
    const cause = causes.find(({ explained }) => explained.includes(check));
    return cause === undefined ? check : { ...check, explained_by: nameOf(cause) };
  });
  const explained: Judgement = { ...judgement, checks };
  const hasLine = findings.some(({ classification }) => OF_LINES.has(classification));
  return {
    ...report,
    judgement: explained,
    findings: findings.map((finding) => {
      const cause = causes.find((one) => explainsFinding(one, finding));
      if (cause === undefined) return finding;
      // The remedy is that of the named line.
      const known = hasLine && OF_GROWTH.has(finding.classification);
      return { ...finding, explained_by: nameOf(cause), ...(known ? { remediation: [] } : {}) };
    }),
  };
}

/** Critical findings that no cause explains: an answer has a line for each of the first two. */
export function openFindings({ findings }: ScenarioReport): readonly Finding[] {
  return findings
    .filter(({ severity, explained_by, classification }) => {
      return severity === "critical" && explained_by === undefined && !OF_LINES.has(classification);
    })
    .slice(0, 2);
}
