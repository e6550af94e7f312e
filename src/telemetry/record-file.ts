import { invalidInput } from "../core/errors.ts";
import { HEADER_BYTES, RECORD_BYTES, RECORD_MAGIC, RecordKind } from "../sampler/record-layout.ts";
import { GrowableColumn } from "./growable.ts";
import { readChunks } from "./input-file.ts";
import { ProcessHistory } from "./process-history.ts";

/** Name of the record file in a run directory; removed once its samples stand in Parquet. */
export const RAW_RECORD_FILE = "samples.rec";

/** Lists of single happenings (errors, rates) are kept up to this many; beyond, they are only counted. */
const MAX_LISTED = 20_000;
/** Times are doubles, exact below 2^53: a larger time is a damaged record. */
const HIGH_WORD_LIMIT = 2 ** 21;

export interface RecordFileHeader {
  readonly monotonicStartNs: bigint;
  readonly epochNs: bigint;
  readonly hostPeriodNs: number;
  readonly devicePeriodNs: number;
  readonly rootPid: number;
  readonly pageSize: number;
}

/** Host ticks: sums over the process tree, bytes; NaN = unknown. */
export interface TreeColumns {
  readonly timeNs: Float64Array;
  readonly rss: Float64Array;
  readonly anon: Float64Array;
  readonly shmem: Float64Array;
  readonly processes: Float64Array;
  readonly latenessUs: Float64Array;
}

/** Readings of the job's memory cgroup, bytes; `oomKills` is a counter. */
export interface CgroupColumns {
  readonly timeNs: Float64Array;
  readonly current: Float64Array;
  readonly peak: Float64Array;
  readonly oomKills: Float64Array;
  readonly anonShmem: Float64Array;
}

/** Ticks of one device, bytes; `job` is the sum over the measured job's processes at that tick. */
export interface DeviceColumns {
  readonly index: number;
  readonly timeNs: Float64Array;
  readonly used: Float64Array;
  readonly total: Float64Array;
  readonly free: Float64Array;
  readonly driver: Float64Array;
  readonly job: Float64Array;
}

/** A reading that failed: `errno` 0 when the source gave none, `seen` how often it had happened by then. */
export interface RecordedError {
  readonly timeNs: number;
  readonly source: number;
  readonly id: number;
  readonly errno: number;
  readonly detail: number;
  readonly seen: number;
}

/** The periods in force from a moment on. */
export interface RecordedRate {
  readonly timeNs: number;
  readonly hostPeriodNs: number;
  readonly devicePeriodNs: number;
  readonly cpuNs: number;
  readonly missedTicks: number;
}

/** Totals written by a clean stop. */
export interface RecordedStop {
  readonly timeNs: number;
  readonly ticks: number;
  readonly missedTicks: number;
  readonly hostCpuNs: number;
  readonly deviceCpuNs: number;
}

/** `smaps_rollup` of one process at the end of the run, bytes. */
export interface RecordedRollup {
  readonly timeNs: number;
  readonly pid: number;
  readonly pss: number;
  readonly rss: number;
  readonly anon: number;
  readonly shared: number;
}

/** A whole record file in typed columns. Unknown values are NaN. */
export interface RecordFile {
  readonly header: RecordFileHeader;
  readonly tree: TreeColumns;
  readonly cgroup: CgroupColumns;
  readonly devices: readonly DeviceColumns[];
  readonly processes: ProcessHistory;
  readonly errors: readonly RecordedError[];
  readonly rates: readonly RecordedRate[];
  readonly rollups: readonly RecordedRollup[];
  readonly stop: RecordedStop | null;
  /** Time of the last record, nanoseconds since time zero; 0 when there is none. */
  readonly lastNs: number;
  readonly records: number;
  /** Records of an unknown kind or with an impossible time, skipped. */
  readonly skippedRecords: number;
  /** Bytes after the last whole record: the file was cut within a record. */
  readonly cutBytes: number;
}

class DeviceBuilder {
  readonly timeNs = new GrowableColumn();
  readonly used = new GrowableColumn();
  readonly total = new GrowableColumn();
  readonly free = new GrowableColumn();
  readonly driver = new GrowableColumn();
  readonly job = new GrowableColumn();
  readonly index: number;

