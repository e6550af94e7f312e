/** Stormlog's thresholds, in percent of the device's memory. */
export const WARNING_PERCENT = 80;
export const CRITICAL_PERCENT = 95;
/** An alert is repeated only after use fell this many points below its threshold. */
const REARM_POINTS = 5;

/** One crossing of a threshold. */
export interface Alert {
  readonly row: number;
  readonly level: "warning" | "critical";
  readonly percent: number;
}

/** Crossings of `allocated / total`. A level is reported once until use clearly fell; critical hides the warning. */
export function alertsOf(
  allocated: Float64Array,
  total: Float64Array | null,
  thresholds: { readonly warning: number; readonly critical: number },
): Alert[] {
  const alerts: Alert[] = [];
  if (!total) return alerts;
  let armed = { warning: true, critical: true };
  for (let row = 0; row < allocated.length; row++) {
    const percent = (100 * allocated[row]!) / total[row]!;
    if (!Number.isFinite(percent)) continue;
    armed = {
      warning: armed.warning || percent < thresholds.warning - REARM_POINTS,
      critical: armed.critical || percent < thresholds.critical - REARM_POINTS,
    };
    if (percent >= thresholds.critical && armed.critical) {
      alerts.push({ row, level: "critical", percent });
      armed = { warning: false, critical: false };
    } else if (percent >= thresholds.warning && percent < thresholds.critical && armed.warning) {
      alerts.push({ row, level: "warning", percent });
      armed = { ...armed, warning: false };
    }
  }
  return alerts;
}
