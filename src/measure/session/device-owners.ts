import { AllocatorKind } from "../../sampler/record-layout.ts";
import { type DeviceBackend, type DeviceReport, vendorOf } from "../../sampler/sampler.ts";
import type { ProbeInfo } from "../../telemetry/reading/probe-info.ts";
import type { ProbeDevice, ProbeProcess } from "../../telemetry/recording/model.ts";
import { KIND_NAMES } from "../../telemetry/recording/probe-devices.ts";
import type { RecordFile } from "../../telemetry/recording/record-columns.ts";
import { driverIndex } from "./device-mapping.ts";

/** The vendor of a device, by its name in the recording; null when no driver counts it. */
function backendOfDevice({ name }: ProbeDevice, { versions }: ProbeProcess): DeviceBackend | null {
  if (name.startsWith("cuda:")) return versions.hip === undefined ? "nvml" : "amd";
  if (name.startsWith("xpu:")) return "intel";
  return name.startsWith("mps:") ? "apple" : null;
}

const ownIndex = (device: ProbeDevice): number => Number(device.own_name.slice(device.own_name.indexOf(":") + 1));

/** The process of an info file with its devices found among the driver's. */
export function withDriverIndex(
  { process, visible, pciBusIds }: ProbeInfo,
  drivers: readonly DeviceReport[],
): ProbeProcess {
  const backends = process.devices.map((device) => backendOfDevice(device, process));
  return {
    ...process,
    devices: process.devices.map((device, i) => {
      const backend = backends[i] ?? null;
      if (backend === null) return device;
      const own = { index: ownIndex(device), uuid: device.uuid, pciBusId: pciBusIds.get(device.own_name) ?? null };
      const seen = backends.filter((other) => other === backend).length;
      return { ...device, driver_index: driverIndex(own, backend, visible, drivers, seen) };
    }),
  };
}

/** On which of the driver's devices each process was listed. */
function listedOn({ lists }: Pick<RecordFile, "lists">): ReadonlyMap<number, ReadonlySet<number>> {
  const found = new Map<number, Set<number>>();
  for (const { index, pids, owners } of lists) {
    for (let i = 0; i < pids.length; i++) {
      if (owners[i] !== 1) continue;
      const own = found.get(pids[i]!);
      if (own) own.add(index);
      else found.set(pids[i]!, new Set([index]));
    }
  }
  return found;
}

/** For devices that processes cannot distinguish: the only device on whose driver's list the process appears. */
export function withListedDevices(
  processes: readonly ProbeProcess[],
  drivers: readonly DeviceReport[],
  file: Pick<RecordFile, "lists" | "streams">,
): ProbeProcess[] {
  const listed = listedOn(file);
  return processes.map((process) => {
    const used = new Set(
      file.streams.flatMap(({ pid, kind, index }) =>
        pid === process.pid && kind !== AllocatorKind.hostHeap ? [`${KIND_NAMES[kind]}:${index}`] : [],
      ),
    );
    const lost = process.devices.filter(
      (device) =>
        device.driver_index === null && used.has(device.own_name) && backendOfDevice(device, process) !== null,
    );
    const [device, ...more] = lost;
    if (device === undefined || more.length > 0) return process;
    const known = new Set(process.devices.map(({ driver_index: index }) => index));
    const backend = backendOfDevice(device, process);
    const candidates = drivers.filter(
      (driver) =>
        vendorOf(driver) === backend && !known.has(driver.index) && listed.get(process.pid)?.has(driver.index),
    );
    if (candidates.length !== 1) return process;
    const index = candidates[0]!.index;
    return {
      ...process,
      devices: process.devices.map((one) => (one === device ? { ...one, driver_index: index } : one)),
    };
  });
}
