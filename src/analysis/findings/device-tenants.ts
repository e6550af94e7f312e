import { formatBytes } from "../../core/units.ts";
import type { DeviceAttribution } from "../../telemetry/recording/recorded-device.ts";
import type { AnalysedSeries } from "../growth/series-analysis.ts";
import type { Finding } from "../series/document.ts";
import { type DeviceEvidence, locationKey } from "./device-evidence.ts";

/** Classification of memory of other processes that changed on a measured device. */
const OTHER_TENANT = "other_tenant";

/** Evidence that remains about the job's memory when the device's used memory is not evidence. */
const LEFT: Readonly<Record<DeviceAttribution, string>> = {
  pid: "The driver reports the memory of the job's processes separately, and the memory that it reports for them is still judged.",
  "single-new-pid": "The memory that the driver reports for the job's only process is still judged.",
  "device-delta": "The job's share cannot be separated, so the run's used memory is not judged.",
  none: "The job's share cannot be separated, so the run's used memory is not judged.",
};

/** Reports memory of other processes that changed on a device while it was measured. */
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
        description: `Other processes on the device changed its used memory by ${formatBytes(moved)} during the measurement. ${used ? LEFT[recorded.attribution] : "The job is not known to use this device."}`,
        remediation: [
          "Measure on a device without other users: one job per GPU, or a separate MIG instance.",
          "Measure again. This run does not judge budgets and baselines of used memory.",
        ],
      },
    ];
  });
}

/** Without the used memory of devices that other processes changed, or that the job does not use. */
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

/** Rank and device of the used memory that a document marks as not evidence. */
export function unreliableDevices(findings: readonly Finding[]): ReadonlySet<string> {
  return new Set(
    findings.flatMap((finding) =>
      finding.classification === OTHER_TENANT && finding.evidence.used_is_evidence === false
        ? [locationKey(finding)]
        : [],
    ),
  );
}
