import path from "node:path";
import { withEpoch } from "../../attribution/peak/stored-peak.ts";
import { parseBaselineRecord } from "../../baseline/record.ts";
import { pruneRecord, serializeRecord } from "../../baseline/record-size.ts";
import { peakName, recordName } from "../../baseline/store.ts";
import type { RepositoryView } from "../../git/repository-view.ts";
import type { Proposal, ProposedFile, ReadFile } from "../../github/repository/anchor-pull-request.ts";
import type { NightlyEntry } from "../../nightly/state.ts";
import { md } from "../../report/markdown/markdown-text.ts";
import type { CompletedSession, Refresh } from "./measure-session.ts";
import { nightsOf, nightTable, sessionOutcomeText } from "./session-text.ts";
import { keyName } from "./settings.ts";

/** Directory of a `file:` store as a path within the repository; null when it lies outside. */
function storeDirectory({ checkout }: RepositoryView, baseline: string): string | null {
  if (checkout.problem !== null) return null;
  const directory = path.posix.normalize(`${checkout.prefix}${baseline.slice("file:".length)}`).replace(/\/$/, "");
  return directory.startsWith("..") || path.posix.isAbsolute(directory) ? null : directory;
}

/**
 * A pull request with the new sessions of a `file:` store. It builds on the earlier commits of its branch, so that a
 * request that waits for a week contains a week of sessions.
 * @returns null when nothing was stored, or the store lies outside the repository
 */
export async function recordsProposal(
  { repository, settings, defaultBranch: base }: Refresh,
  { nightly, compositions }: CompletedSession,
  nights: readonly NightlyEntry[],
): Promise<Proposal | null> {
  const directory = storeDirectory(repository, settings.baseline);
  const changed = nightly.scenarios.flatMap(({ change, report }) => {
    const name = recordName(report.scenario, report.fingerprint);
    return change === null ? [] : [{ change, name, composition: compositions.get(report.scenario) ?? null }];
  });
  if (directory === null || changed.length === 0) return null;
  const files = async (read: ReadFile): Promise<readonly ProposedFile[]> => {
    const proposed = changed.map(async ({ change, name, composition }): Promise<ProposedFile[]> => {
      const file = `${directory}/${name}`;
      const text = await read(file);
      const record = pruneRecord(change(text === null ? null : parseBaselineRecord(JSON.parse(text), file)));
      // The branch may have sessions that the working tree lacks, and so another epoch.
      const peak = composition && withEpoch(composition, record.epochs.at(-1)?.opened ?? "");
      const beside = peak === null ? [] : [{ path: peakName(file), content: peak }];
      return [{ path: file, content: serializeRecord(record) }, ...beside];
    });
    return (await Promise.all(proposed)).flat();
  };
  const title = `Memory baselines of the main branch${settings.key === "default" ? "" : ` (${settings.key})`}`;
  const parts = nightly.scenarios.flatMap(({ report, sessionOutcome, entry }) => [
    `### ${md(report.scenario, 80)}`,
    "",
    `Verdict **${report.verdict}**; the session ${md(sessionOutcomeText(sessionOutcome), 300)}.`,
    "",
    nightTable(nightsOf(nights, entry)),
    "",
  ]);
  return {
    branch: `stormlog/baselines-${keyName(settings.key)}`,
    base,
    title,
    message: title,
    body: [
      "Sessions that the nightly run measured. Later sessions are added until this is merged.",
      "GitHub starts no checks for a pull request that a job has opened: close it and open it again to start them.",
      "",
      ...parts,
    ].join("\n"),
    files,
  };
}
