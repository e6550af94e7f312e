import { assertNever } from "../../core/errors.ts";
import { formatBytes, formatBytesDelta } from "../../core/units.ts";
import type { NightlyScenario, SessionOutcome } from "../../nightly/nightly-run.ts";
import type { NightlyEntry } from "../../nightly/state.ts";
import { md, table } from "../../report/markdown/markdown-text.ts";
import { sparkline } from "../../report/wording/sparkline.ts";

/** The sessionOutcome of a session as the end of a sentence. */
export function sessionOutcomeText(sessionOutcome: SessionOutcome): string {
  switch (sessionOutcome.kind) {
    case "approved":
      return "joined the baseline";
    case "seed":
      return "is the first of this environment's baseline";
    case "epoch":
      return `opened a new level: ${sessionOutcome.reason}`;
    case "held":
      return sessionOutcome.why === "hold-breach"
        ? "exceeds the baseline: recorded, not approved"
        : "lacks series of the baseline: recorded, not approved";
    case "unsaved":
      return `was not saved: ${sessionOutcome.reason}`;
    case "failed":
      return "was not measured completely";
    default:
      return assertNever(sessionOutcome);
  }
}

const bytes = (value: number | null): string => (value === null ? "" : formatBytes(value));

/** Whether the session is part of the baseline now. */
export function joinedBaseline({ sessionOutcome }: Pick<NightlyScenario, "sessionOutcome">): boolean {
  return ["approved", "seed", "epoch"].includes(sessionOutcome.kind);
}

/** Entries of one scenario in one environment, oldest first. */
export function nightsOf(nights: readonly NightlyEntry[], entry: NightlyEntry): readonly NightlyEntry[] {
  return nights.filter(({ scenario, environment }) => scenario === entry.scenario && environment === entry.environment);
}

/** The levels of the nights as block letters; empty with fewer than two. */
export function levelLine(nights: readonly NightlyEntry[]): string {
  const levels = nights.slice(-60).map(({ level_bytes }) => level_bytes ?? Number.NaN);
  return levels.length < 2 ? "" : sparkline(levels, levels.length);
}

/** The newest nights as a table, the newest first. */
export function nightTable(nights: readonly NightlyEntry[]): string {
  const rows = nights
    // Nights that a table shows.
    .slice(-14)
    .reverse()
    .map((night) => [
      md(night.time.slice(0, 16).replace("T", " ")),
      night.commit === null ? "" : `\`${night.commit.slice(0, 10).replace(/[^0-9a-f]/g, "")}\``,
      night.word,
      bytes(night.level_bytes),
      night.level_bytes === null || night.baseline_bytes === null
        ? ""
        : formatBytesDelta(night.level_bytes - night.baseline_bytes),
      bytes(night.growth_bytes),
      night.outcome,
    ]);
  const head = ["night (UTC)", "commit", "verdict", "peak", "to the baseline", "growth", "session"];
  return table(head, ["l", "l", "l", "r", "r", "r", "l"], rows);
}

/** The checks that keep a session from the baseline, one line each. */
export function breachLines({ report }: NightlyScenario): readonly string[] {
  const checks = report.judgement?.checks ?? [];
  const decisive = checks.filter(
    ({ gating, verdict, candidate_bytes }) =>
      gating && (verdict === "fail" || (verdict === "unjudged" && candidate_bytes === null)),
  );
  return decisive.slice(0, 12).map(({ device, metric, rank, aspect, limit, reason }) => {
    const where = rank === 0 && device === metric ? metric : `rank ${rank}, ${device}, ${metric}`;
    return `- **${md(where, 80)}** (${aspect}, ${limit}): ${md(reason, 400)}`;
  });
}
