import { formatShort } from "../../core/units.ts";
import { isCounted } from "../../telemetry/recording/metrics.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import { sameSeries } from "../../verdict/model/series-index.ts";
import { newestAnalysis } from "../model/decisive-run.ts";
import type { ScenarioReport } from "../model/gate-report.ts";
import { describingSeries } from "./shown-rows.ts";

/** The smallest changes that the runs of a scenario could have shown, bytes; null = not known. */
interface Detectable {
  readonly growth: number | null;
  /** Of a service, what a request leaves at that growth. */
  readonly perRequest: number | null;
  /** At the peak; null without a baseline, whose spread decides. */
  readonly peak: number | null;
}

function largest(values: readonly (number | null)[]): number | null {
  const known = values.flatMap((value) => (value !== null && Number.isFinite(value) ? [value] : []));
  return known.length === 0 ? null : Math.max(...known);
}

/**
 * What the runs of a scenario could have detected in every gating series: by the checks against the baseline where
 * there are any, and otherwise, for growth, by the noise of the newest candidate run alone. Without any check, in the
 * series that describes the run. Of one series where one is asked for.
 */
export function couldDetect(scenario: ScenarioReport, about?: Check): Detectable {
  const gating = (scenario.judgement?.checks ?? []).filter(
    (check) => check.gating && !isCounted(check.metric) && (about === undefined || sameSeries(check, about)),
  );
  const byBaseline = (kind: Check["kind"]) =>
    largest(gating.flatMap((check) => (check.kind === kind && check.limit === "baseline" ? [check.mde_bytes] : [])));
  const keys = new Set(gating.map(({ rank, device, metric }) => `${rank} ${device} ${metric}`));
  const series =
    keys.size === 0
      ? [describingSeries(newestAnalysis(scenario.runs))]
      : (newestAnalysis(scenario.runs)?.series.filter(({ rank, device, metric }) =>
          keys.has(`${rank} ${device} ${metric}`),
        ) ?? []);
  const known = byBaseline("growth");
  return {
    growth: known ?? largest(series.map((one) => one?.mde_bytes ?? null)),
    perRequest: known === null ? largest(series.map((one) => one?.mde_bytes_per_request ?? null)) : null,
    peak: byBaseline("peak"),
  };
}

/** The smallest changes that the runs could detect: "+2.00 MiB at the peak, 205 B a request". Null when unknown. */
export function detectable(scenario: ScenarioReport, about?: Check): string | null {
  const { peak, growth, perRequest } = couldDetect(scenario, about);
  const parts: string[] = [];
  if (peak !== null) parts.push(`+${formatShort(peak)} at the peak`);
  if (perRequest !== null) parts.push(`${formatShort(perRequest)} a request`);
  else if (growth !== null) parts.push(`${formatShort(growth)} of growth`);
  return parts.length === 0 ? null : parts.join(", ");
}
