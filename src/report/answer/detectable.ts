import { formatShort } from "../../core/units.ts";
import type { Check } from "../../verdict/judgement.ts";
import type { ScenarioReport } from "../documents/model.ts";
import { decisiveRun } from "./decisive-run.ts";

/** The largest of the smallest changes that gating checks of one kind detect; null when none is known. Bytes. */
function smallest(checks: readonly Check[], aspect: Check["aspect"]): number | null {
  const known = checks.flatMap((check) =>
    // An anchor's margin limits how far releases may drift. It is not the resolution of this run.
    check.gating && check.limit !== "anchor" && check.aspect === aspect && check.mde_bytes !== null
      ? [check.mde_bytes]
      : [],
  );
  return known.length === 0 ? null : Math.max(...known);
}

/** The smallest changes that the runs could detect: "+2.00 MiB at the peak, 8.00 MiB of growth". Null when unknown. */
export function detectable(scenario: ScenarioReport): string | null {
  const checks = scenario.judgement?.checks ?? [];
  const peak = smallest(checks, "peak");
  const growth = smallest(checks, "growth") ?? ofRun(scenario, checks);
  const parts: string[] = [];
  if (peak !== null) parts.push(`+${formatShort(peak)} at the peak`);
  if (growth !== null) parts.push(`${formatShort(growth)} of growth`);
  return parts.length === 0 ? null : parts.join(", ");
}

/** The smallest growth that one run shows by itself, without a baseline. */
function ofRun({ runs }: ScenarioReport, checks: readonly Check[]): number | null {
  const known = checks.flatMap((check) => {
    const bytes = check.gating && check.aspect === "peak" ? decisiveRun(runs, check)?.series.mde_bytes : null;
    return bytes == null ? [] : [bytes];
  });
  return known.length === 0 ? null : Math.max(...known);
}
