import { oneLine, plural } from "../core/text.ts";
import { formatSize, metricLabel } from "../telemetry/recording/metrics.ts";
import type { Change } from "./changes.ts";
import type { MetricHistory, ScenarioHistory } from "./scenario-history.ts";
import type { RunSession } from "./sessions.ts";

/** Fewer sessions seldom show a change: their orders are too few for the permutation test. */
const MIN_SESSIONS = 20;

/** "a1b2c3d4e5f6"; the time where the commit is not known. */
export const sessionName = ({ commit, time }: RunSession): string => commit?.slice(0, 12) ?? time;

/** "host peak" */
export const seriesName = ({ metric, quantity }: MetricHistory): string => `${metricLabel(metric)} ${quantity}`;

/** "train"; with the environment where the scenario has several. */
export function historyName({ scenario, environment }: ScenarioHistory, all: readonly ScenarioHistory[]): string {
  const several = all.filter((one) => one.scenario === scenario).length > 1;
  return oneLine(several ? `${scenario} (environment ${environment})` : scenario);
}

/**
 * "+10.1 % (36.9 MiB, was 33.5 MiB) at a1b2c3d4e5f6, one of 3 commits since 0f1e2d3c4b5a"; not escaped.
 * @param positions of commits on their branch
 */
export function changeText(
  { metric, quantity, points }: MetricHistory,
  { kind, from, at, before, after }: Change,
  positions: ReadonlyMap<string, number>,
): string {
  const share = `${after > before ? "+" : ""}${((100 * (after - before)) / before).toFixed(1)} %`;
  const moved = quantity === "peak" && before > 0 ? share : formatSize(metric, after - before, "delta");
  const level = `${moved} (${formatSize(metric, after, "short")}, was ${formatSize(metric, before, "short")})`;
  const [first, last] = [points[from]!.session, points[at]!.session];
  // NaN where the line lacks one of them.
  const count = positions.get(last.commit ?? "")! - positions.get(first.commit ?? "")!;
  const commits = count > 0 ? plural(count, "commit") : plural(at - from, "session");
  const accepted = points.slice(from + 1, at + 1).flatMap(({ session }) => session.accepted ?? []);
  const note = accepted.length === 0 ? "" : `, accepted: ${oneLine(accepted.join("; "))}`;
  if (kind === "creep")
    return `${level} in small steps from ${sessionName(first)} to ${sessionName(last)}, ${commits}${note}`;
  const since = count > 1 ? `, one of ${commits} since ` : ", after ";
  return `${level} at ${sessionName(last)}${since}${sessionName(first)}${note}`;
}

/** A line for each series that changed; one for each scenario where none did. Not escaped. */
export function historyLines(
  histories: readonly ScenarioHistory[],
  positions: ReadonlyMap<string, number>,
): readonly string[] {
  return histories.flatMap((history) => {
    const name = historyName(history, histories);
    const changed = history.series.filter(({ changes }) => changes.length > 0);
    if (changed.length === 0) return [`${name}: ${stillText(history)}`];
    return changed.map((series) => {
      const changes = series.changes.map((change) => changeText(series, change, positions));
      return `${name}: ${seriesName(series)} ${changes.join("; then ")}`;
    });
  });
}

/** What can be said of a scenario in which no change was found. */
export function stillText({ sessions }: ScenarioHistory): string {
  const runs = sessions.reduce((sum, one) => sum + one.runs.length, 0);
  const seen = `${plural(sessions.length, "session")} (${plural(runs, "run")})`;
  return sessions.length < MIN_SESSIONS
    ? `${seen}; fewer than ${MIN_SESSIONS} sessions rarely show a change`
    : `no change in ${seen}`;
}
