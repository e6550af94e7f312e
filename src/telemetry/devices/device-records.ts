import { RecordSource } from "../../sampler/record-layout.ts";
import { GrowableColumns } from "../recording/growable.ts";
import type { DeviceLists, DeviceProcessPeak, RecordedDeviceEvent, RecordFile } from "../recording/record-columns.ts";
import type { RecordValues } from "../recording/recorded-streams.ts";

/** More devices than any machine has. A damaged file could name millions. */
const MAX_DEVICES = 512;
/** Maximum number of marks and events that are kept. Further ones are only counted. */
const MAX_LISTED = 20_000;

const sampleColumns = () => new GrowableColumns("timeNs", "used", "total", "free", "driver");

/** The process lists of one device: entries are collected until the record that ends the list. */
class ListsBuilder {
  readonly #lists = new GrowableColumns("timeNs", "ends");
  readonly #entries = new GrowableColumns("pids", "bytes", "owners");
  #pending = new Map<number, { readonly pid: number; bytes: number; readonly owner: number }>();
  #pendingNs = -1;
  #pendingCount = 0;

  /** Returns the number of dropped entries of an unfinished list before this one. */
  entry(timeNs: number, pid: number, bytes: number, owner: number): number {
    let dropped = 0;
    if (timeNs !== this.#pendingNs) {
      dropped = this.#pending.size;
      this.#pending.clear();
      this.#pendingNs = timeNs;
      this.#pendingCount = 0;
    }
    this.#pendingCount++;
    const known = this.#pending.get(pid);
    // A process is in several of the driver's lists (compute, graphics), each with all of its memory.
    if (known === undefined) this.#pending.set(pid, { pid, bytes, owner });
    else if (!(bytes <= known.bytes) && !Number.isNaN(bytes)) known.bytes = bytes;
    return dropped;
  }

  /** False for a list that runs backwards, or with missing entries, whose owners are unknown. */
  end(timeNs: number, announced: number): boolean {
    const own = timeNs === this.#pendingNs;
    const entries = own ? [...this.#pending.values()] : [];
    const whole = Number.isNaN(announced) || (own ? this.#pendingCount : 0) >= announced;
    this.#pending.clear();
    this.#pendingNs = -1;
    if (timeNs < this.#lists.last() || !whole) return false;
    for (const { pid, bytes, owner } of entries) {
      this.#entries.push(pid, bytes, owner);
    }
    this.#lists.push(timeNs, this.#entries.length);
    return true;
  }

  take(): Omit<DeviceLists, "index"> {
    return { ...this.#lists.take(), ...this.#entries.take() };
  }
}

/** Collects device records; each method returns false for an invalid one. `dropped`: entries of unfinished lists. */
export class DeviceRecords {
  readonly #devices = new Map<number, ReturnType<typeof sampleColumns>>();
  readonly #lists = new Map<number, ListsBuilder>();
  readonly #peaks = new Map<string, DeviceProcessPeak>();
  readonly #events: RecordedDeviceEvent[] = [];
  /** Entries of process lists without an end. */
  dropped = 0;

  sample(timeNs: number, id: number, values: RecordValues): boolean {
    const device = found(this.#devices, id, sampleColumns);
    device?.push(timeNs, ...values);
    return device !== undefined;
  }

  /**
   * @param source a {@link RecordSource}: NVIDIA's driver reports 0 when unknown, and a process on a device uses more
   * than 0
   */
  process(timeNs: number, pid: number, source: number, [bytes, index, owner]: RecordValues): boolean {
    if (pid <= 0) return false;
    const lists = found(this.#lists, index, () => new ListsBuilder());
    if (lists === undefined) return false;
    const known = source === RecordSource.nvml && bytes === 0 ? Number.NaN : bytes;
    this.dropped += lists.entry(timeNs, pid, known, owner === 1 || owner === 0 ? owner : Number.NaN);
    return true;
  }

  list(timeNs: number, id: number, [announced]: RecordValues): boolean {
    return found(this.#lists, id, () => new ListsBuilder())?.end(timeNs, announced) ?? false;
  }

  processPeak(pid: number, source: number, [bytes, index, ended]: RecordValues): boolean {
    if (pid <= 0 || !isIndex(index)) return false;
    // The driver reports 0 when it kept no account.
    if (Number.isNaN(bytes) || bytes === 0) return true;
    const key = `${index} ${pid}`;
    const known = this.#peaks.get(key);
    if (known === undefined && this.#peaks.size >= MAX_LISTED) return true;
    this.#peaks.set(key, {
      index,
      pid,
      source,
      bytes: Math.max(bytes, known?.bytes ?? 0),
      ended: ended === 1 || known?.ended === true,
    });
    return true;
  }

  event(timeNs: number, index: number, source: number, [kind, code]: RecordValues): boolean {
    if (Number.isNaN(kind)) return false;
    if (this.#events.length < MAX_LISTED) {
      this.#events.push({ timeNs, index, source, kind, code: Number.isNaN(code) ? null : code });
    }
    return true;
  }

  take(): Pick<RecordFile, "devices" | "lists" | "processPeaks" | "deviceEvents"> {
    return {
      devices: ordered(this.#devices).map(([index, device]) => ({ index, ...device.take() })),
      lists: ordered(this.#lists)
        .map(([index, lists]) => ({ index, ...lists.take() }))
        .filter(({ timeNs }) => timeNs.length > 0),
      processPeaks: [...this.#peaks.values()],
      deviceEvents: this.#events,
    };
  }
}

const isIndex = (index: number): boolean => Number.isInteger(index) && index >= 0 && index < 2 ** 31;

function found<T>(map: Map<number, T>, index: number, make: () => T): T | undefined {
  const known = map.get(index);
  if (known !== undefined || !isIndex(index) || map.size >= MAX_DEVICES) return known;
  const made = make();
  map.set(index, made);
  return made;
}

const ordered = <T>(map: ReadonlyMap<number, T>): [number, T][] => [...map].sort(([a], [b]) => a - b);
