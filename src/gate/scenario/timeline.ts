import { outerPhases } from "../../analysis/growth/phases.ts";
import { type AnalysisDocument, type Finding, stepNoun } from "../../analysis/series/document.ts";
import { seriesOf, stepPositions } from "../../analysis/series/series.ts";
import type { Band } from "../../baseline/band.ts";
import { causesOf, decidingCheck } from "../../report/headline/causes.ts";
import { describingSeries } from "../../report/headline/shown-rows.ts";
import type {
  HostAccount,
  Timeline,
  TimelineCause,
  TimelinePanel,
  TimelineSeries,
  Verdict,
} from "../../report/model/gate-report.ts";
import { LEAK_LINE } from "../../report/wording/source-line.ts";
import { METRIC } from "../../telemetry/recording/metrics.ts";
import type { Recording } from "../../telemetry/recording/model.ts";
import type { Check, Judgement } from "../../verdict/model/judgement.ts";
import type { Policy } from "../../verdict/model/policy.ts";
import { type SeriesKey, sameSeries } from "../../verdict/model/series-index.ts";

interface TimelineInput {
  readonly scenario: string;
  readonly verdict: Verdict;
  readonly subtitle: string;
  readonly recording: Recording;
  /** Of the same run; its slopes name the rate of a growth. */
  readonly analysis?: AnalysisDocument | null;
  readonly judgement: Judgement | null;
  readonly policy: Policy;
  readonly envelopes: readonly Band[];
  readonly findings?: readonly Finding[];
}

/** The chart of one run: the judged series first, and of each series the baseline's envelope and its own limits. */
export function buildTimeline(input: TimelineInput): Timeline {
  const { judgement } = input;
  const checks = judgement?.checks ?? [];
  const all = seriesOf(input.recording).filter(
    (one) => !METRIC[one.metric].isOnRequest || checks.some((check) => sameSeries(check, one)),
  );
  const allocated = all.some(({ metric, device }) => metric === "allocated" && device !== "host");
  const gating = (metric: string): boolean =>
    input.policy.gatingMetrics?.some((name) => name === metric) ??
    (metric === "allocated" || (metric === "host" && !allocated));
  const decided = judgement === null ? null : decidingCheck(judgement.checks);
  const subject: SeriesKey | null = decided ?? describingSeries(input.analysis ?? null);
  const decides = (key: SeriesKey): boolean => subject !== null && sameSeries(key, subject);
  const series: TimelineSeries[] = all
    .map(({ rank, device, metric, timeS, steps, bytes }) => ({
      rank,
      device,
      metric,
      gating: gating(metric),
      time_s: timeS,
      ...(steps === null ? {} : { steps }),
      bytes,
    }))
    // The series that decided, or describes the run, comes first: the picture is about it.
    .sort((a, b) => Number(decides(b)) - Number(decides(a)) || Number(b.gating) - Number(a.gating));
  const main = series[0];
  const deciding = decided === null ? [] : decidingSeries(decided, checks);
  const panels = series.map((key) => panelOf(key, input, deciding.length > 0 ? deciding : main ? [main] : []));
  const about = main === undefined ? undefined : panels.find((panel) => sameSeries(panel, main));
  const phases = outerPhases(input.recording);
  const host = series.find(({ metric }) => metric === "host");
  const account = host === undefined ? null : accountOf(input.recording, host.rank);
  const cause = causeOf(input.findings ?? []);
  return {
    scenario: input.scenario,
    verdict: input.verdict,
    subtitle: input.subtitle,
    series,
    ...(decided !== null && series.some(decides)
      ? { about: { rank: decided.rank, device: decided.device, metric: decided.metric } }
      : {}),
    envelope: about?.envelope ?? null,
    budget_bytes: about?.budget_bytes ?? null,
    threshold_bytes: about?.threshold_bytes ?? null,
    marks: input.recording.marks
      // Marks that a chart shows as a line.
      .filter(({ kind }) => ["phase", "oom", "source-error"].includes(kind))
      .map(({ timeNs, text }) => ({ time_s: timeNs / 1e9, text })),
    ...(input.recording.info?.service === undefined ? {} : { step_noun: "request" as const }),
    ...(phases.length === 0 ? {} : { phases }),
    panels,
    ...(account === null ? {} : { account }),
    ...(cause === null ? {} : { cause }),
  };
}

