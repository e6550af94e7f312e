import { createHash } from "node:crypto";
import { fingerprintHash } from "../baseline/identity.ts";
import { MIB } from "../core/units.ts";
import type { Fingerprint, Metric } from "../telemetry/recording/model.ts";
import type { Acceptance } from "./acceptance.ts";
import type { Aspect, Check, Judgement, Limit } from "./judgement.ts";

/**
 * What failed, as a token that a person can copy into an acceptance: `3f9a2c1d04be-dapb187`. First the scenario in its
 * environment; then each failed check: where (`d` device, `h` host), metric, aspect, limit, and its size as a coarse ceiling.
 * Where only some of the ranks fail a check, `x` and a bit for each of them follows.
 */
export interface Difference {
  readonly token: string;
}

/**
 * Sizes are told in eighths of an octave (9 %): coarse enough that measuring again changes little, fine enough that a
 * regression a fifth larger is another difference.
 */
const BUCKETS_PER_OCTAVE = 8;

/**
 * Added to a size before it is put into its bucket, bytes and share of the limit. What lies barely beyond a limit of 2 GiB moves
 * by more than itself from run to run; a fraction of the limit does not.
 */
const STEADY_BYTES = MIB;
const STEADY_SHARE = 1 / 64;

/** Buckets that noise alone may move a size by; twice, where it is the very commit that was accepted. */
const NOISE_BUCKETS = 1;

const PLACES = { device: "d", host: "h" } as const;
const METRICS: Readonly<Record<Metric, string>> = { allocated: "a", reserved: "r", used: "u", host: "h" };
const ASPECTS: Readonly<Record<Exclude<Aspect, "oom">, string>> = { peak: "p", growth: "g", class: "c" };
const LIMITS: Readonly<Record<Limit, string>> = { baseline: "b", budget: "m", anchor: "r" };

/** Longest token: one that does not fit into a line is not copied whole. */
const MAX_CHARS = 80;
/** Stands for the checks of a token that would be longer: exactly these, none beyond the size of the largest. */
const FOLDED = "many";

const CODE = "[dh][aruh][pgc][bmr]\\d{1,3}(?:x[0-9a-f]{1,64})?";
const TOKEN = new RegExp(`^[0-9a-f]{12}-(?:policy|${FOLDED}\\d{1,3}x[0-9a-f]{12}|${CODE}(?:-${CODE})*)$`);

/** Whether a text can be a difference at all. Longer than any real one is none. */
export function isDifference(text: string): boolean {
  return text.length <= MAX_CHARS && TOKEN.test(text);
}

function shortHash(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex").slice(0, 12);
}

/** The letters of a check; null for running out of memory, which nobody can accept. */
function letters({ kind, device, metric, aspect, limit }: Check): string | null {
  if (kind === "oom") return null;
  return `${device === "host" ? PLACES.host : PLACES.device}${METRICS[metric]}${ASPECTS[aspect]}${LIMITS[limit]}`;
}

/** How far a failed check lies beyond its limit, in buckets; null where no size is known. */
function bucketOf({ candidate_bytes, threshold_bytes, baseline_bytes }: Check): number | null {
  if (candidate_bytes === null) return null;
  // A class has no limit in bytes: its size is what the series grew beyond the baseline's growth.
  const limit = threshold_bytes ?? baseline_bytes ?? 0;
  const steady = Math.max(STEADY_BYTES, Math.abs(limit) * STEADY_SHARE);
  const size = Math.max(0, candidate_bytes - limit) + steady;
  return Math.min(999, Math.floor(BUCKETS_PER_OCTAVE * Math.log2(size)));
}

/**
 * Which of the places fail; empty when most do: ranks of one program fail alike, and which of them stays just below its limit is
 * luck.
 */
function mask(checks: readonly Check[]): string {
  const ordered = [...checks].sort((a, b) => a.rank - b.rank || (a.device < b.device ? -1 : 1));
  const failed = ordered.filter(({ verdict }) => verdict === "fail").length;
  if (failed * 2 > ordered.length) return "";
  const bits = ordered.reduce((all, { verdict }, at) => (verdict === "fail" ? all | (1n << BigInt(at)) : all), 0n);
  const text = bits.toString(16);
  // Beyond 256 places a list of bits is no token any more; the first and the count still tell most changes of it.
  return `x${text.length <= 64 ? text : shortHash(text)}`;
}

