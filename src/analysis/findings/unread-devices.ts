import type { Recording } from "../../telemetry/recording/model.ts";
import type { Finding } from "../document.ts";

/** Classification of a GPU whose allocator was read and whose driver was not. */
export const DEVICE_UNREAD = "device_unread";

const known = (column: Float64Array | undefined): boolean => column?.some((value) => !Number.isNaN(value)) === true;

/**
 * A program used an NVIDIA GPU, and nothing of the GPU itself could be read: the allocator's numbers stand alone, and
 * what hides outside of it is not seen. Nothing that a verdict rests on, but what a person should know before trusting
 * the silence.
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
      description: `The program used the GPU, but of the GPU itself nothing was read: ${reason}.`,
      remediation: ["Ask stormlog-gate doctor on this machine: it says what that means here, and what to do."],
    },
  ];
}
