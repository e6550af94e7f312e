import { AllocatorKind } from "../../sampler/record-layout.ts";
import { type DeviceBackend, type DeviceReport, vendorOf } from "../../sampler/sampler.ts";
import type { DeviceVisibility, ProbeInfo } from "../../telemetry/reading/probe-info.ts";
import type { ProbeDevice, ProbeProcess } from "../../telemetry/recording/model.ts";
import { KIND_NAMES } from "../../telemetry/recording/probe-devices.ts";
import type { RecordFile } from "../../telemetry/recording/record-columns.ts";

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

/** A device as a process sees it. */
interface OwnDevice {
  /** Its number as the process counts. */
  readonly index: number;
  readonly uuid: string | null;
  readonly pciBusId: string | null;
}

/** A UUID without the prefix of the vendors' libraries, which frameworks leave out. */
const bareUuid = (uuid: string): string => uuid.toLowerCase().replace(/^(gpu-|mig-|0x)/, "");

/** "00000000:3B:00.0" and "0000:3b:00.0" are one address. */
function address(pciBusId: string | null): string | null {
  const match = /^(?:([0-9a-f]{1,8}):)?([0-9a-f]{1,2}):([0-9a-f]{1,2})(?:\.([0-7]))?$/i.exec(pciBusId?.trim() ?? "");
  if (match === null) return null;
  const [, domain = "0", bus = "", slot = "", part = "0"] = match;
  return [domain, bus, slot, part].map((digits) => Number.parseInt(digits, 16)).join(":");
}

/** Comma-separated entries; what follows an empty or negative one is not visible either. */
function entriesOf(text: string): readonly string[] {
  const entries = text.split(",").map((entry) => entry.trim());
  const end = entries.findIndex((entry) => entry === "" || entry.startsWith("-"));
  return end < 0 ? entries : entries.slice(0, end);
}

const isNumber = (entry: string): boolean => /^\d{1,4}$/.test(entry);
const parentOf = ({ parent }: DeviceReport): number | null => parent ?? null;

/** The one device for which a test holds; null for none or several. */
function only(drivers: readonly DeviceReport[], test: (driver: DeviceReport) => boolean): DeviceReport | null {
  const found = drivers.filter(test);
  return found.length === 1 ? found[0]! : null;
}

/** Frameworks count the fastest first by default, drivers by PCI address: one order where all devices are alike. */
const allAlike = (drivers: readonly DeviceReport[]): boolean =>
  new Set(drivers.map(({ model, total_bytes: total }) => `${model} ${total}`)).size <= 1;

/** A GPU that is split into instances is used through one of them, which is known only where there is one. */
function instanceOf(gpu: DeviceReport | null, drivers: readonly DeviceReport[]): DeviceReport | null {
  if (gpu === null) return null;
  const instances = drivers.filter((driver) => parentOf(driver) === gpu.index);
  if (instances.length === 0) return gpu;
  return instances.length === 1 ? instances[0]! : null;
}

/** The start of a UUID, as CUDA takes it; the older form of a MIG instance ("MIG-GPU-…/1/0") only whole. */
function byPrefix(entry: string, drivers: readonly DeviceReport[]): DeviceReport | null {
  const start = bareUuid(entry);
  if (start === "") return null;
  const wanted = /^mig-/i.test(entry);
  const matching = (driver: DeviceReport): boolean =>
    driver.uuid !== null && (parentOf(driver) !== null) === wanted && bareUuid(driver.uuid).startsWith(start);
  return instanceOf(only(drivers, matching), drivers);
}

function nvidia(
  device: OwnDevice,
  { cuda, order }: DeviceVisibility,
  drivers: readonly DeviceReport[],
): DeviceReport | null {
  const entry = cuda === null || cuda.trim() === "" ? String(device.index) : entriesOf(cuda)[device.index];
  const named = entry !== undefined && !isNumber(entry) ? byPrefix(entry, drivers) : null;
  // For an instance a process may get the UUID and address of its GPU. The entry is more precise then.
  if (named !== null && parentOf(named) !== null) return named;
  const identified = byIdentity(device, drivers);
  if (identified.known) return instanceOf(identified.driver, drivers);
  if (entry === undefined || !isNumber(entry)) return named;
  const gpus = drivers.filter((driver) => parentOf(driver) === null);
  if (order !== "PCI_BUS_ID" && !allAlike(gpus)) return null;
  return instanceOf(gpus.find(({ index }) => index === Number(entry)) ?? null, drivers);
}

