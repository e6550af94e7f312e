import { ProbeRings } from "./probe-rings.ts";
import { childrenOf, pageSize, readStat } from "./proc.ts";
import { ProcessMemory } from "./process-memory.ts";
import { allProcesses, descendantsOf } from "./ps.ts";
import { RecordKind, RecordSource } from "./record-layout.ts";
import { RecordWriter } from "./record-writer.ts";
import type { LiveView, RecordsCheck, Sampler, SamplerOptions, SamplerStats, SourceReport } from "./sampler.ts";
import { Governor, TickSchedule } from "./tick-schedule.ts";
import { TreeScan } from "./tree-scan.ts";

const STATUS_PERIOD_NS = 100_000_000;
const RESCAN_PERIOD_NS = 50_000_000;
/** Reading the environment of new processes and, on kernels without per-thread lists, every parent. */
const FULL_SCAN_PERIOD_NS = 200_000_000;
/** One `ps` takes some 10 ms and starts a process: no faster than this. */
const PS_PERIOD_NS = 250_000_000;

const usesProc = process.platform === "linux";

/** Sources of the plain-JavaScript sampler. */
export function fallbackSources(): SourceReport[] {
  const host: SourceReport = usesProc
    ? {
        name: "host",
        available: true,
        reason: null,
        capabilities: ["rss", "anonymous", "high-water", "shared-memory", "marker"],
      }
    : {
        name: "host",
        available: true,
        reason: "read by ps, four times a second, resident set only",
        capabilities: ["rss"],
      };
  const reason = "the plain JavaScript sampler does not read it";
  return [
    host,
    { name: "cgroup", available: false, reason, capabilities: [] },
    { name: "host_shared_once", available: false, reason, capabilities: [] },
    { name: "host_unmapped", available: false, reason, capabilities: [] },
    { name: "nvml", available: false, reason, capabilities: [] },
  ];
}

const add = (sum: number | null, value: number | null): number | null =>
  sum === null || value === null ? null : sum + value;

/** CLOCK_MONOTONIC, nanoseconds. */
const now = (): bigint => process.hrtime.bigint();