function grows({ kind }: Check): boolean {
  return kind === "growth" || kind === "class";
}

/** The series that decided: that of each cause of a failure, else that of the deciding check. */
function decidingSeries(decided: Check, checks: readonly Check[]): readonly SeriesKey[] {
  const causes = causesOf(checks).filter(({ decisive }) => decisive.verdict === "fail" && decisive.gating);
  return causes.length === 0 ? [decided] : causes.map(({ decisive }) => decisive);
}

function panelOf(key: TimelineSeries, input: TimelineInput, deciding: readonly SeriesKey[]): TimelinePanel {
  const checks = (input.judgement?.checks ?? []).filter((check) => sameSeries(check, key));
  const peak = checks.find(({ limit, aspect }) => limit === "baseline" && aspect === "peak");
  const growth = checks.some((check) => grows(check) && (check.verdict === "fail" || check.verdict === "warn"))
    ? rateOf(key, input.analysis ?? null)
    : null;
  return {
    rank: key.rank,
    device: key.device,
    metric: key.metric,
    decides: deciding.some((other) => sameSeries(other, key)),
    envelope: input.envelopes.find((envelope) => sameSeries(envelope, key)) ?? null,
    threshold_bytes: peak?.threshold_bytes ?? null,
    budget_bytes: input.policy.budgets.find(({ metric }) => metric === key.metric)?.bytes ?? null,
    ...(growth === null ? {} : { growth }),
  };
}

function rateOf(key: SeriesKey, analysis: AnalysisDocument | null): NonNullable<TimelinePanel["growth"]> | null {
  const series = analysis?.series.find((one) => sameSeries(one, key));
  const step = series?.slope_bytes_per_step ?? null;
  const second = series?.slope_bytes_per_s ?? null;
  if (series !== undefined && step !== null && step > 0) return { bytes: step, per: stepNoun(series) };
  return second !== null && second > 0 ? { bytes: second, per: "second" } : null;
}

/** What host memory of a rank consists of; null where nothing is known of it. */
function accountOf({ tables }: Recording, rank: number): HostAccount | null {
  const table = tables.find((one) => one.rank === rank && one.columns.unaccounted !== undefined);
  if (table === undefined || table.timeNs === null) return null;
  const { shared, files, heap_used: in_use, heap_kept: kept, unaccounted: rest } = table.columns;
  const time_s = table.timeNs.map((ns) => Math.round(ns / 1e5) / 1e4);
  const steps = table.steps && stepPositions(time_s, table.steps);
  const columns = Object.entries({
    steps: steps?.map((step) => Math.round(1e4 * step) / 1e4),
    in_use,
    kept,
    shared,
    files,
  });
  const known = columns.flatMap(([name, values]): [string, number[]][] => (values ? [[name, [...values]]] : []));
  return { rank, time_s: [...time_s], ...Object.fromEntries(known), rest: [...rest!] };
}

function causeOf(findings: readonly Finding[]): TimelineCause | null {
  const evidence = findings.find(({ classification }) => classification === LEAK_LINE)?.evidence;
  const location = evidence?.line;
  if (evidence === undefined || typeof location !== "string" || location === "") return null;
  // A share of several lines is not this line's.
  const { code, share: of, package_lines: others } = evidence;
  const share = others === undefined ? of : null;
  return {
    location,
    code: typeof code === "string" && code.trim() !== "" ? code.trim() : null,
    share: typeof share === "number" && Number.isFinite(share) ? share : null,
  };
}
