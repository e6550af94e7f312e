import { createHash } from "node:crypto";
import { fingerprintHash } from "../baseline/identity.ts";
import { MIB } from "../core/units.ts";
import { limitOf, METRIC, METRICS } from "../telemetry/recording/metrics.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import type { Acceptance } from "./model/acceptance.ts";
import type { Aspect, Check, Judgement, Limit } from "./model/judgement.ts";
import { sameSeries } from "./model/series-index.ts";

/**
 * What failed, as a token that a person can copy into an acceptance: `3f9a2c1d04be-dapb187`. It begins with a hash of
 * scenario and environment. Each failed check follows: device (`d`) or host (`h`), metric, aspect, limit, and its size
 * as a coarse ceiling. Where only some of the ranks fail a check, `x` and a bit for each of them follow.
 */
export interface Difference {
  readonly token: string;
}

/** Buckets of 9 %: coarse enough for repeated runs, fine enough that a regression a fifth larger is another one. */
const BUCKETS_PER_OCTAVE = 8;

/** Added to a size before its bucket is chosen, bytes and share of the limit: values vary more on a large limit. */
const STEADY_BYTES = MIB;
const STEADY_SHARE = 1 / 64;

/** Buckets by which noise alone may change a size; doubled for the commit that was accepted. */
const NOISE_BUCKETS = 1;

const LOCATIONS = { device: "d", host: "h" } as const;
const ASPECTS: Readonly<Record<Exclude<Aspect, "oom">, string>> = { peak: "p", growth: "g", class: "c" };
const LIMITS: Readonly<Record<Limit, string>> = { baseline: "b", budget: "m", anchor: "r" };

/** Maximum length of a token: people copy it from one line. */
const MAX_CHARS = 80;
/** Replaces the checks of a longer token: exactly these, none larger than the largest. */
const FOLDED = "many";

const LETTERS = METRICS.map((metric) => METRIC[metric].letter).join("");
const CODE = `[dh][${LETTERS}][pgc][bmr]\\d{1,3}(?:x[0-9a-f]{1,64})?`;
/** Settings are accepted by equality alone, so their hash resists forgery: 128 bits; reports once had 48. */
const POLICY_CHARS = 32;
const POLICY = `[0-9a-f]{12}(?:[0-9a-f]{${POLICY_CHARS - 12}})?-policy`;
const TOKEN = new RegExp(`^(?:${POLICY}|[0-9a-f]{12}-(?:${FOLDED}\\d{1,3}x[0-9a-f]{12}|${CODE}(?:-${CODE})*))$`);

/** Whether a text has the form of a difference. */
export function isDifference(text: string): boolean {
  return text.length <= MAX_CHARS && TOKEN.test(text);
}

function shortHash(value: unknown, chars = 12): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, chars);
}

/** The letters of a check; null for running out of memory, which cannot be accepted. */
function letters({ kind, device, metric, aspect, limit }: Check): string | null {
  if (kind === "oom") return null;
  return `${device === "host" ? LOCATIONS.host : LOCATIONS.device}${METRIC[metric].letter}${ASPECTS[aspect]}${LIMITS[limit]}`;
}

/** How far a failed check exceeds its limit, in buckets; null where no size is known. */
function bucketOf({ metric, candidate_bytes, threshold_bytes, baseline_bytes }: Check): number | null {
  if (candidate_bytes === null) return null;
  // A class has no limit in bytes: its size is what the series grew beyond the baseline's growth.
  const limit = threshold_bytes ?? baseline_bytes ?? 0;
  const steady = Math.max(limitOf(STEADY_BYTES, metric), Math.abs(limit) * STEADY_SHARE);
  const size = Math.max(0, candidate_bytes - limit) + steady;
  return Math.min(999, Math.floor(BUCKETS_PER_OCTAVE * Math.log2(size)));
}

/** Which ranks and devices fail; empty when most do: ranks fail alike, and chance keeps some just below the limit. */
function mask(checks: readonly Check[]): string {
  const ordered = [...checks].sort((a, b) => a.rank - b.rank || (a.device < b.device ? -1 : 1));
  const failed = ordered.filter(({ verdict }) => verdict === "fail").length;
  if (failed * 2 > ordered.length) return "";
  const bits = ordered.reduce((all, { verdict }, at) => (verdict === "fail" ? all | (1n << BigInt(at)) : all), 0n);
  const text = bits.toString(16);
  // More than 256 bits are hashed, so that the token stays short.
  return `x${text.length <= 64 ? text : shortHash(text)}`;
}

/** On one series the class fails together with its growth, which also has a size. */
function isCoveredByGrowth(check: Check, checks: readonly Check[]): boolean {
  return (
    check.kind === "class" &&
    checks.some((other) => other.kind === "growth" && other.verdict === "fail" && sameSeries(other, check))
  );
}

