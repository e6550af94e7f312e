import { formatShort } from "../../core/units.ts";
import type { ScenarioReport } from "../model/gate-report.ts";
import { couldDetect } from "./could-detect.ts";

/** The smallest changes that the runs could detect: "+2.00 MiB at the peak, 8.00 MiB of growth". Null when unknown. */
export function detectable(scenario: ScenarioReport): string | null {
  const { peak, growth } = couldDetect(scenario);
  const parts: string[] = [];
  if (peak !== null) parts.push(`+${formatShort(peak)} at the peak`);
  if (growth !== null) parts.push(`${formatShort(growth)} of growth`);
  return parts.length === 0 ? null : parts.join(", ");
}
