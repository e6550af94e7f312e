import { invalidInput } from "../../core/errors.ts";
import {
  HEADER_BYTES,
  RECORD_BYTES,
  RECORD_MAGIC,
  type RecordFileHeader,
  RecordKind,
} from "../../sampler/record-layout.ts";
import { DeviceRecords } from "../devices/device-records.ts";
import { GrowableColumns } from "../recording/growable.ts";
import { readChunks } from "../recording/input-file.ts";
import { ProcessHistory } from "../recording/process-history.ts";
import type { RecordedError, RecordedRate, RecordedStop, RecordFile } from "../recording/record-columns.ts";
import { StreamsBuilder } from "../recording/recorded-streams.ts";
import { lostRings } from "../recording/source-errors.ts";
import { RECENT_ENDING, recentRecords } from "./recent-records.ts";

/** Maximum length of lists of single events (errors, rates). Further ones are only counted. */
const MAX_LISTED = 20_000;
/** This many bytes without one possible record are no longer skipped. */
const MAX_HOLE_BYTES = 1 << 20;
/** Times are doubles, exact below 2^53. A larger time is a damaged record. */
const HIGH_WORD_LIMIT = 2 ** 21;
/** Clock tick of Linux's `/proc`, which is 1/100 s on every architecture that a prebuild exists for. */
const TICK_NS = 1e7;

class RecordParser {
  readonly #tree = new GrowableColumns("timeNs", "rss", "anon", "shmem", "shmemMost", "processes", "ticks");
  readonly #cgroup = new GrowableColumns("timeNs", "current", "peak", "oomKills", "anonShmem");
  readonly #shared = new GrowableColumns("timeNs", "tookNs", "once", "mapped", "charged", "read", "unread");
  readonly #counts = new GrowableColumns("timeNs", "descriptors", "threads");
  readonly #devices = new DeviceRecords();
  readonly #processes = new ProcessHistory();
  readonly #streams = new StreamsBuilder();
  readonly #errors: RecordedError[] = [];
  readonly #rates: RecordedRate[] = [];
  #stop: RecordedStop | null = null;
  #lastNs = 0;
  #records = 0;
  #skipped = 0;
  #view: DataView = new DataView(new ArrayBuffer(0));
  #at = 0;
  readonly #header: RecordFileHeader;

  constructor(header: RecordFileHeader) {
    this.#header = header;
  }

