import type { Recording } from "../../telemetry/recording/model.ts";
import type { Finding } from "../series/document.ts";

/** Classification of a GPU whose allocator was read but whose driver was not. */
const DEVICE_UNREAD = "device_unread";

const known = (column: Float64Array | undefined): boolean => column?.some((value) => !Number.isNaN(value)) === true;

/**
 * A program used an NVIDIA GPU whose driver could not be read. Only the allocator's series exist, and memory outside
 * the allocator is unknown. No verdict depends on this finding. It warns against trusting the absence of other
 * findings.
 */
export function unreadDeviceFindings({ info, tables }: Recording): Finding[] {
  const source = info?.sources.find(({ name }) => name === "nvml");
  if (info === null || source === undefined || info.fingerprint.backend !== "cuda") return [];
  const allocators = tables.find(({ device, columns }) => device !== "host" && known(columns.reserved));
  const driver = tables.some(({ device, columns }) => device !== "host" && (known(columns.used) || known(columns.job)));
  if (allocators === undefined || driver) return [];
  const devices = (info.devices ?? []).filter(({ backend }) => backend === "nvml");
  const reason = devices.find((device) => device.reason !== null)?.reason ?? source.reason;
  if (reason === null) return [];
  return [
    {
      classification: DEVICE_UNREAD,
      severity: "info",
      confidence: 1,
      rank: allocators.rank,
      device: allocators.device,
      metric: "used",
      evidence: { source: source.name, reason },
      description: `The program used a GPU whose driver could not be read: ${reason}.`,
      remediation: ["Run `stormlog-gate doctor` on this machine. It explains the reason and what to do."],
    },
  ];
}
