import { ProcessEnvelope } from "./process-envelope.ts";

interface TimedBytes {
  readonly timeNs: number;
  readonly bytes: number;
}

/** Record of one process: its high-water mark, and the time and file-backed resident size at which it was reached. */
export interface ProcessRecord {
  readonly pid: number;
  /** Its number outside of the job's pid namespace; equal to `pid` where it has none of its own. */
  readonly machinePid: number;
  parent: number;
  startNs: number;
  /** When the kernel started it; what was read of its parent afterwards is not what it was forked with. */
  readonly bornNs: number;
  exitNs: number | null;
  /** Highest `VmHWM` of the current program image, bytes; NaN when never read. */
  highWater: number;
  /** `RssFile` at the first sample that showed `highWater`; NaN when never read. */
  fileAtHighWater: number;
  /** Largest `RssFile` of the current program image. */
  fileLargest: number;
  lastReadingNs: number;
  /** Number of samples of the current program image. */
  readings: number;
  /** `RssAnon` at the last samples, oldest first. */
  readonly anon: TimedBytes[];
  /** `RssShmem` at the last sample, 0 when never read. */
  shmem: number;
  /** What it still has of its parent's memory after a fork, from each time on, bytes; empty for another program. */
  readonly inherited: TimedBytes[];
  /** Anonymous memory of its own and shared memory, as far as read. */
  readonly held: ProcessEnvelope;
  /** The mark fell: `exec` replaced the program image, and the peak of the former one is unknown. */
  replaced: boolean;
}

/** `VmHWM` comes from per-CPU counters and may fall by some pages per CPU. A fall beyond both limits is a new image. */
const NEW_IMAGE_FRACTION = 0.05;
const NEW_IMAGE_BYTES = 2 ** 20;

const fell = (now: number, before: number): boolean =>
  before - now > NEW_IMAGE_BYTES && before - now > before * NEW_IMAGE_FRACTION;

/** From this share of its parent's anonymous memory on, a process that appears is a copy of it. */
const COPY_SHARE = 0.8;

/** Samples of a process are 100 ms apart, and its children are found within 250 ms. */
const MAX_KEPT = 4;

/** Maximum number of processes that are kept. Further ones, as in a fork storm, are only counted. */
const MAX_PROCESSES = 100_000;

/** The processes of a recording, updated sample by sample, so that memory does not grow with the length of the run. */
export class ProcessHistory {
  /** In order of first appearance. A reused pid has two entries. */
  readonly all: ProcessRecord[] = [];
  /** Number of processes, including those beyond the limit of `all`. */
  count = 0;
  /** Largest `RssShmem` of the living processes, bytes; 0 for none. */
  mostShmem = 0;
  /** Pids of those that the configuration leaves out. */
  readonly ignored = new Set<number>();
  readonly #current = new Map<number, ProcessRecord>();

  /**
   * A process appeared, which the kernel had started at `bornNs`. A known pid is reused, unless only a sample of it is
   * known.
   */
  start(pid: number, timeNs: number, parent: number, machinePid = pid, bornNs = timeNs): void {
    const known = this.#current.get(pid);
    this.ignored.delete(pid);
    if (known && Number.isNaN(known.parent)) known.parent = parent;
    else this.#add(pid, timeNs, parent, machinePid, bornNs);
  }

  /** One `status` sample: `VmHWM`, `RssAnon`, `RssShmem`, `RssFile`; bytes, NaN = unknown. */
  reading(
    pid: number,
    timeNs: number,
    [highWater, anon, shmem, file]: readonly [number, number, number, number],
  ): void {
    const process = this.#current.get(pid) ?? this.#add(pid, timeNs, Number.NaN);
    this.#anonymous(process, timeNs, anon);
    this.#sharedOf(process, shmem);
    if (!Number.isNaN(anon)) process.held.push(timeNs, anon - (process.inherited.at(-1)?.bytes ?? 0) + (shmem || 0));
    if (Number.isNaN(highWater)) return;
    process.lastReadingNs = timeNs;
    if (fell(highWater, process.highWater)) {
      // After one sample this is the launch itself. Later, the former program ran long enough for a peak of its own.
      if (process.readings > 1) process.replaced = true;
      process.highWater = Number.NaN;
      process.fileLargest = Number.NaN;
      process.readings = 0;
    }
    process.readings++;
    if (!(highWater <= process.highWater)) {
      process.highWater = highWater;
      process.fileAtHighWater = file;
    }
    if (!(file <= process.fileLargest)) process.fileLargest = file;
  }

  #anonymous(process: ProcessRecord, timeNs: number, anon: number): void {
    if (Number.isNaN(anon)) return;
    if (process.anon.length === 0) {
      const parent = this.#anonAt(process.parent, process.bornNs);
      if (anon >= COPY_SHARE * parent) process.inherited.push({ timeNs, bytes: Math.min(anon, parent) });
    } else {
      const had = process.inherited.at(-1)?.bytes ?? 0;
      if (anon < had) process.inherited.push({ timeNs, bytes: anon < COPY_SHARE * had ? 0 : anon });
    }
    process.anon.push({ timeNs, bytes: anon });
    if (process.anon.length > MAX_KEPT) process.anon.shift();
  }

  /** `RssAnon` of a process at the last sample up to a time, or at the oldest one kept; NaN when never read. */
  #anonAt(pid: number, timeNs: number): number {
    const anon = this.#current.get(pid)?.anon ?? [];
    return (anon.findLast((one) => one.timeNs <= timeNs) ?? anon[0])?.bytes ?? Number.NaN;
  }

  #sharedOf(process: ProcessRecord, shmem: number): void {
    const before = process.shmem;
    process.shmem = shmem || 0;
    if (process.shmem >= this.mostShmem) this.mostShmem = process.shmem;
    else if (before === this.mostShmem) {
      this.mostShmem = 0;
      for (const one of this.#current.values()) this.mostShmem = Math.max(this.mostShmem, one.shmem);
    }
  }

  exit(pid: number, timeNs: number, highWater: number): void {
    const process = this.#current.get(pid) ?? this.#add(pid, timeNs, Number.NaN);
    process.exitNs = timeNs;
    this.#sharedOf(process, 0);
    // An exit repeats the last sample: it can raise the mark, but is not a later sample.
    if (highWater > process.highWater) process.highWater = highWater;
    this.#current.delete(pid);
  }

  /** A process turned out to be none that is measured; what was read of it before does not count. */
  ignore(pid: number): void {
    const process = this.#current.get(pid);
    this.#current.delete(pid);
    this.ignored.add(pid);
    if (process === undefined) return;
    this.count--;
    this.all.splice(this.all.lastIndexOf(process), 1);
    this.#sharedOf(process, 0);
  }

  #add(pid: number, timeNs: number, parent: number, machinePid = pid, bornNs = timeNs): ProcessRecord {
    const process: ProcessRecord = {
      pid,
      machinePid,
      parent,
      startNs: timeNs,
      bornNs,
      exitNs: null,
      highWater: Number.NaN,
      fileAtHighWater: Number.NaN,
      fileLargest: Number.NaN,
      lastReadingNs: Number.NaN,
      readings: 0,
      anon: [],
      shmem: 0,
      inherited: [],
      held: new ProcessEnvelope(),
      replaced: false,
    };
    this.count++;
    if (this.all.length < MAX_PROCESSES) this.all.push(process);
    this.#current.set(pid, process);
    return process;
  }
}
