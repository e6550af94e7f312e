import { epochOf, withEpoch } from "../attribution/peak/stored-peak.ts";
import type { BaselineStore } from "../baseline/store.ts";
import type { GateRequest } from "../config/gate-request.ts";
import { GateError } from "../core/errors.ts";
import type { GatePorts } from "../gate/ports/ports.ts";
import type { NightlyScenario } from "./nightly-run.ts";

/** What the peaks of scenarios consist of, as it is stored, by scenario. */
export type Compositions = ReadonlyMap<string, string>;

const openedOf = ({ stored }: NightlyScenario): string | null => stored?.record.epochs.at(-1)?.opened ?? null;

/** Whether the store has the composition of the epoch already. */
async function isKnown(store: BaselineStore, one: NightlyScenario): Promise<boolean> {
  const { peaks } = await store.list(one.scenario.name);
  const written = peaks?.get(one.stored?.name ?? "");
  return written !== undefined && epochOf(written) === openedOf(one);
}

/**
 * Run each of these scenarios once more whose epoch has no composition yet: one run for each new level. What could not
 * be measured is a note, since the session is stored without it.
 */
export async function measureCompositions(
  request: GateRequest,
  scenarios: readonly NightlyScenario[],
  store: BaselineStore,
  ports: GatePorts,
): Promise<{ readonly compositions: Compositions; readonly notes: readonly string[] }> {
  const compositions = new Map<string, string>();
  const notes: string[] = [];
  if (scenarios.length === 0) return { compositions, notes };
  const { measurePeak } = await import("../gate/refresh-peak.ts");
  for (const one of scenarios) {
    const { scenario, stored, report } = one;
    if (stored === null || ports.interrupt.aborted) continue;
    try {
      if (await isKnown(store, one)) continue;
      ports.log(`${scenario.name}: measuring what the peak consists of`);
      const lengths = report.runs.flatMap(({ info }) => info.clock.duration_s ?? []);
      const durationS = lengths.length === 0 ? null : Math.min(...lengths);
      compositions.set(scenario.name, await measurePeak(request, scenario, { ...stored, durationS }, ports));
    } catch (error) {
      if (!(error instanceof GateError)) throw error;
      notes.push(error.code === "COMPOSITION_UNMEASURED" ? error.message : `${scenario.name}: ${error.message}`);
    }
  }
  return { compositions, notes };
}

/** Store compositions beside the records of their scenarios. @returns why some are not stored */
export async function keepCompositions(
  compositions: Compositions,
  scenarios: readonly NightlyScenario[],
  store: BaselineStore,
): Promise<readonly string[]> {
  const notes: string[] = [];
  for (const one of scenarios) {
    const [written, opened] = [compositions.get(one.scenario.name), openedOf(one)];
    const text = written === undefined || opened === null ? null : withEpoch(written, opened);
    if (text === null || one.stored === null) continue;
    try {
      await store.keepPeak?.(one.stored.name, text);
    } catch (error) {
      if (!(error instanceof GateError)) throw error;
      notes.push(`${one.scenario.name}: its peak composition was not stored: ${error.message}`);
    }
  }
  return notes;
}
