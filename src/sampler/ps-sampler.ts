import { codeOf } from "../core/errors.ts";
import { allProcesses, descendantsOf } from "./ps.ts";
import { RecordKind, RecordSource } from "./record-layout.ts";
import { RecordWriter } from "./record-writer.ts";
import type { LiveView, RecordsCheck, Sampler, SamplerOptions, SamplerStats, SourceReport } from "./sampler.ts";

/** One `ps` takes some 10 ms and starts a process: no faster than this. */
const MIN_PERIOD_NS = 250_000_000;

export const PS_LIMITS =
  "memory is read by ps, four times a second: the resident set alone, without devices, heaps and steps";

const unread = (name: string): SourceReport => ({
  name,
  available: false,
  reason: "ps does not list it",
  capabilities: [],
});

export const PS_SOURCES: readonly SourceReport[] = [
  { name: "host", available: true, reason: PS_LIMITS, capabilities: ["rss"] },
  ...["cgroup", "host_shared_once", "host_unmapped", "nvml", "probe"].map(unread),
];

/** CLOCK_MONOTONIC, nanoseconds. */
const now = (): bigint => process.hrtime.bigint();

/** Samples the resident set of a tree by `ps`, on a timer of the main thread, without native code. */
export class PsSampler implements Sampler {
  readonly kind = "fallback";
  readonly reason: string;
  readonly sources = PS_SOURCES;
  readonly devices = [];
  readonly monotonicStartNs = now();
  readonly epochNs = BigInt(Date.now()) * 1_000_000n;
  readonly #options: SamplerOptions;
  readonly #writer: RecordWriter;
  readonly #periodNs: number;
  #timer: NodeJS.Timeout | undefined;
  #ticks = 0;
  #spentNs = 0;
  #errors = 0;
  #view: LiveView = {
    timeNs: 0,
    rssBytes: null,
    hostBytes: null,
    peakHostBytes: null,
    processes: 0,
    deviceUsedBytes: null,
  };
  #stats: SamplerStats | undefined;

  constructor(options: SamplerOptions, reason: string) {
    this.#options = options;
    this.reason = reason;
    this.#periodNs = Math.max(options.hostPeriodNs, MIN_PERIOD_NS);
    this.#writer = new RecordWriter(options.file, {
      monotonicStartNs: this.monotonicStartNs,
      epochNs: this.epochNs,
      hostPeriodNs: this.#periodNs,
      devicePeriodNs: options.devicePeriodNs,
      rootPid: options.rootPid,
      pageSize: 1,
    });
    this.#writer.add(0, RecordKind.rate, -1, [this.#periodNs, options.devicePeriodNs, 0, 0]);
    void this.#sample();
  }

  live(): LiveView {
    return this.#view;
  }

  stop(): SamplerStats {
    if (this.#stats !== undefined) return this.#stats;
    clearTimeout(this.#timer);
    const durationNs = this.#elapsed();
    this.#writer.add(durationNs, RecordKind.stop, -1, [this.#ticks, 0, this.#spentNs, null]);
    this.#writer.close(durationNs);
    this.#stats = {
      ticks: this.#ticks,
      missedTicks: 0,
      deviceTicks: 0,
      durationNs,
      hostPeriodNs: this.#periodNs,
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

  /** Samples and plans the next sample. One that is late moves the later ones. */
  async #sample(): Promise<void> {
    const startNs = this.#elapsed();
    const { rootPid, includeRoot } = this.#options;
    try {
      const rows = descendantsOf(await allProcesses(), rootPid, includeRoot);
      if (this.#stats !== undefined) return;
      const rssBytes = rows.reduce((sum, row) => sum + row.rssBytes, 0);
      const timeNs = this.#elapsed();
      this.#ticks += 1;
      this.#writer.add(timeNs, RecordKind.tree, -1, [rssBytes, null, null, rows.length]);
      this.#view = { ...this.#view, timeNs, rssBytes, processes: rows.length };
    } catch (error) {
      this.#failed(error);
    }
    const endNs = this.#elapsed();
    this.#spentNs += endNs - startNs;
    this.#writer.flushIfDue(endNs);
    if (this.#stats !== undefined) return;
    this.#timer = setTimeout(() => void this.#sample(), Math.max(0, startNs + this.#periodNs - endNs) / 1e6);
    // The measured command keeps the gate alive, not its sampler.
    this.#timer.unref();
  }

  /** Repeats are counted and written at every power of two. */
  #failed(error: unknown): void {
    this.#errors += 1;
    const errno = codeOf(error) === undefined ? 0 : Math.abs((error as NodeJS.ErrnoException).errno ?? 0);
    if ((this.#errors & (this.#errors - 1)) === 0)
      this.#writer.add(this.#elapsed(), RecordKind.error, -1, [errno, 0, this.#errors], RecordSource.tree);
  }
}