/** The difference of a failed scenario; null when it cannot be accepted: out of memory, or an unknown size. */
export function differenceOf(scenario: string, fingerprint: Fingerprint, judgement: Judgement): Difference | null {
  const checks = judgement.checks.filter((check) => check.gating && !isCoveredByGrowth(check, judgement.checks));
  const failed = checks.filter(({ verdict }) => verdict === "fail");
  if (judgement.verdict !== "fail" || failed.length === 0) return null;
  const worst = new Map<string, number>();
  for (const check of failed) {
    const code = letters(check);
    const bucket = bucketOf(check);
    if (code === null || bucket === null) return null;
    worst.set(code, Math.max(bucket, worst.get(code) ?? 0));
  }
  const listed = [...worst]
    .map(([code, bucket]) => ({ code, bucket, bits: mask(checks.filter((check) => letters(check) === code)) }))
    .sort((a, b) => (a.code < b.code ? -1 : 1));
  const identity = shortHash([scenario, fingerprintHash(fingerprint)]);
  const token = `${identity}-${listed.map(({ code, bucket, bits }) => `${code}${bucket}${bits}`).join("-")}`;
  if (token.length <= MAX_CHARS) return { token };
  const largest = Math.max(...worst.values());
  return { token: `${identity}-${FOLDED}${largest}x${shortHash(listed.map(({ code, bits }) => code + bits))}` };
}

/** The difference of a change to the gate's settings: it names exactly these changes. */
export function policyDifference(
  changes: readonly { readonly path: string; readonly base: string | null; readonly head: string | null }[],
): Difference {
  const listed = changes.map(({ path, base, head }) => [path, base, head]);
  listed.sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1));
  return { token: `${shortHash(listed, POLICY_CHARS)}-policy` };
}

interface DifferencePart {
  readonly bucket: number;
  /** Null = all ranks and devices. */
  readonly mask: bigint | null;
}

function parts(token: string): ReadonlyMap<string, DifferencePart> {
  const listed = token.split("-").slice(1);
  return new Map(
    listed.map((code): [string, DifferencePart] => {
      const [sized = "", mask] = code.slice(4).split("x");
      return [code.slice(0, 4), { bucket: Number(sized), mask: mask === undefined ? null : BigInt(`0x${mask}`) }];
    }),
  );
}

/** How an acceptance relates to a difference. */
export type DifferenceMatch =
  | { readonly kind: "covered" }
  /** Of another scenario, another environment, or another change of settings. */
  | { readonly kind: "other" }
  /** It names a commit that is not the one that was measured. */
  | { readonly kind: "other-commit" }
  /** A check fails that did not when it was accepted, or on a rank where it did not. */
  | { readonly kind: "more" }
  /** The same checks, further beyond their limits. */
  | { readonly kind: "larger" };

/** The fields of an acceptance that decide whether it covers a difference. */
export type Accepted = Pick<Acceptance, "difference" | "head_sha" | "via">;

/**
 * Compare an acceptance with a difference. A comment that names a commit covers that commit alone; a trailer in a
 * commit covers later commits too.
 * @param headSha commit that was measured; null where it is not known, which gives no extra tolerance
 */
export function matchAcceptance(accepted: Accepted, found: Difference, headSha: string | null): DifferenceMatch {
  if (!isDifference(accepted.difference)) return { kind: "other" };
  const identity = (token: string): string => token.slice(0, token.indexOf("-"));
  if (identity(accepted.difference) !== identity(found.token)) return { kind: "other" };
  const sameHead = accepted.head_sha !== null && headSha?.startsWith(accepted.head_sha) === true;
  const bound = accepted.via === "comment" && accepted.head_sha !== null && headSha !== null;
  if (bound && !sameHead) return { kind: "other-commit" };
  if (found.token.endsWith("-policy") || accepted.difference.endsWith("-policy")) {
    return { kind: accepted.difference === found.token ? "covered" : "other" };
  }
  const allowed = parts(accepted.difference);
  const tolerance = sameHead ? 2 * NOISE_BUCKETS : NOISE_BUCKETS;
  let larger = false;
  for (const [code, { bucket, mask }] of parts(found.token)) {
    const known = allowed.get(code);
    if (known === undefined) return { kind: "more" };
    if (code === FOLDED && mask !== known.mask) return { kind: "more" };
    if (known.mask !== null && (mask === null || (mask & ~known.mask) !== 0n)) return { kind: "more" };
    if (bucket > known.bucket + tolerance) larger = true;
  }
  return { kind: larger ? "larger" : "covered" };
}

/** Whether an acceptance covers a difference: the same failed checks or fewer, none larger than accepted. */
export function covers(accepted: Accepted, found: Difference, headSha: string | null = null): boolean {
  return matchAcceptance(accepted, found, headSha).kind === "covered";
}
