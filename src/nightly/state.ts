import * as v from "valibot";
import { issueText } from "../core/issue-text.ts";
import { otherVersion } from "../core/json.ts";
import { FIRST_NIGHT } from "./promotion.ts";

const NIGHTLY_SCHEMA = "stormlog.nightly/1";

/** Maximum number of stored nights over all scenarios; 600 of five scenarios are four months. */
const MAX_NIGHTS = 600;
/** Trials of the self-test behind the published rates. */
const MAX_TRIALS = 400;

const whole = v.pipe(v.number(), v.integer());
const count = v.pipe(whole, v.minValue(0));
const bytes = v.nullable(v.pipe(v.number(), v.finite()));
const verdict = v.picklist(["pass", "warn", "fail", "unjudged", "error"]);

const NIGHT_OUTCOMES = ["approved", "seed", "epoch", "held", "unsaved", "failed"] as const;

/** The result of one scenario in one nightly run; a drift below every limit shows only in a series of these. */
const NightlyEntrySchema = v.object({
  time: v.string(),
  commit: v.nullable(v.string()),
  session: v.string(),
  scenario: v.string(),
  /** Hash of the environment's identity, as in the record's name. */
  environment: v.string(),
  word: verdict,
  outcome: v.picklist(NIGHT_OUTCOMES),
  runs: count,
  /** Series the sizes are of: rank, device, metric; null when nothing was measured. */
  series: v.nullable(v.tuple([count, v.string(), v.string()])),
  level_bytes: bytes,
  baseline_bytes: bytes,
  threshold_bytes: bytes,
  growth_bytes: bytes,
});

export const TrialSchema = v.object({
  time: v.string(),
  scenario: v.string(),
  kind: v.picklist(["canary", "peak", "growth"]),
  /** The verdict was "fail". */
  failed: v.boolean(),
  /** Memory allocated next to the command; 0 for the canary. */
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
/** `stormlog.nightly/1`: the history of the nightly runs of one gate. It is reported, and never used for a verdict. */
export type NightlyState = v.InferOutput<typeof NightlyStateSchema>;

/** The state before the first nightly run. */
export function emptyState(): NightlyState {
  return { schema: NIGHTLY_SCHEMA, promotion: { ...FIRST_NIGHT }, nights: [], trials: [] };
}

/** A state read back: usable, of a newer version (which must not be written over), or broken (which may). */
type ReadState =
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
  const newer = otherVersion(json, NIGHTLY_SCHEMA);
  if (newer !== null) return { kind: "newer", schema: newer };
  const result = v.safeParse(NightlyStateSchema, json, { abortEarly: true });
  if (result.success) return { kind: "state", state: result.output };
  return { kind: "broken", reason: issueText(result.issues[0]) };
}

/** The state with a session's entries appended; entries of the same session (a second attempt) are replaced. */
export function withSessions(state: NightlyState, nights: readonly NightlyEntry[]): NightlyState {
  const name = ({ session, scenario, environment }: NightlyEntry): string =>
    JSON.stringify([session, scenario, environment]);
  const ours = new Set(nights.map(name));
  return { ...state, nights: [...state.nights.filter((one) => !ours.has(name(one))), ...nights].slice(-MAX_NIGHTS) };
}

export function withTrials(state: NightlyState, trials: readonly Trial[]): NightlyState {
  return { ...state, trials: [...state.trials, ...trials].slice(-MAX_TRIALS) };
}

/** The text of the file, one line for each entry, so that it reads like a log. */
export function serializeState({ schema, promotion, nights, trials }: NightlyState): string {
  const lines = (list: readonly object[]): string => list.map((one) => `\n${JSON.stringify(one)}`).join(",");
  return `{"schema":${JSON.stringify(schema)},"promotion":${JSON.stringify(promotion)},\n"nights":[${lines(nights)}],\n"trials":[${lines(trials)}]}\n`;
}
