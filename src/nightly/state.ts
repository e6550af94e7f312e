import * as v from "valibot";
import { issueText } from "../core/issue-text.ts";
import { otherVersion } from "../core/json.ts";
import { plural } from "../core/text.ts";
import type { Verdict } from "../report/model/gate-report.ts";

/** Whether a fail fails the job; advisory only reports it. */
export type GateMode = "advisory" | "blocking";

/** How far a gate has come from advisory to blocking. */
export interface Promotion {
  readonly mode: GateMode;
  /** Clean nights in a row. */
  readonly clean_nights: number;
  /** When it was promoted to blocking, ISO 8601 UTC; null = it was not. */
  readonly promoted_iso: string | null;
}

export const FIRST_NIGHT: Promotion = { mode: "blocking", clean_nights: 0, promoted_iso: null };

/** What the workflow asks for. */
export interface PromotionPolicy {
  readonly mode: GateMode;
  /** Clean nights in a row after which an advisory gate blocks; null = never. */
  readonly promoteAfter: number | null;
}

/**
 * The state after a nightly run. A night without a verdict changes nothing, a failed one resets the count. A promotion
 * lasts until the workflow no longer asks for it; `mode: blocking` is blocking at once.
 */
export function afterSession(before: Promotion, verdict: Verdict, policy: PromotionPolicy, nowIso: string): Promotion {
  const clean =
    verdict === "pass" || verdict === "warn" ? before.clean_nights + 1 : verdict === "fail" ? 0 : before.clean_nights;
  if (policy.mode === "blocking" || policy.promoteAfter === null)
    return { mode: policy.mode, clean_nights: clean, promoted_iso: null };
  const since = before.promoted_iso ?? (clean >= policy.promoteAfter ? nowIso : null);
  return { mode: since === null ? "advisory" : "blocking", clean_nights: clean, promoted_iso: since };
}

/** The mode before this session is counted, which applies to the session itself. */
export function currentMode(before: Promotion, policy: PromotionPolicy): GateMode {
  if (policy.mode === "blocking") return "blocking";
  return policy.promoteAfter !== null && before.promoted_iso !== null ? "blocking" : "advisory";
}

/** One sentence for the log. */
export function promotionText(state: Promotion, policy: PromotionPolicy): string {
  if (policy.mode === "blocking") return "The gate is blocking.";
  if (state.promoted_iso !== null)
    return `The gate is blocking since ${state.promoted_iso}, after clean nights in a row.`;
  const nights = `${plural(state.clean_nights, "clean night")} in a row`;
  return policy.promoteAfter === null
    ? `The gate is advisory (${nights}).`
    : `The gate is advisory: ${nights}, it blocks after ${policy.promoteAfter}.`;
}

const NIGHTLY_SCHEMA = "stormlog.nightly/1";

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

export const NightlyStateSchema = v.object({
  schema: v.literal(NIGHTLY_SCHEMA),
  promotion: v.object({
    mode: v.picklist(["advisory", "blocking"]),
    clean_nights: count,
    promoted_iso: v.nullable(v.string()),
  }),
  nights: v.array(NightlyEntrySchema),
  /** Of earlier releases, which read no state without them. */
  trials: v.optional(v.array(v.unknown()), []),
});

export type NightlyEntry = v.InferOutput<typeof NightlyEntrySchema>;
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
  // Maximum number of stored nights over all scenarios; 600 of five scenarios are four months.
  return { ...state, nights: [...state.nights.filter((one) => !ours.has(name(one))), ...nights].slice(-600) };
}

/** The text of the file, one line for each entry, so that it reads like a log. */
export function serializeState({ schema, promotion, nights, trials }: NightlyState): string {
  const lines = nights.map((one) => `\n${JSON.stringify(one)}`).join(",");
  const rest = `"nights":[${lines}],\n"trials":${JSON.stringify(trials)}`;
  return `{"schema":${JSON.stringify(schema)},"promotion":${JSON.stringify(promotion)},\n${rest}}\n`;
}