  constructor(index: number) {
    this.index = index;
  }

  take(): DeviceColumns {
    return {
      index: this.index,
      timeNs: this.timeNs.take(),
      used: this.used.take(),
      total: this.total.take(),
      free: this.free.take(),
      driver: this.driver.take(),
      job: this.job.take(),
    };
  }
}

class RecordParser {
  private readonly tree = {
    timeNs: new GrowableColumn(),
    rss: new GrowableColumn(),
    anon: new GrowableColumn(),
    shmem: new GrowableColumn(),
    processes: new GrowableColumn(),
    latenessUs: new GrowableColumn(),
  };
  private readonly cgroup = {
    timeNs: new GrowableColumn(),
    current: new GrowableColumn(),
    peak: new GrowableColumn(),
    oomKills: new GrowableColumn(),
    anonShmem: new GrowableColumn(),
  };
  private readonly devices = new Map<number, DeviceBuilder>();
  private readonly processes = new ProcessHistory();
  private readonly errors: RecordedError[] = [];
  private readonly rates: RecordedRate[] = [];
  private readonly rollups: RecordedRollup[] = [];
  private stop: RecordedStop | null = null;
  private lastNs = 0;
  private records = 0;
  private skipped = 0;
  private view: DataView = new DataView(new ArrayBuffer(0));
  private at = 0;
  private readonly header: RecordFileHeader;

  constructor(header: RecordFileHeader) {
    this.header = header;
  }

  /** Value `i` (0 to 3) as a number; NaN when its valid bit is clear or it exceeds 2^53. */
  private value(i: number): number {
    if (((this.view.getUint8(this.at + 9) >> i) & 1) === 0) return Number.NaN;
    return u64(this.view, this.at + 16 + 8 * i);
  }

  record(view: DataView, at: number): void {
    this.view = view;
    this.at = at;
    this.records++;
    const timeNs = u64(view, at);
    const id = view.getInt32(at + 12, true);
    if (Number.isNaN(timeNs) || !this.take(view.getUint8(at + 8), timeNs, id)) {
      this.skipped++;
      return;
    }
    if (timeNs > this.lastNs) this.lastNs = timeNs;
  }

  /** False when the kind is unknown. */
  private take(kind: number, timeNs: number, id: number): boolean {
    switch (kind) {
      case RecordKind.tree: {
        const { tree } = this;
        tree.timeNs.push(timeNs);
        tree.rss.push(this.value(0));
        tree.anon.push(this.value(1));
        tree.shmem.push(this.value(2));
        const known = (this.view.getUint8(this.at + 9) & 8) !== 0;
        tree.processes.push(known ? this.view.getUint32(this.at + 40, true) : Number.NaN);
        tree.latenessUs.push(known ? this.view.getUint32(this.at + 44, true) : Number.NaN);
        return true;
      }
      case RecordKind.process:
        this.processes.reading(id, timeNs, this.value(0), this.value(3));
        return true;
      case RecordKind.cgroup:
        this.cgroup.timeNs.push(timeNs);
        this.cgroup.current.push(this.value(0));
        this.cgroup.peak.push(this.value(1));
        this.cgroup.oomKills.push(this.value(2));
        this.cgroup.anonShmem.push(this.value(3));
        return true;
      case RecordKind.device:
        return this.device(timeNs, id);
      case RecordKind.deviceProcess: {
        const device = this.devices.get(this.value(1));
        const used = this.value(0);
        // Per-process values follow their device's tick; without a tick there is no row they could belong to.
        if (device && !Number.isNaN(used)) {
          const sum = device.job.last();
          device.job.setLast(!Number.isNaN(sum) ? sum + used : used);
        }
        return true;
      }
      case RecordKind.processStart:
        this.processes.start(id, timeNs, this.value(0));
        return true;
      case RecordKind.processExit:
        this.processes.exit(id, timeNs, this.value(0));
        return true;
      case RecordKind.error:
        if (this.errors.length < MAX_LISTED) this.errors.push(this.error(timeNs, id));
        return true;
      case RecordKind.rate:
        if (this.rates.length < MAX_LISTED) {
          const [hostPeriodNs, devicePeriodNs, cpuNs, missedTicks] = this.four();
          this.rates.push({ timeNs, hostPeriodNs, devicePeriodNs, cpuNs, missedTicks });
        }
        return true;
      case RecordKind.stop: {
        const [ticks, missedTicks, hostCpuNs, deviceCpuNs] = this.four();
        this.stop = { timeNs, ticks, missedTicks, hostCpuNs, deviceCpuNs };
        return true;
      }
      case RecordKind.rollup:
        if (this.rollups.length < MAX_LISTED) {
          const [pss, rss, anon, shared] = this.four();
          this.rollups.push({ timeNs, pid: id, pss, rss, anon, shared });
        }
        return true;
      default:
        return false;
    }
  }

