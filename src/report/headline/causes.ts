import { METRIC } from "../../telemetry/recording/metrics.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import { sameSeries } from "../../verdict/model/series-index.ts";
import { verdictUrgency } from "../model/severity.ts";

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
  const lost = { host: 0, device: 0 };
  for (const check of checks)
    if (check.verdict === "fail" && check.gating) lost[domain(check)] = Math.max(lost[domain(check)], excess(check));
  return [...checks].sort(
    (a, b) =>
      verdictUrgency(a.verdict) - verdictUrgency(b.verdict) ||
      Number(b.gating) - Number(a.gating) ||
      Number(b.confirmed) - Number(a.confirmed) ||
      KIND[a.kind] - KIND[b.kind] ||
      // One gate over several ranks counts the pages of all of them to its own rank.
      Number(METRIC[b.metric].isCounted) - Number(METRIC[a.metric].isCounted) ||
      lost[domain(b)] - lost[domain(a)] ||
      a.rank - b.rank,
  );
}

/** The check that decided; null without checks. */
export function decidingCheck(checks: readonly Check[]): Check | null {
  return byImportance(checks)[0] ?? null;
}

/** Memory of the host and memory of devices have causes of their own. */
function domain({ device, metric }: Check): "host" | "device" {
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
