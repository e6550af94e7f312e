import type { GateReport, ScenarioReport } from "../model/gate-report.ts";
import { isToken } from "../wording/next-steps.ts";
import { linkTarget, md, table } from "./markdown-text.ts";

const MAX_CHANGES = 40;

/** Who accepted the difference, and why; null where it was not accepted. */
export function acceptedText(scenario: ScenarioReport, repositoryUrl: string | null): string | null {
  const { accepted } = scenario;
  if (accepted === undefined) return null;
  const how = { comment: "by comment", label: "by label", trailer: "by commit trailer" }[accepted.via];
  const when = accepted.at_iso === null ? "" : ` on ${md(accepted.at_iso.slice(0, 10), 10)}`;
  const head = accepted.head_sha === null ? "" : `, at commit ${md(accepted.head_sha.slice(0, 10), 10)}`;
  const page = pageWithin(accepted.url, repositoryUrl);
  const where = page === null ? "" : ` ([where](${page}))`;
  const token = accepted.difference.replace(/[^A-Za-z0-9-]/g, "").slice(0, 80);
  return [
    `**Accepted by ${md(accepted.by, 60)}** ${how}${when}${head}${where}:`,
    `> ${md(accepted.reason, 600)}`,
    `The acceptance covers \`${token}\`. A later push that makes the difference larger needs a new one.`,
  ].join("\n\n");
}

/** The known leaks that explain a growth, with their last day and reason; null for none. */
export function knownLeaksText({ known_leaks: known = [] }: ScenarioReport): string | null {
  if (known.length === 0) return null;
  return known
    .map(
      ({ package: name, version, at, until, reason }) =>
        `**Known leak** of ${md(name, 80)} ${md(version, 40)} at ${md(at, 300)} until ${md(until, 10)}:\n\n> ${md(reason, 400)}`,
    )
    .join("\n\n");
}

/** An address within the repository; null for any other, which may be outside text. */
function pageWithin(url: string | null, repositoryUrl: string | null): string | null {
  const target = linkTarget(url);
  if (target === null || repositoryUrl === null || !target.startsWith(`${repositoryUrl}/`)) return null;
  return target.includes("/../") ? null : target;
}

/** Whether the policy changes are in force, and how to accept them. */
function inForceText({ policy_accepted: accepted, policy_difference: token }: GateReport): string {
  if (accepted !== undefined) {
    return `The changes are in force: **accepted by ${md(accepted.by, 60)}**, ${md(accepted.reason, 600)}`;
  }
  const command = isToken(token) ? ` with \`/stormlog accept ${token.slice(0, 80)} <reason>\`` : "";
  return `The changes take effect once someone with write permission accepts them${command}:`;
}

/** The pull request's changes to the policy that judges it; null when there are none. */
export function policyText(report: GateReport): string | null {
  const changes = report.policy_changes ?? [];
  if (changes.length === 0) return null;
  const cell = (value: string | null) => (value === null ? "–" : md(value, 160));
  const rows = changes.slice(0, MAX_CHANGES).map(({ path, base, head }) => [md(path, 120), cell(base), cell(head)]);
  const out = [
    `**This pull request changes the gate's own settings.** ${inForceText(report)}`,
    table(["Setting", "Base branch", "This change"], ["l", "l", "l"], rows),
  ];
  if (changes.length > rows.length) out.push(`…and ${changes.length - rows.length} more in the bundle.`);
  return out.join("\n\n");
}
