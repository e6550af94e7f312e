import { outerPhases } from "../analysis/phases.ts";
import { seriesOf } from "../analysis/series.ts";
import type { Envelope } from "../baseline/envelope.ts";
import { decidingCheck } from "../report/answer/causes.ts";
import type { Timeline, TimelineSeries, Verdict } from "../report/documents/model.ts";
import type { Recording } from "../telemetry/recording/model.ts";
import type { Judgement } from "../verdict/judgement.ts";
import type { Policy } from "../verdict/policy.ts";
import { type SeriesKey, sameSeries } from "../verdict/series-index.ts";

/** Marks that a chart shows as a line. */
const SHOWN_MARKS = new Set(["phase", "oom", "source-error"]);

interface TimelineInput {
  readonly scenario: string;
  readonly verdict: Verdict;
  readonly subtitle: string;
  readonly recording: Recording;
  readonly judgement: Judgement | null;
  readonly policy: Policy;
  readonly envelopes: readonly Envelope[];
}

/** The chart of one run: the judged series first, the baseline's envelope, budget and threshold of the main one. */
export function buildTimeline(input: TimelineInput): Timeline {
  const all = seriesOf(input.recording);
  const allocated = all.some(({ metric, device }) => metric === "allocated" && device !== "host");
  const gating = (metric: string): boolean =>
    input.policy.gatingMetrics?.some((name) => name === metric) ??
    (metric === "allocated" || (metric === "host" && !allocated));
  const decided = input.judgement === null ? null : decidingCheck(input.judgement.checks);
  const decides = (key: SeriesKey): boolean => decided !== null && sameSeries(key, decided);
  const series: TimelineSeries[] = all
    .map(({ rank, device, metric, timeS, bytes }) => ({
      rank,
      device,
      metric,
      gating: gating(metric),
      time_s: timeS,
      bytes,
    }))
    // The series that decided comes first: envelope, budget and threshold are drawn for it.
    .sort((a, b) => Number(decides(b)) - Number(decides(a)) || Number(b.gating) - Number(a.gating));
  const main = series[0];
  const same = (other: SeriesKey): boolean => main !== undefined && sameSeries(other, main);
  const threshold = input.judgement?.checks.find(
    (check) => check.limit === "baseline" && check.aspect === "peak" && same(check),
  );
  const phases = outerPhases(input.recording);
  return {
    scenario: input.scenario,
    verdict: input.verdict,
    subtitle: input.subtitle,
    series,
    ...(decided !== null && series.some(decides)
      ? { about: { rank: decided.rank, device: decided.device, metric: decided.metric } }
      : {}),
    envelope: input.envelopes.find(same) ?? null,
    budget_bytes: input.policy.budgets.find(({ metric }) => metric === main?.metric)?.bytes ?? null,
    threshold_bytes: threshold?.threshold_bytes ?? null,
    marks: input.recording.marks
      .filter(({ kind }) => SHOWN_MARKS.has(kind))
      .map(({ timeNs, text }) => ({ time_s: timeNs / 1e9, text })),
    ...(phases.length === 0 ? {} : { phases }),
  };
}
