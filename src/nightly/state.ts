import * as v from "valibot";
import { FIRST_NIGHT } from "./promotion.ts";

export const NIGHTLY_SCHEMA = "stormlog.nightly/1";

/** Nights of all scenarios that are remembered; 600 of five scenarios are four months. */
const MAX_NIGHTS = 600;
/** Trials of the self-test that the published rates rest on. */
const MAX_TRIALS = 400;

const whole = v.pipe(v.number(), v.integer());
const count = v.pipe(whole, v.minValue(0));
const bytes = v.nullable(v.pipe(v.number(), v.finite()));
const word = v.picklist(["pass", "warn", "fail", "unjudged", "error"]);

export const NIGHT_OUTCOMES = ["approved", "seed", "epoch", "held", "unsaved", "failed"] as const;

/** What one scenario came to in one night: drift below every limit shows only in a row of these. */
const NightlyEntrySchema = v.object({
  time: v.string(),
  commit: v.nullable(v.string()),
  session: v.string(),
  scenario: v.string(),
  /** Hash of the environment's identity, as in the record's name. */
  environment: v.string(),
  word,
  outcome: v.picklist(NIGHT_OUTCOMES),
  runs: count,
  /** Series the sizes are of: rank, device, metric; null when nothing was measured. */
  series: v.nullable(v.tuple([count, v.string(), v.string()])),
  level_bytes: bytes,
  baseline_bytes: bytes,
  threshold_bytes: bytes,
  growth_bytes: bytes,
});

const TrialSchema = v.object({
  time: v.string(),
  scenario: v.string(),
  kind: v.picklist(["canary", "peak", "growth"]),
  /** The gate said "fail". */
  failed: v.boolean(),
  /** Memory that was held beside the command; 0 for the canary. */
  injected_bytes: count,
  /** Metric it was judged on. */
  metric: v.string(),
  runs: count,
});

export const NightlyStateSchema = v.object({
  schema: v.literal(NIGHTLY_SCHEMA),
  promotion: v.object({
    mode: v.picklist(["advisory", "blocking"]),
    clean_nights: count,
    promoted_iso: v.nullable(v.string()),
  }),
  nights: v.array(NightlyEntrySchema),
  trials: v.array(TrialSchema),
});

export type NightlyEntry = v.InferOutput<typeof NightlyEntrySchema>;
export type Trial = v.InferOutput<typeof TrialSchema>;
/** `stormlog.nightly/1`: what the nights of one gate have come to. It is told, never judged by. */
export type NightlyState = v.InferOutput<typeof NightlyStateSchema>;

/** A gate that has had no night yet. */
export function emptyState(): NightlyState {
  return { schema: NIGHTLY_SCHEMA, promotion: { ...FIRST_NIGHT }, nights: [], trials: [] };
}

/** A state read back: usable, of a newer version (which must not be written over), or broken (which may). */
export type ReadState =
  | { readonly kind: "state"; readonly state: NightlyState }
  | { readonly kind: "newer"; readonly schema: string }
  | { readonly kind: "broken"; readonly reason: string };

export function parseState(text: string): ReadState {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return { kind: "broken", reason: "it is not complete JSON" };
  }
  const schema = (json as { schema?: unknown } | null)?.schema;
  if (typeof schema === "string" && schema.startsWith("stormlog.nightly/") && schema !== NIGHTLY_SCHEMA)
    return { kind: "newer", schema };
  const result = v.safeParse(NightlyStateSchema, json);
  if (result.success) return { kind: "state", state: result.output };
  const issue = result.issues[0];
  return { kind: "broken", reason: `${v.getDotPath(issue) ?? "document"}: ${issue.message}` };
}

/** The state with tonight's entries behind the others; a night that is there already (a second attempt to write it) is replaced. */
export function withSessions(state: NightlyState, nights: readonly NightlyEntry[]): NightlyState {
  const name = ({ session, scenario, environment }: NightlyEntry): string =>
    JSON.stringify([session, scenario, environment]);
  const ours = new Set(nights.map(name));
  return { ...state, nights: [...state.nights.filter((one) => !ours.has(name(one))), ...nights].slice(-MAX_NIGHTS) };
}

export function withTrials(state: NightlyState, trials: readonly Trial[]): NightlyState {
  return { ...state, trials: [...state.trials, ...trials].slice(-MAX_TRIALS) };
}

/** One line a night, so that a look at the file reads like a log. */
export function serializeState({ schema, promotion, nights, trials }: NightlyState): string {
  const lines = (list: readonly object[]): string => list.map((one) => `\n${JSON.stringify(one)}`).join(",");
  return `{"schema":${JSON.stringify(schema)},"promotion":${JSON.stringify(promotion)},\n"nights":[${lines(nights)}],\n"trials":[${lines(trials)}]}\n`;
}