interface Identified {
  /** The process reported the identity of the device. */
  readonly known: boolean;
  readonly driver: DeviceReport | null;
}

function byIdentity({ uuid, pciBusId }: OwnDevice, drivers: readonly DeviceReport[]): Identified {
  if (uuid !== null) {
    const driver = drivers.find((one) => one.uuid !== null && bareUuid(one.uuid) === bareUuid(uuid));
    if (driver !== undefined) return { known: true, driver };
  }
  const own = address(pciBusId);
  if (own !== null) {
    const driver = drivers.find((one) => parentOf(one) === null && address(one.pci_bus_id ?? null) === own);
    if (driver !== undefined) return { known: true, driver };
  }
  return { known: uuid !== null, driver: null };
}

/** ROCm filters twice: first its runtime by ROCR_VISIBLE_DEVICES, then HIP among what is left. */
function amd(
  device: OwnDevice,
  { hip, cuda, rocr }: DeviceVisibility,
  drivers: readonly DeviceReport[],
): DeviceReport | null {
  // UUIDs of HIP differ from those of the kernel, so one without a match has no meaning.
  const { driver } = byIdentity(device, drivers);
  if (driver !== null) return driver;
  if (drivers.length === 1) return drivers[0]!;
  const pick = (text: string | null, index: number): string | undefined =>
    text === null || text.trim() === "" ? String(index) : entriesOf(text)[index];
  const own = pick(hip ?? cuda, device.index);
  if (own === undefined || !isNumber(own)) return own === undefined ? null : byPrefix(own, drivers);
  const entry = pick(rocr, Number(own));
  if (entry === undefined || !isNumber(entry)) return entry === undefined ? null : byPrefix(entry, drivers);
  // Graphics parts of a processor may or may not be counted.
  if (!allAlike(drivers) || drivers.some(({ unified }) => unified === true)) return null;
  return drivers[Number(entry)] ?? null;
}

/** @param seen the process's devices of this kind: more than the cards when tiles are devices of their own */
function intel(
  device: OwnDevice,
  { ze }: DeviceVisibility,
  drivers: readonly DeviceReport[],
  seen: number,
): DeviceReport | null {
  const { driver } = byIdentity(device, drivers);
  if (driver !== null) return driver;
  if (drivers.length === 1) return drivers[0]!;
  if (!allAlike(drivers) || drivers.some(({ unified }) => unified === true)) return null;
  if (ze === null || ze.trim() === "") return seen === drivers.length ? (drivers[device.index] ?? null) : null;
  const card = /^(\d{1,4})(\.\d{1,4})?$/.exec(entriesOf(ze)[device.index] ?? "")?.[1];
  return card === undefined ? null : (drivers[Number(card)] ?? null);
}

/**
 * The driver's number of a process's device: by UUID or PCI address where the process reports them, otherwise by the
 * variables that select devices, where that is reliable: where devices differ, the order of a framework is not that of
 * the driver. Null where it is unknown.
 */
export function driverIndex(
  device: OwnDevice,
  backend: DeviceBackend,
  visible: DeviceVisibility,
  drivers: readonly DeviceReport[],
  seen = 1,
): number | null {
  const own = drivers.filter((driver) => vendorOf(driver) === backend);
  switch (backend) {
    case "nvml":
      return nvidia(device, visible, own)?.index ?? null;
    case "amd":
      return amd(device, visible, own)?.index ?? null;
    case "intel":
      return intel(device, visible, own, seen)?.index ?? null;
    case "apple":
      return own.length === 1 ? own[0]!.index : null;
    default:
      return backend satisfies never;
  }
}
