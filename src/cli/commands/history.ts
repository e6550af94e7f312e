import path from "node:path";
import { fingerprintHash } from "../../baseline/identity.ts";
import { storeOf } from "../../baseline/load.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { oneLine } from "../../core/text.ts";
import { treeBelow } from "../../core/tree.ts";
import { readAnchors } from "../../gate/scenario/anchor-file.ts";
import { viewRepository } from "../../git/repository-view.ts";
import { historyLines } from "../../history/history-text.ts";
import { onMainLine, readBundleSessions, readStoreSessions } from "../../history/read-sessions.ts";
import { type ScenarioHistory, scenarioHistories } from "../../history/scenario-history.ts";
import type { Invocation } from "../console/command.ts";
import { writeOutputFile } from "../console/console.ts";
import { rootOf } from "../console/gate-request.ts";
import { chosenStore } from "./baseline.ts";

/** The bundles at or below a directory; empty where it has none. */
function bundlesBelow(directory: string): readonly string[] {
  // Thousands of bundles, each with tens of files.
  const files = treeBelow(directory, 1_000_000).entries.map((entry) => path.join(directory, entry.path));
  const manifests = files.filter((file) => path.basename(file) === "manifest.json");
  return manifests.map((file) => path.dirname(file)).sort();
}

/** The sessions of a store or of the bundles below a directory, and whether they were reviewed with the branch. */
async function readSource(invocation: Invocation, root: string) {
  const [source] = invocation.positionals;
  const isStore = source === undefined || /^(?:file|ref):/.test(source);
  const bundles = isStore ? [] : bundlesBelow(path.resolve(root, source));
  if (bundles.length > 0) return { read: await readBundleSessions(bundles), isReviewed: false };
  const store = source === undefined ? chosenStore(invocation) : storeOf(isStore ? source : `file:${source}`, root);
  return { read: await readStoreSessions(store, root), isReviewed: store.kind === "file" };
}

/** A history for programs: the number of runs, not the runs. The changes have the indexes of points. */
function withoutRuns({ series, sessions, ...scenario }: ScenarioHistory) {
  const pointsOf = ({ points }: ScenarioHistory["series"][number]) =>
    points.map(({ session, value }) => ({ ...session, runs: session.runs.length, value }));
  return { ...scenario, sessions: sessions.length, series: series.map((one) => ({ ...one, points: pointsOf(one) })) };
}

export async function history(invocation: Invocation): Promise<number> {
  const { console, text } = invocation;
  const repository = await viewRepository(rootOf(invocation), process.env);
  const { read, isReviewed } = await readSource(invocation, rootOf(invocation));
  const { sessions, positions, notes } = await onMainLine(read, repository, isReviewed);
  const { anchors } = await readAnchors(repository);
  const histories = scenarioHistories(
    sessions,
    (scenario, environment) =>
      anchors.find((one) => one.scenario === scenario && fingerprintHash(one.fingerprint) === environment) ?? null,
  );
  for (const line of historyLines(histories, positions)) console.print(escapeTerminal(line));
  for (const note of notes) console.print(escapeTerminal(`note: ${oneLine(note)}`));
  if (text.html !== undefined) {
    const { renderHistoryHtml } = await import("../../history/history-html.ts");
    writeOutputFile(path.resolve(text.html), renderHistoryHtml(histories, positions));
  }
  console.document({ scenarios: histories.map(withoutRuns), notes });
  return ExitCode.pass;
}