  /** Value `i` (0 to 3) as a number; NaN when its valid bit is clear or it exceeds 2^53. */
  #value(i: number): number {
    if (((this.#view.getUint8(this.#at + 9) >> i) & 1) === 0) return Number.NaN;
    return u64(this.#view, this.#at + 16 + 8 * i);
  }

  /** When the kernel started the process that appeared at `timeNs`; that time where this is not known. */
  #bornNs(timeNs: number): number {
    const born = this.#value(1) * TICK_NS - Number(this.#header.monotonicStartNs);
    return born < timeNs ? born : timeNs;
  }

  get skipped(): number {
    return this.#skipped;
  }

  /** Records that follow those of the file; what the file has already is left out. */
  recent(bytes: Uint8Array): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const known = this.#lastNs;
    for (let at = 0; at < bytes.length; at += RECORD_BYTES) if (u64(view, at) > known) this.record(view, at);
  }

  get stopped(): boolean {
    return this.#stop !== null;
  }

  record(view: DataView, at: number): void {
    this.#view = view;
    this.#at = at;
    this.#records++;
    const timeNs = u64(view, at);
    const id = view.getInt32(at + 12, true);
    if (Number.isNaN(timeNs) || !this.#take(view.getUint8(at + 8), timeNs, id)) {
      this.#skipped++;
      return;
    }
    if (timeNs > this.#lastNs) this.#lastNs = timeNs;
  }

  /** False when the kind is unknown. */
  #take(kind: number, timeNs: number, id: number): boolean {
    switch (kind) {
      case RecordKind.tree: {
        const isCounted = (this.#view.getUint8(this.#at + 9) & 8) !== 0;
        const processes = isCounted ? this.#view.getUint32(this.#at + 40, true) : Number.NaN;
        this.#tree.push(
          timeNs,
          this.#value(0),
          this.#value(1),
          this.#value(2),
          this.#processes.mostShmem,
          processes,
          Math.max(1, id),
        );
        return true;
      }
      case RecordKind.process:
        this.#processes.reading(id, timeNs, this.#four());
        return true;
      case RecordKind.cgroup:
        this.#cgroup.push(timeNs, ...this.#four());
        return true;
      case RecordKind.hostShared:
        this.#shared.push(
          timeNs,
          id < 0 ? Number.NaN : id * 1000,
          ...this.#four().slice(0, 3),
          this.#view.getUint32(this.#at + 40, true),
          this.#view.getUint32(this.#at + 44, true),
        );
        return true;
      case RecordKind.counts:
        this.#counts.push(timeNs, this.#value(0), this.#value(1));
        return true;
      case RecordKind.device:
        return this.#devices.sample(timeNs, id, this.#four());
      case RecordKind.deviceProcess:
        return this.#devices.process(timeNs, id, this.#source(), this.#four());
      case RecordKind.deviceList:
        return this.#devices.list(timeNs, id, this.#four());
      case RecordKind.deviceProcessPeak:
        return this.#devices.processPeak(id, this.#source(), this.#four());
      case RecordKind.deviceEvent:
        return this.#devices.event(timeNs, id, this.#source(), this.#four());
      case RecordKind.processStart:
        this.#processes.start(id, timeNs, this.#value(0), this.#value(2) || id, this.#bornNs(timeNs));
        return true;
      case RecordKind.processExit:
        if (this.#value(1) === 1) this.#processes.ignore(id);
        else this.#processes.exit(id, timeNs, this.#value(0));
        return true;
      case RecordKind.error:
        if (this.#errors.length < MAX_LISTED) this.#errors.push(this.#error(timeNs, id));
        return true;
      case RecordKind.rate:
        if (this.#rates.length < MAX_LISTED) {
          this.#rates.push({ timeNs, hostPeriodNs: this.#value(0), devicePeriodNs: this.#value(1) });
        }
        return true;
      case RecordKind.stop: {
        const [ticks, missedTicks, hostCpuNs, deviceCpuNs] = this.#four();
        this.#stop = { timeNs, ticks, missedTicks, hostCpuNs, deviceCpuNs };
        return true;
      }
      // `smaps_rollup` of a process at the end of a run, for other readers of the file.
      case RecordKind.rollup:
        return true;
      case RecordKind.stream:
        return this.#streams.stream(id, this.#four());
      case RecordKind.allocator:
        return this.#streams.sample(id, timeNs, this.#four(), this.#view.getUint8(this.#at + 9) >> 4);
      case RecordKind.allocatorPeaks:
        return this.#streams.peaks(id, this.#four());
      case RecordKind.step:
        return this.#streams.step(id, timeNs, this.#value(0));
      default:
        return false;
    }
  }

  #four(): [number, number, number, number] {
    return [this.#value(0), this.#value(1), this.#value(2), this.#value(3)];
  }

  #source(): number {
    return this.#view.getUint16(this.#at + 10, true);
  }

  #error(timeNs: number, id: number): RecordedError {
    const known = (value: number, fallback: number) => (!Number.isNaN(value) ? value : fallback);
    return {
      timeNs,
      source: this.#source(),
      id,
      errno: known(this.#value(0), 0),
      detail: known(this.#value(1), 0),
      seen: known(this.#value(2), 1),
    };
  }

  finish(cutBytes: number): RecordFile {
    return {
      header: this.#header,
      tree: this.#tree.take(),
      cgroup: this.#cgroup.take(),
      shared: this.#shared.take(),
      counts: this.#counts.take(),
      ...this.#devices.take(),
      processes: this.#processes,
      ...this.#streams.take(lostRings(this.#errors)),
      errors: this.#errors,
      rates: this.#rates,
      stop: this.#stop,
      lastNs: this.#lastNs,
      records: this.#records,
      skippedRecords: this.#skipped + this.#devices.dropped,
      cutBytes,
    };
  }
}

/** A little-endian u64 as a double; NaN from 2^53 on (sources write all-ones for "unknown"). */
function u64(view: DataView, at: number): number {
  const high = view.getUint32(at + 4, true);
  return high < HIGH_WORD_LIMIT ? high * 2 ** 32 + view.getUint32(at, true) : Number.NaN;
}

/** Whether a file with these first bytes is a record file of any version. */
export const isRecordFile = (head: Uint8Array): boolean =>
  Buffer.from(head).toString("latin1", 0, 6) === RECORD_MAGIC.slice(0, 6);

function parseHeader(bytes: Uint8Array, name: string): RecordFileHeader {
  if (bytes.length === 0) throw invalidInput("INPUT_EMPTY", "the record file is empty", name, "Measure again.");
  const magic = Buffer.from(RECORD_MAGIC, "latin1");
  const start = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, magic.length));
  if (!start.subarray(0, 6).equals(magic.subarray(0, Math.min(6, start.length)))) {
    throw invalidInput("RECORD_BAD_MAGIC", "this is not a record file of the sampler", name, "Check the path.");
  }
  if (bytes.length < HEADER_BYTES) {
    throw invalidInput("INPUT_TRUNCATED", `the record file ends within its header (${bytes.length} bytes)`, name);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const version = view.getUint8(6);
  if (!start.equals(magic) || view.getUint32(8, true) !== HEADER_BYTES || view.getUint32(12, true) !== RECORD_BYTES) {
    throw invalidInput(
      "RECORD_VERSION_UNSUPPORTED",
      `unsupported record file version ${version} (supported: 1)`,
      name,
      "Use the stormlog-gate that wrote it, or a newer one.",
    );
  }
  return {
    monotonicStartNs: view.getBigUint64(16, true),
    epochNs: view.getBigInt64(24, true),
    hostPeriodNs: u64(view, 32),
    devicePeriodNs: u64(view, 40),
    rootPid: view.getInt32(48, true),
    pageSize: view.getUint32(52, true),
  };
}

/**
 * Parses whole records as chunks arrive. The bytes after the last one are `cutBytes`; impossible records are skipped.
 * @param recent whole records that a killed sampler had not yet put into the file; asked where it did not stop cleanly
 * @throws GateError INPUT_EMPTY, INPUT_TRUNCATED (within the header), RECORD_BAD_MAGIC, RECORD_VERSION_UNSUPPORTED
 */
export function parseRecordChunks(
  chunks: Iterable<Uint8Array>,
  name: string,
  recent: () => Uint8Array = () => new Uint8Array(0),
): RecordFile {
  let parser: RecordParser | null = null;
  let rest: Uint8Array = new Uint8Array(0);
  for (const chunk of chunks) {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    if (!parser) {
      if (bytes.length < HEADER_BYTES) {
        rest = bytes;
        continue;
      }
      parser = new RecordParser(parseHeader(bytes, name));
      bytes = bytes.subarray(HEADER_BYTES);
    }
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const end = bytes.length - (bytes.length % RECORD_BYTES);
    const skipped = parser.skipped;
    for (let at = 0; at < end; at += RECORD_BYTES) parser.record(view, at);
    rest = bytes.subarray(end);
    // A hole of any size, which no sampler wrote, ends the file.
    if (end >= MAX_HOLE_BYTES && parser.skipped - skipped === end / RECORD_BYTES) break;
  }
  parser ??= new RecordParser(parseHeader(rest, name));
  if (!parser.stopped) parser.recent(recent());
  return parser.finish(rest.length);
}

/** Parses a record file in memory; errors as {@link parseRecordChunks}. `name` is the file named in errors. */
export function parseRecordFile(bytes: Uint8Array, name: string): RecordFile {
  return parseRecordChunks([bytes], name);
}

/**
 * Reads a record file a few MiB at a time.
 * @throws GateError as {@link parseRecordChunks}, and INPUT_NOT_FOUND, INPUT_NO_PERMISSION, INPUT_IS_DIRECTORY
 */
export async function readRecordFile(path: string): Promise<RecordFile> {
  return parseRecordChunks(readChunks(path), path, () => recentRecords(`${path}${RECENT_ENDING}`).bytes);
}
