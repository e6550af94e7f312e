import type { GateReport, ScenarioReport } from "../documents/model.ts";
import { linkTarget, md, table } from "./markdown-text.ts";

const MAX_CHANGES = 40;

/** Who took the difference on purpose, and why; null when nobody did. */
export function acceptedText(scenario: ScenarioReport, repositoryUrl: string | null): string | null {
  const { accepted } = scenario;
  if (accepted === undefined) return null;
  const how = { comment: "by comment", label: "by label", trailer: "by a commit's trailer" }[accepted.via];
  const when = accepted.at_iso === null ? "" : ` on ${md(accepted.at_iso.slice(0, 10), 10)}`;
  const head = accepted.head_sha === null ? "" : `, at commit ${md(accepted.head_sha.slice(0, 10), 10)}`;
  const page = pageWithin(accepted.url, repositoryUrl);
  const where = page === null ? "" : ` ([where](${page}))`;
  return [
    `**Accepted by ${md(accepted.by, 60)}** ${how}${when}${head}${where}:`,
    `> ${md(accepted.reason, 600)}`,
    `It covers \`${accepted.difference.replace(/[^A-Za-z0-9-]/g, "").slice(0, 80)}\`; a later push that makes the difference larger needs a new acceptance.`,
  ].join("\n\n");
}

/** A link that leads into the repository; an address elsewhere is somebody's, and is not linked. */
function pageWithin(url: string | null, repositoryUrl: string | null): string | null {
  const target = linkTarget(url);
  if (target === null || repositoryUrl === null || !target.startsWith(`${repositoryUrl}/`)) return null;
  return target.includes("/../") ? null : target;
}

/** Whether the changes hold, and how somebody makes them hold. */
function inForceText({ policy_accepted, policy_difference }: GateReport): string {
  if (policy_accepted !== undefined) {
    const { by, reason } = policy_accepted;
    return `The changes are in force: **accepted by ${md(by, 60)}**, ${md(reason, 600)}`;
  }
  const command =
    policy_difference !== undefined && /^[A-Za-z0-9]+(-[A-Za-z0-9]+)*$/.test(policy_difference)
      ? ` with \`/stormlog accept ${policy_difference.slice(0, 80)} <reason>\``
      : "";
  return `What it changes is not in force until somebody with write permission accepts it${command}:`;
}

/** What the pull request changes in the policy it is judged by; null when nothing. */
export function policyText(report: GateReport): string | null {
  const changes = report.policy_changes ?? [];
  if (changes.length === 0) return null;
  const cell = (value: string | null) => (value === null ? "–" : md(value, 160));
  const rows = changes.slice(0, MAX_CHANGES).map(({ path, base, head }) => [md(path, 120), cell(base), cell(head)]);
  const out = [
    `**This pull request changes its own gate.** ${inForceText(report)}`,
    table(["Setting", "Base branch", "This change"], ["l", "l", "l"], rows),
  ];
  if (changes.length > rows.length) out.push(`…and ${changes.length - rows.length} more in the bundle.`);
  return out.join("\n\n");
}