/** On one series the class fails together with its growth, which also tells its size. */
function isToldByGrowth(check: Check, checks: readonly Check[]): boolean {
  return (
    check.kind === "class" &&
    checks.some(
      (other) =>
        other.kind === "growth" &&
        other.verdict === "fail" &&
        other.rank === check.rank &&
        other.device === check.device &&
        other.metric === check.metric,
    )
  );
}

/**
 * The difference of one failed scenario. Null when nothing failed, or when it cannot be accepted: out of memory (the limit is the
 * machine's own) and a failed check of unknown size.
 */
export function differenceOf(scenario: string, fingerprint: Fingerprint, judgement: Judgement): Difference | null {
  const checks = judgement.checks.filter((check) => check.gating && !isToldByGrowth(check, judgement.checks));
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
    .map(([code, bucket]) => ({ code, bucket, places: mask(checks.filter((check) => letters(check) === code)) }))
    .sort((a, b) => (a.code < b.code ? -1 : 1));
  const identity = shortHash([scenario, fingerprintHash(fingerprint)]);
  const token = `${identity}-${listed.map(({ code, bucket, places }) => `${code}${bucket}${places}`).join("-")}`;
  if (token.length <= MAX_CHARS) return { token };
  const largest = Math.max(...worst.values());
  return { token: `${identity}-${FOLDED}${largest}x${shortHash(listed.map(({ code, places }) => code + places))}` };
}

/** The difference of a change to the gate's own settings: it names exactly these changes. */
export function policyDifference(
  changes: readonly { readonly path: string; readonly base: string | null; readonly head: string | null }[],
): Difference {
  const listed = changes.map(({ path, base, head }) => [path, base, head]);
  return { token: `${shortHash(listed.sort((a, b) => (String(a[0]) < String(b[0]) ? -1 : 1)))}-policy` };
}

interface Part {
  readonly bucket: number;
  /** Null = every place. */
  readonly places: bigint | null;
}

function parts(token: string): ReadonlyMap<string, Part> {
  const listed = token.split("-").slice(1);
  return new Map(
    listed.map((code): [string, Part] => {
      const [sized = "", places] = code.slice(4).split("x");
      return [code.slice(0, 4), { bucket: Number(sized), places: places === undefined ? null : BigInt(`0x${places}`) }];
    }),
  );
}

/** How an acceptance relates to what was found. */
export type Match =
  | { readonly kind: "covered" }
  /** Of another scenario, another environment, or another change of settings. */
  | { readonly kind: "other" }
  /** It names a commit that is not the one that was measured. */
  | { readonly kind: "other-commit" }
  /** A check fails that did not when it was accepted, or on a rank where it did not. */
  | { readonly kind: "more" }
  /** The same checks, further beyond their limits. */
  | { readonly kind: "larger" };

/** What of an acceptance decides whether it covers a difference. */
export type Accepted = Pick<Acceptance, "difference" | "head_sha" | "via">;

/**
 * Hold an acceptance against what was found. A comment that names a commit means that commit alone; a trailer stands in a commit
 * and means what comes after it as well.
 * @param headSha commit that was measured; null where it is not known, and then no tolerance for it is given
 */
export function matchAcceptance(accepted: Accepted, found: Difference, headSha: string | null): Match {
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
  for (const [code, { bucket, places }] of parts(found.token)) {
    const known = allowed.get(code);
    if (known === undefined) return { kind: "more" };
    if (code === FOLDED && places !== known.places) return { kind: "more" };
    if (known.places !== null && (places === null || (places & ~known.places) !== 0n)) return { kind: "more" };
    if (bucket > known.bucket + tolerance) larger = true;
  }
  return { kind: larger ? "larger" : "covered" };
}

/** Whether an acceptance covers what was found: the same failed checks or fewer, none beyond its accepted size. */
export function covers(accepted: Accepted, found: Difference, headSha: string | null = null): boolean {
  return matchAcceptance(accepted, found, headSha).kind === "covered";
}