  private four(): [number, number, number, number] {
    return [this.value(0), this.value(1), this.value(2), this.value(3)];
  }

  private device(timeNs: number, id: number): boolean {
    if (id < 0) return false;
    let device = this.devices.get(id);
    if (!device) {
      device = new DeviceBuilder(id);
      this.devices.set(id, device);
    }
    device.timeNs.push(timeNs);
    device.used.push(this.value(0));
    device.total.push(this.value(1));
    device.free.push(this.value(2));
    device.driver.push(this.value(3));
    device.job.push(Number.NaN);
    return true;
  }

  private error(timeNs: number, id: number): RecordedError {
    const known = (value: number, fallback: number) => (!Number.isNaN(value) ? value : fallback);
    return {
      timeNs,
      source: this.view.getUint16(this.at + 10, true),
      id,
      errno: known(this.value(0), 0),
      detail: known(this.value(1), 0),
      seen: known(this.value(2), 1),
    };
  }

  finish(cutBytes: number): RecordFile {
    const { tree, cgroup } = this;
    return {
      header: this.header,
      tree: {
        timeNs: tree.timeNs.take(),
        rss: tree.rss.take(),
        anon: tree.anon.take(),
        shmem: tree.shmem.take(),
        processes: tree.processes.take(),
        latenessUs: tree.latenessUs.take(),
      },
      cgroup: {
        timeNs: cgroup.timeNs.take(),
        current: cgroup.current.take(),
        peak: cgroup.peak.take(),
        oomKills: cgroup.oomKills.take(),
        anonShmem: cgroup.anonShmem.take(),
      },
      devices: [...this.devices.values()].sort((a, b) => a.index - b.index).map((device) => device.take()),
      processes: this.processes,
      errors: this.errors,
      rates: this.rates,
      rollups: this.rollups,
      stop: this.stop,
      lastNs: this.lastNs,
      records: this.records,
      skippedRecords: this.skipped,
      cutBytes,
    };
  }
}

/** A little-endian u64 as a double; NaN at 2^53 and above (all-ones is how sources say "unknown"). */
function u64(view: DataView, at: number): number {
  const high = view.getUint32(at + 4, true);
  return high < HIGH_WORD_LIMIT ? high * 2 ** 32 + view.getUint32(at, true) : Number.NaN;
}

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
      `the record file is of version ${version}; this program reads version 1`,
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
 * Parse a record file that arrives in chunks. Whole records are taken; what follows the last one is reported as
 * `cutBytes`; records of unknown kind or with an impossible time are counted and skipped.
 * @throws GateError INPUT_EMPTY, INPUT_TRUNCATED (within the header), RECORD_BAD_MAGIC, RECORD_VERSION_UNSUPPORTED
 */
export function parseRecordChunks(chunks: Iterable<Uint8Array>, name: string): RecordFile {
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
    for (let at = 0; at < end; at += RECORD_BYTES) parser.record(view, at);
    rest = bytes.subarray(end);
  }
  parser ??= new RecordParser(parseHeader(rest, name));
  return parser.finish(rest.length);
}

/** Parse a record file held in memory; errors as {@link parseRecordChunks}. `name` is the file named in errors. */
export function parseRecordFile(bytes: Uint8Array, name: string): RecordFile {
  return parseRecordChunks([bytes], name);
}

/**
 * Read a record file a few MiB at a time.
 * @throws GateError as {@link parseRecordChunks}, and INPUT_NOT_FOUND, INPUT_NO_PERMISSION, INPUT_IS_DIRECTORY
 */
export async function readRecordFile(path: string): Promise<RecordFile> {
  return parseRecordChunks(readChunks(path), path);
}
