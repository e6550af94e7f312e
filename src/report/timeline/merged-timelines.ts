import type { ScenarioReport } from "../model/gate-report.ts";
import { byUrgency } from "../model/severity.ts";

/** Points of all stored timelines together: about 20 MB of JSON, a third of the size limit of a report. */
const MAX_POINTS = 1_000_000;

/** A stored series has at most this many points. */
const STORED_POINTS = 800;

/**
 * The scenarios, the least urgent without timelines where all have more than `most` points, so that the report of
 * hundreds of legs can be read back. The run directories still contain the samples.
 */
export function withBoundedTimelines(
  scenarios: readonly ScenarioReport[],
  most: number = MAX_POINTS,
): readonly ScenarioReport[] {
  let left = most;
  const kept = new Set<ScenarioReport>();
  for (const scenario of byUrgency(scenarios)) {
    const points = (scenario.timeline?.series ?? []).reduce(
      (sum, { time_s, steps }) => sum + (steps === undefined ? 2 : 3) * Math.min(time_s.length, STORED_POINTS),
      0,
    );
    if (points > left) continue;
    left -= points;
    kept.add(scenario);
  }
  return scenarios.map((scenario) => (kept.has(scenario) ? scenario : { ...scenario, timeline: null }));
}
