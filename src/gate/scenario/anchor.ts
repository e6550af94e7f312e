import * as v from "valibot";
import type { Measurements } from "../../analysis/measurements.ts";
import { fingerprintHash, identityConflicts } from "../../baseline/identity.ts";
import { invalidInput } from "../../core/errors.ts";
import { issueText } from "../../core/issue-text.ts";
import { checkVersion } from "../../core/json.ts";
import { METRICS } from "../../telemetry/recording/metrics.ts";
import type { Fingerprint } from "../../telemetry/recording/model.ts";

export const ANCHORS_SCHEMA = "stormlog.anchors/1";

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
