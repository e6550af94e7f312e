import { formatBytes } from "../../core/units.ts";
import type { Attribution } from "../../telemetry/devices/recorded-device.ts";
import type { Finding } from "../document.ts";
import type { AnalysedSeries } from "../series-analysis.ts";
import { type DeviceEvidence, locationKey } from "./device-evidence.ts";

/** Classification of memory of somebody else's that moved on a measured device. */
export const OTHER_TENANT = "other_tenant";

/** What is left of the job's own memory when the device's cannot be believed. */
const LEFT: Readonly<Record<Attribution, string>> = {
  pid: "The driver tells the job's own processes apart; what it counts as theirs is not touched.",
  "single-new-pid": "What the driver counts as the job's one process is not touched.",
  "device-delta": "Nothing tells the job's share apart: the run's used memory is no evidence of it.",
  none: "Nothing tells the job's share apart: the run's used memory is no evidence of it.",
};

/** Somebody else's memory moved on a device while it was measured. */
export function tenantFindings(devices: readonly DeviceEvidence[]): Finding[] {
  return devices.flatMap(({ recorded, tenants, touched, used }): Finding[] => {
    if (!touched || tenants === null) return [];
    const moved = tenants.peakBytes - tenants.lowestBytes;
    return [
      {
        classification: OTHER_TENANT,
        severity: used ? "warning" : "info",
        confidence: 1,
        rank: recorded.rank,
        device: recorded.name,
        metric: "used",
        evidence: {
          moved_bytes: moved,
          others_first_bytes: tenants.firstBytes,
          others_lowest_bytes: tenants.lowestBytes,
          others_peak_bytes: tenants.peakBytes,
          attribution: recorded.attribution,
          used_is_evidence: false,
        },
        description: `Processes of somebody else on the device moved its used memory by ${formatBytes(moved)} while it was measured. ${used ? LEFT[recorded.attribution] : "The job is not known to use this device."}`,
        remediation: [
          "Measure on a device that nobody else uses: one job a GPU, or a MIG instance of its own.",
          "Measure again; budgets and baselines of used memory are not judged by this run.",
        ],
      },
    ];
  });
}

/** Without the used memory of devices that somebody else moved, or that the job does not use. */
export function withoutUnknownTenants(
  series: readonly AnalysedSeries[],
  devices: readonly DeviceEvidence[],
): AnalysedSeries[] {
  const strange = new Set(
    devices.flatMap(({ recorded: { rank, name }, touched, used }) =>
      touched || !used ? [locationKey({ rank, device: name })] : [],
    ),
  );
  return series.filter(({ analysis }) => analysis.metric !== "used" || !strange.has(locationKey(analysis)));
}

/** Rank and device of the used memory that a document says is no evidence. */
export function unreliableDevices(findings: readonly Finding[]): ReadonlySet<string> {
  return new Set(
    findings.flatMap((finding) =>
      finding.classification === OTHER_TENANT && finding.evidence.used_is_evidence === false
        ? [locationKey(finding)]
        : [],
    ),
  );
}
