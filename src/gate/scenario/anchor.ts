import * as v from "valibot";
import type { MeasuredRun, Measurements } from "../../analysis/measurements.ts";
import { fingerprintHash, identityConflicts } from "../../baseline/identity.ts";
import { invalidInput } from "../../core/errors.ts";
import { issueText } from "../../core/issue-text.ts";
import { checkVersion } from "../../core/json.ts";
import { median } from "../../stats/order-statistics.ts";
import { METRICS } from "../../telemetry/recording/metrics.ts";
import type { Fingerprint } from "../../telemetry/recording/model.ts";
import { judge } from "../../verdict/judge.ts";
import { ANCHOR_CONFIRMATIONS } from "../../verdict/model/defaults.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import type { Policy } from "../../verdict/model/policy.ts";

const ANCHORS_SCHEMA = "stormlog.anchors/1";

/** The file of a repository with its release anchors, next to `stormlog-gate.yml`. */
export const ANCHORS_FILE = "stormlog-anchors.json";

const rank = v.pipe(v.number(), v.integer(), v.minValue(0));
const peak = v.pipe(v.number(), v.integer(), v.minValue(0));

const AnchorSchema = v.object({
  scenario: v.string(),
  fingerprint: v.record(v.string(), v.nullable(v.union([v.string(), v.number()]))),
  /** When it was proposed, ISO 8601 UTC. */
  set: v.string(),
  commit: v.nullable(v.string()),
  /** Peaks: rank, device, metric, bytes. */
  series: v.array(v.tuple([rank, v.string(), v.picklist(METRICS), peak])),
});

export const AnchorsSchema = v.object({ schema: v.literal(ANCHORS_SCHEMA), anchors: v.array(AnchorSchema) });

/** The accepted level of one scenario in one environment, the limit for slow creep. */
export type Anchor = v.InferOutput<typeof AnchorSchema>;

/** @throws GateError ANCHORS_INVALID, INPUT_SCHEMA_VERSION (exit 5): an unreadable limit must not be ignored */
export function parseAnchors(text: string, where: string): readonly Anchor[] {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw invalidInput("ANCHORS_INVALID", `${where} is not complete JSON`, where);
  }
  checkVersion(json, ANCHORS_SCHEMA, where);
  const result = v.safeParse(AnchorsSchema, json, { abortEarly: true });
  if (result.success) return result.output.anchors;
  throw invalidInput("ANCHORS_INVALID", `${where} is not an anchors file: ${issueText(result.issues[0])}`, where);
}

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

/** The anchor of a scenario in an environment; null where there is none. */
export function findAnchor(anchors: readonly Anchor[], scenario: string, fingerprint: Fingerprint): Anchor | null {
  const hash = fingerprintHash(fingerprint);
  const usable = anchors.filter(
    (anchor) => anchor.scenario === scenario && identityConflicts(anchor.fingerprint, fingerprint).length === 0,
  );
  return usable.find((anchor) => fingerprintHash(anchor.fingerprint) === hash) ?? usable[0] ?? null;
}

/** An anchor as measurements. */
export function anchorMeasurements(anchor: Anchor): Measurements {
  const series = anchor.series.map(([at, device, metric, peak_bytes]) => ({ rank: at, device, metric, peak_bytes }));
  return {
    scenario: anchor.scenario,
    fingerprint: anchor.fingerprint,
    runs: [{ session: "anchor", commit: anchor.commit, series }],
  };
}

/** The anchor made of measured runs: the median peak of every series. */
export function anchorOf(
  scenario: string,
  fingerprint: Fingerprint,
  runs: readonly MeasuredRun[],
  origin: { readonly setIso: string; readonly commit: string | null },
): Anchor {
  const peaks = new Map<string, { readonly entry: Anchor["series"][number]; readonly values: number[] }>();
  for (const series of runs.flatMap((run) => run.series)) {
    if (series.peak_bytes === null) continue;
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
