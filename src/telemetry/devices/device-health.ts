import { DeviceEvent, RecordSource } from "../../sampler/record-layout.ts";
import type { RecordingMark } from "../recording/model.ts";
import type { RecordedError, RecordFile } from "../recording/record-columns.ts";
import type { DeviceHealth } from "../recording/recorded-device.ts";
import type { SurveyedDevice } from "./device-survey.ts";

/** NVML's return codes about the state of a device (nvmlReturn_t). */
const NVML_KINDS: Readonly<Record<number, DeviceHealth["kind"]>> = {
  1: "unreachable",
  9: "unreachable",
  15: "lost",
  16: "reset-required",
  18: "driver-mismatch",
  28: "lost",
  999: "unreachable",
};
/** ENODEV. */
const NO_DEVICE = 19;
/** With ENOENT and ENXIO: the files of a card are gone with it. */
const GONE = new Set([2, 6, NO_DEVICE]);

const EVENT_KINDS: Readonly<Record<DeviceEvent, DeviceHealth["kind"]>> = {
  [DeviceEvent.xid]: "xid",
  [DeviceEvent.doubleBitEcc]: "ecc",
  [DeviceEvent.unavailable]: "unavailable",
  [DeviceEvent.rowRemap]: "row-remap",
  [DeviceEvent.capacityChanged]: "capacity-changed",
  [DeviceEvent.countChanged]: "count-changed",
  [DeviceEvent.stalled]: "stalled",
  [DeviceEvent.recovered]: "recovered",
};

const isEvent = (kind: number): kind is DeviceEvent => Object.hasOwn(EVENT_KINDS, kind);

/** Kinds whose number is part of the event: each number is a separate entry. */
const NUMBERED = new Set<DeviceHealth["kind"]>(["xid", "lost", "unreachable"]);
/** Limit for a broken device that sends many different ones. */
const MAX_KINDS = 256;

/** The device of an entry that concerns all devices of a driver. */
export const ALL_DEVICES = "all";

interface Happening {
  readonly timeNs: number;
  readonly index: number;
  readonly kind: DeviceHealth["kind"];
  readonly code: number | null;
  readonly count: number;
  /** Counts are cumulative. */
  readonly running: boolean;
}

function ofError({ timeNs, source, id, errno, detail, seen }: RecordedError): Happening[] {
  const happened = (kind: DeviceHealth["kind"], code: number): Happening[] => [
    { timeNs, index: id, kind, code, count: seen, running: true },
  ];
  switch (source) {
    case RecordSource.nvml: {
      const kind = NVML_KINDS[detail];
      return kind === undefined ? [] : happened(kind, detail);
    }
    case RecordSource.kfd:
    case RecordSource.fdinfo:
      // A failed list has no device, and other errors here are about processes, whose ids are not device numbers.
      return id >= 0 && errno === NO_DEVICE ? happened("lost", errno) : [];
    case RecordSource.amd:
    case RecordSource.apple:
      return GONE.has(errno) ? happened("lost", errno) : [];
    default:
      return [];
  }
}

/** Events of the devices during the measurement: one entry for each kind, at its first time. */
export function deviceHealth(file: RecordFile, devices: readonly SurveyedDevice[]): DeviceHealth[] {
  const places = new Map(devices.map(({ index, place }) => [index, place]));
  const events = file.deviceEvents.flatMap(({ timeNs, index, kind, code }): Happening[] =>
    isEvent(kind) ? [{ timeNs, index, kind: EVENT_KINDS[kind], code, count: 1, running: false }] : [],
  );
  const found = new Map<string, Happening>();
  for (const one of [...file.errors.flatMap(ofError), ...events].sort((a, b) => a.timeNs - b.timeNs)) {
    // An error with a number that is not a device's.
    if (one.index >= 0 && !places.has(one.index)) continue;
    const key = `${one.index} ${one.kind} ${NUMBERED.has(one.kind) ? one.code : ""}`;
    const known = found.get(key);
    if (known === undefined) {
      if (found.size < MAX_KINDS) found.set(key, one);
      continue;
    }
    const lasting = one.kind === "stalled" || one.kind === "recovered";
    const longest = lasting && (one.code ?? 0) > (known.code ?? 0) ? one.code : known.code;
    const count = one.running ? Math.max(known.count, one.count) : known.count + one.count;
    found.set(key, { ...known, code: longest, count });
  }
  const own = devices[0]?.place.rank ?? 0;
  return [...found.values()].map(({ timeNs, index, kind, code, count }): DeviceHealth => {
    const place = places.get(index) ?? { rank: own, name: ALL_DEVICES };
    return { timeNs, rank: place.rank, device: place.name, kind, code, count };
  });
}

/** Text of an event's mark; null when the error's own mark contains it. */
const MARK_TEXTS: Readonly<Record<DeviceHealth["kind"], string | null>> = {
  xid: "Xid",
  ecc: "uncorrectable memory error",
  "row-remap": "rows of memory replaced",
  unavailable: "unavailable",
  "capacity-changed": "another size",
  "count-changed": "another number of devices",
  stalled: "the driver does not answer",
  recovered: "the driver answers again",
  lost: null,
  "reset-required": null,
  "driver-mismatch": null,
  unreachable: null,
};

/** Marks of the device events. */
export function healthMarks(health: readonly DeviceHealth[]): RecordingMark[] {
  return health.flatMap(({ timeNs, device, kind, code }): RecordingMark[] => {
    const text = MARK_TEXTS[kind];
    const number = kind === "xid" ? ` ${code ?? "?"}` : "";
    return text === null ? [] : [{ timeNs, kind: "source-error", text: `${device}: ${text}${number}` }];
  });
}