/** The sampler without native code: a timer on the main thread; reads `/proc` on Linux, and `ps` elsewhere. */
export class FallbackSampler implements Sampler {
  readonly kind = "fallback";
  readonly reason: string;
  readonly sources: readonly SourceReport[];
  readonly devices = [];
  readonly monotonicStartNs: bigint;
  readonly epochNs: bigint;
  readonly #options: SamplerOptions;
  readonly #writer: RecordWriter;
  readonly #schedule: TickSchedule;
  readonly #governor: Governor | null;
  readonly #scan: TreeScan;
  readonly #pageSize = usesProc ? pageSize() : 1;
  readonly #processes = new Map<number, ProcessMemory>();
  readonly #errors = new Map<string, number>();
  readonly #probes: ProbeRings | null;
  readonly #perThreadLists = usesProc && childrenOf(process.pid) !== null;
  #timer: NodeJS.Timeout | undefined;
  #nextRescanNs = 0;
  #nextFullScanNs = 0;
  #ticks = 0;
  #spentNs = 0;
  #asking = false;
  #view: LiveView = {
    timeNs: 0,
    rssBytes: null,
    hostBytes: null,
    peakHostBytes: null,
    processes: 0,
    deviceUsedBytes: null,
  };
  #stats: SamplerStats | null = null;

  constructor(options: SamplerOptions, reason: string) {
    this.#options = usesProc ? options : { ...options, hostPeriodNs: Math.max(options.hostPeriodNs, PS_PERIOD_NS) };
    this.reason = reason;
    this.monotonicStartNs = now();
    // Date.now() has milliseconds only; performance.timeOrigin drifts from the wall clock as it is stepped.
    this.epochNs = BigInt(Date.now()) * 1_000_000n;
    this.#writer = new RecordWriter(options.file, {
      monotonicStartNs: this.monotonicStartNs,
      epochNs: this.epochNs,
      hostPeriodNs: this.#options.hostPeriodNs,
      devicePeriodNs: options.devicePeriodNs,
      rootPid: options.rootPid,
      pageSize: this.#pageSize,
    });
    this.#schedule = new TickSchedule(this.#options.hostPeriodNs, 0);
    this.#governor = options.cpuBudget === null ? null : new Governor(options.cpuBudget, this.#options.hostPeriodNs, 0);
    this.#scan = new TreeScan(options.rootPid, options.marker);
    const { probeDirectory, rootPid, includeRoot } = options;
    this.#probes =
      probeDirectory === null
        ? null
        : new ProbeRings(probeDirectory, this.monotonicStartNs, includeRoot ? null : rootPid, this.#writer);
    this.sources = [...fallbackSources(), ...(this.#probes === null ? [] : [this.#probes.report])];
    this.#writer.add(0, RecordKind.rate, -1, [this.#options.hostPeriodNs, options.devicePeriodNs, 0, 0]);
    if (usesProc && options.includeRoot) this.#found(options.rootPid, readStat(options.rootPid)?.parent ?? 0, 0);
    this.#tick();
  }

  live(): LiveView {
    return this.#view;
  }

  seen(): { pid: number; startTicks: number }[] {
    return [...this.#processes.values()].map(({ pid, startTicks }) => ({ pid, startTicks }));
  }

  stop(): SamplerStats {
    if (this.#stats !== null) return this.#stats;
    clearTimeout(this.#timer);
    const timeNs = this.#elapsed();
    for (const process of this.#processes.values()) process.close();
    this.#processes.clear();
    this.#probes?.finish(timeNs);
    const missed = this.#schedule.missed;
    this.#writer.add(timeNs, RecordKind.stop, -1, [this.#ticks, missed, this.#spentNs, null]);
    this.#writer.close(timeNs);
    this.#stats = {
      ticks: this.#ticks,
      missedTicks: missed,
      deviceTicks: 0,
      durationNs: timeNs,
      hostPeriodNs: this.#schedule.periodNs,
      devicePeriodNs: this.#options.devicePeriodNs,
      cpuNs: this.#spentNs,
      writeError: this.#writer.error,
    };
    return this.#stats;
  }

  readRecords(into: Uint8Array): number {
    return this.#writer.readBack(into);
  }

  checkRecords(): RecordsCheck {
    return this.#writer.check();
  }

  closeRecords(): void {
    this.#writer.release();
  }

  #elapsed(): number {
    return Number(now() - this.monotonicStartNs);
  }

  #tick(): void {
    const timeNs = this.#elapsed();
    // Node's timers count whole milliseconds and may come up to one early.
    if (this.#schedule.untilNext(timeNs) <= 0) {
      const lateness = this.#schedule.take(timeNs);
      if (usesProc) this.#sampleProc(timeNs, lateness);
      else void this.#samplePs(lateness);
      this.#probes?.sampleIfDue(timeNs);
      const cost = this.#elapsed() - timeNs;
      this.#spentNs += cost;
      this.#govern(cost, timeNs);
      this.#writer.flushIfDue(timeNs);
    }
    const waitMs = this.#schedule.untilNext(this.#elapsed()) / 1e6;
    this.#timer = setTimeout(() => this.#tick(), Math.max(0, waitMs));
    // The measured command keeps the gate alive, not its sampler.
    this.#timer.unref();
  }

  #govern(costNs: number, timeNs: number): void {
    if (this.#governor === null) return;
    const before = this.#schedule.periodNs;
    const period = this.#governor.spent(costNs, timeNs, before);
    if (period === before) return;
    this.#schedule.setPeriod(period);
    const values = [period, this.#options.devicePeriodNs, this.#spentNs, this.#schedule.missed];
    this.#writer.add(timeNs, RecordKind.rate, -1, values);
  }

  #sampleProc(timeNs: number, lateness: number): void {
    this.#rescan(timeNs);
    let rss = 0;
    let anon = 0;
    let shmem: number | null = 0;
    let vanished = false;
    for (const process of this.#processes.values()) {
      const statm = process.read();
      if (statm === null) {
        this.#ended(process, timeNs);
        vanished = true;
        continue;
      }
      rss += statm.resident;
      anon += Math.max(0, statm.resident - statm.shared);
      if (timeNs >= process.nextStatusNs) this.#readStatus(process, timeNs);
      // Without the kernel's split of the resident set the sum is unknown, not small.
      if (process.status !== null) shmem = add(shmem, process.status.shmem);
    }
    if (vanished) this.#nextRescanNs = 0;
    this.#record(timeNs, lateness, rss * this.#pageSize, anon * this.#pageSize, shmem, this.#processes.size);
  }

  #record(
    timeNs: number,
    lateness: number,
    rss: number,
    anon: number | null,
    shmem: number | null,
    count: number,
  ): void {
    this.#ticks += 1;
    const late = Math.min(2 ** 21 - 1, Math.round(lateness / 1000));
    this.#writer.add(timeNs, RecordKind.tree, -1, [rss, anon, shmem, count + late * 2 ** 32]);
    const host = anon === null ? null : anon + (shmem ?? 0);
    this.#view = {
      timeNs,
      rssBytes: rss,
      hostBytes: host,
      peakHostBytes: host === null ? null : Math.max(host, this.#view.peakHostBytes ?? 0),
      processes: count,
      deviceUsedBytes: null,
    };
  }

  #rescan(timeNs: number): void {
    if (timeNs >= this.#nextRescanNs) {
      this.#nextRescanNs = timeNs + (this.#perThreadLists ? RESCAN_PERIOD_NS : FULL_SCAN_PERIOD_NS);
      for (const { pid, parent } of this.#scan.descendants(this.#processes.keys())) this.#found(pid, parent, timeNs);
    }
    if (timeNs >= this.#nextFullScanNs) {
      this.#nextFullScanNs = timeNs + FULL_SCAN_PERIOD_NS;
      for (const { pid, parent } of this.#scan.newlyMarked()) this.#found(pid, parent, timeNs);
    }
  }

  #found(pid: number, parent: number, timeNs: number): void {
    if (this.#processes.has(pid)) return;
    try {
      const process = ProcessMemory.open(pid);
      // The descriptor answers for the process whose start was read: its pid was not reused in between.
      if (process === null || process.read() === null) {
        process?.close();
        return;
      }
      this.#processes.set(pid, process);
      this.#writer.add(timeNs, RecordKind.processStart, pid, [parent, process.startTicks]);
    } catch (error) {
      this.#failed(timeNs, pid, RecordSource.statm, error);
    }
  }

  #readStatus(process: ProcessMemory, timeNs: number): void {
    process.nextStatusNs = timeNs + STATUS_PERIOD_NS;
    const status = process.readStatus();
    if (status === null) return;
    const { highWater, anon, shmem, file } = status;
    this.#writer.add(timeNs, RecordKind.process, process.pid, [highWater, anon, shmem, file], RecordSource.status);
  }

  #ended(process: ProcessMemory, timeNs: number): void {
    process.close();
    this.#processes.delete(process.pid);
    this.#writer.add(timeNs, RecordKind.processExit, process.pid, [process.status?.highWater]);
  }

  /** Repeats of one error are counted and written at every power of two. */
  #failed(timeNs: number, id: number, source: RecordSource, error: unknown): void {
    const { code, errno } = error as NodeJS.ErrnoException;
    const key = `${source} ${code}`;
    const seen = (this.#errors.get(key) ?? 0) + 1;
    this.#errors.set(key, seen);
    if ((seen & (seen - 1)) === 0)
      this.#writer.add(timeNs, RecordKind.error, id, [Math.abs(errno ?? 0), 0, seen], source);
  }

  async #samplePs(lateness: number): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    try {
      const rows = descendantsOf(await allProcesses(), this.#options.rootPid, this.#options.includeRoot);
      const rss = rows.reduce((sum, row) => sum + row.rssBytes, 0);
      this.#record(this.#elapsed(), lateness, rss, null, null, rows.length);
    } catch (error) {
      this.#failed(this.#elapsed(), -1, RecordSource.tree, error);
    } finally {
      this.#asking = false;
    }
  }
}
