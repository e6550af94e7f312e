import { assertNever, messageOf } from "../../core/errors.ts";
import type { ScenarioReport } from "../../report/model/gate-report.ts";
import { type Difference, type DifferenceMatch, differenceOf, matchAcceptance } from "../../verdict/difference.ts";
import type { Acceptance, Acceptances, RefusedAcceptance } from "../../verdict/model/acceptance.ts";

/** The acceptances of a pull request, and the commit that was measured. */
export interface LiveAcceptances extends Acceptances {
  /** Head of the pull request that was measured; null where it is not known. */
  readonly headSha: string | null;
}

/** Maximum number of reasons, so that refused acceptances cannot flood a report. */
const MAX_REASONS = 5;

function shortened(reasons: readonly string[], what: string): readonly string[] {
  const left = reasons.length - MAX_REASONS;
  return left <= 0 ? reasons : [...reasons.slice(0, MAX_REASONS), `${left} more ${what}`];
}

function refusedReason({ difference, by, via, url, why }: RefusedAcceptance): string {
  const who = by === null ? `an acceptance by ${via}` : `the acceptance by ${by}`;
  const of = difference === "" ? "" : ` of ${difference}`;
  return `Ignored ${who}${of}: ${why}${url === null ? "" : ` (${url})`}`;
}

/** Why an acceptance of the same scenario and environment does not cover a difference; null otherwise. */
function mismatchReason(
  scenario: string,
  found: Difference,
  acceptance: Acceptance,
  match: DifferenceMatch,
): string | null {
  const what = `${scenario}: the acceptance by ${acceptance.by} (${acceptance.difference})`;
  switch (match.kind) {
    case "covered":
    case "other":
      return null;
    case "other-commit":
      return `${what} is for commit ${acceptance.head_sha?.slice(0, 12)} only, and another commit was measured`;
    case "more":
      return `${what} does not cover a check that fails now (${found.token})`;
    case "larger":
      return `${what} is for a smaller difference than the one found now (${found.token})`;
    default:
      return assertNever(match);
  }
}

/** Applies acceptances to failed scenarios. Asks GitHub once, when one fails; on an error it warns and accepts none. */
export class AcceptanceMatcher {
  readonly #ask: (() => Promise<LiveAcceptances>) | undefined;
  #asked: Promise<LiveAcceptances> | undefined;
  readonly #mismatches: string[] = [];
  #uncovered = 0;

  constructor(ask: (() => Promise<LiveAcceptances>) | undefined) {
    this.#ask = ask;
  }

  #read(): Promise<LiveAcceptances> {
    const nothing = { accepted: [], refused: [], headSha: null };
    this.#asked ??= (this.#ask?.() ?? Promise.resolve({ ...nothing, warnings: [] })).catch((error: unknown) => ({
      ...nothing,
      warnings: [`The acceptances could not be read: ${messageOf(error)}`],
    }));
    return this.#asked;
  }

  /** The newest acceptance that covers a difference; null where none does. */
  async find(scenario: string, found: Difference): Promise<Acceptance | null> {
    const { accepted, headSha } = await this.#read();
    const reasons: string[] = [];
    for (const acceptance of [...accepted].reverse()) {
      const match = matchAcceptance(acceptance, found, headSha);
      if (match.kind === "covered") return acceptance;
      const reason = mismatchReason(scenario, found, acceptance, match);
      if (reason !== null) reasons.push(reason);
    }
    this.#mismatches.push(...reasons);
    this.#uncovered += 1;
    return null;
  }

  /**
   * A failed scenario gets the token of its difference. An acceptance that covers it makes the verdict `warn`; the
   * judgement does not change. A failed command and running out of memory have no token: they cannot be accepted.
   */
  async apply(report: ScenarioReport): Promise<ScenarioReport> {
    if (report.kind !== "judged" || report.verdict !== "fail") return report;
    const found = differenceOf(report.scenario, report.fingerprint, report.judgement);
    if (found === null) return report;
    const accepted = await this.find(report.scenario, found);
    if (accepted === null) return { ...report, difference: found.token };
    const timeline = report.timeline === null ? null : { ...report.timeline, verdict: "warn" as const };
    return { ...report, verdict: "warn", timeline, difference: found.token, accepted };
  }

  /** Why acceptances were ignored although a scenario fails; call it after `apply` for every scenario. */
  async notes(): Promise<readonly string[]> {
    if (this.#asked === undefined) return [];
    const { accepted, refused, warnings } = await this.#asked;
    if (this.#uncovered === 0) return warnings;
    const others =
      this.#mismatches.length === 0 && accepted.length > 0
        ? [
            `Only other differences were accepted: ${accepted
              .slice(0, MAX_REASONS)
              .map(({ difference, by }) => `${difference} by ${by}`)
              .join(", ")}`,
          ]
        : [];
    return [
      ...warnings,
      ...shortened([...new Set(this.#mismatches)], "acceptances do not cover the failed checks"),
      ...others,
      ...shortened([...new Set(refused.map(refusedReason))], "acceptances are ignored"),
    ];
  }
}
