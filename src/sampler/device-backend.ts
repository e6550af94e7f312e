import type { DeviceBackend, DeviceReport } from "./sampler.ts";

/** The vendor of a device, derived from its name for samplers that do not report it. */
export function vendorOf({ backend, name }: DeviceReport): DeviceBackend {
  if (backend !== undefined) return backend;
  if (name.startsWith("mps:")) return "apple";
  if (name.startsWith("xpu:")) return "intel";
  return name.startsWith("amd:") ? "amd" : "nvml";
}
