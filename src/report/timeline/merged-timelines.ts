import type { ScenarioReport } from "../documents/model.ts";
import { urgency } from "./timeline-model.ts";

/** Points of all stored timelines together: some 20 MB of JSON, a third of what a report may have. */
const MAX_POINTS = 1_000_000;

/** A stored series has at most this many points. */
const STORED_POINTS = 800;

/**
 * Scenarios with the timelines of the worst of them: a report of hundreds of legs must stay one that can be read again. The
 * others' samples are in the runs.
 */
export function withBoundedTimelines(
  scenarios: readonly ScenarioReport[],
  most: number = MAX_POINTS,
): readonly ScenarioReport[] {
  let left = most;
  const kept = new Set<ScenarioReport>();
  for (const scenario of [...scenarios].sort((a, b) => urgency(a) - urgency(b))) {
    const points = (scenario.timeline?.series ?? []).reduce(
      (sum, { time_s }) => sum + 2 * Math.min(time_s.length, STORED_POINTS),
      0,
    );
    if (points > left) continue;
    left -= points;
    kept.add(scenario);
  }
  return scenarios.map((scenario) => (kept.has(scenario) ? scenario : { ...scenario, timeline: null }));
}
