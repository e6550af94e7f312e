import type { MeasuredRun, Measurements } from "../../analysis/measurements.ts";
import { fingerprintHash } from "../../baseline/identity.ts";
import { median } from "../../stats/order-statistics.ts";
import { isCounted } from "../../telemetry/recording/metrics.ts";
import type { Fingerprint } from "../../telemetry/recording/model.ts";
import { judge } from "../../verdict/judge.ts";
import { ANCHOR_CONFIRMATIONS } from "../../verdict/model/defaults.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import type { Policy } from "../../verdict/model/policy.ts";
import { ANCHORS_SCHEMA, type Anchor, anchorMeasurements } from "./anchor.ts";

/** The text of the file, with one line for each series, so that it can be reviewed. */
export function serializeAnchors(anchors: readonly Anchor[]): string {
  const one = ({ scenario, fingerprint, set, commit, series }: Anchor): string =>
    [
      `{"scenario":${JSON.stringify(scenario)},`,
      `"fingerprint":${JSON.stringify(fingerprint)},`,
      `"set":${JSON.stringify(set)},"commit":${JSON.stringify(commit)},`,
      `"series":[\n${series.map((entry) => JSON.stringify(entry)).join(",\n")}\n]}`,
    ].join("\n");
  return `{"schema":${JSON.stringify(ANCHORS_SCHEMA)},"anchors":[\n${anchors.map(one).join(",\n")}\n]}\n`;
}

/** The anchor made of measured runs: the median peak of every series of memory. */
export function anchorOf(
  scenario: string,
  fingerprint: Fingerprint,
  runs: readonly MeasuredRun[],
  origin: { readonly setIso: string; readonly commit: string | null },
): Anchor {
  const peaks = new Map<string, { readonly entry: Anchor["series"][number]; readonly values: number[] }>();
  for (const series of runs.flatMap((run) => run.series)) {
    if (series.peak_bytes === null || isCounted(series.metric)) continue;
    const key = JSON.stringify([series.rank, series.device, series.metric]);
    const known = peaks.get(key) ?? { entry: [series.rank, series.device, series.metric, 0], values: [] };
    known.values.push(series.peak_bytes);
    peaks.set(key, known);
  }
  return {
    scenario,
    fingerprint: { ...fingerprint },
    set: `${origin.setIso.slice(0, 19)}Z`,
    commit: origin.commit,
    series: [...peaks.values()].map(({ entry, values }) => [entry[0], entry[1], entry[2], Math.round(median(values))]),
  };
}

/** The anchors with one replaced, or added. */
export function withAnchor(anchors: readonly Anchor[], anchor: Anchor): readonly Anchor[] {
  const hash = fingerprintHash(anchor.fingerprint);
  const others = anchors.filter((one) => one.scenario !== anchor.scenario || fingerprintHash(one.fingerprint) !== hash);
  return [...others, anchor].sort((a, b) => {
    const [left, right] = [a, b].map((one) => `${one.scenario} ${fingerprintHash(one.fingerprint)}`);
    return (left as string) < (right as string) ? -1 : 1;
  });
}

/** The anchor rule's checks of a session, for every gating series; "fail" exceeds the anchor and its margin. */
export function anchorStanding(session: Measurements, anchor: Anchor, policy: Policy): readonly Check[] {
  const { checks } = judge({
    candidate: { ...session, runs: session.runs.slice(-ANCHOR_CONFIRMATIONS) },
    baseline: null,
    anchor: anchorMeasurements(anchor),
    policy: { ...policy, budgets: [] },
    baseRunsPossible: false,
    moreRunsPossible: false,
    baselineWanted: false,
  });
  return checks.filter(({ limit }) => limit === "anchor");
}
