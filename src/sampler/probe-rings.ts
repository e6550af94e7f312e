import { closeSync, opendirSync, statSync } from "node:fs";
import path from "node:path";
import { codeOf } from "../core/errors.ts";
import { openOwn, ProbeRing, type RingRecord, readAt } from "./probe-ring.ts";
import { AllocatorKind, ProbeTrouble, RecordKind, RecordSource } from "./record-layout.ts";
import type { RecordWriter } from "./record-writer.ts";
import type { SourceReport } from "./sampler.ts";

const DRAIN_PERIOD_NS = 40_000_000;
/** The writer of the step file truncates it first: one reading in many finds it empty, so it is read often. */
const STEP_PERIOD_NS = 10_000_000;
const LOOK_PERIOD_NS = 100_000_000;
/** Directory times are as coarse as the kernel's tick, so the scans after a change scan again. */
const LOOKS_AFTER_CHANGE = 2;
const MAX_OPEN = 512;
const MAX_SEEN = 12_288;
const MAX_ENTRIES = 65_536;
const MAX_STREAMS = 33;
const BUDGET_PER_FILE = 8192;
const LAST_BUDGET = 65_536;
/** After the last drain no later one could find what this one saw half written. */
const LAST_LOOKS = 3;
const QUIET_NS = 2e9;
const AHEAD_NS = 1e9;
const STEP_FILE = "step";

/** One device of one process. */
interface Stream {
  readonly id: number;
  identity: number;
  readonly peaks: (number | null)[];
}

interface OpenRing {
  readonly pid: number;
  readonly ring: ProbeRing;
  readonly streams: Map<string, Stream>;
  step: number | null;
  reportedLost: number;
  nextCheckNs: number;
}

/** Parses `<pid>.<n>.probe`; null for any other name. */
export function parseRingName(name: string): { readonly pid: number; readonly instance: number } | null {
  const match = /^([1-9]\d{0,9})\.(0|[1-9]\d{0,8})\.probe$/.exec(name);
  const pid = Number(match?.[1]);
  return match !== null && pid < 2 ** 31 ? { pid, instance: Number(match[2]) } : null;
}

/** The step in the text of a step file; null when it has none, undefined while it is being written. */
export function parseStepText(text: string): number | null | undefined {
  if (text === "") return undefined;
  const match = /^\s*(\d+)\s*$/.exec(text);
  const step = Number(match?.[1]);
  return match !== null && Number.isSafeInteger(step) ? step : null;
}

/** Drains the probes' rings and the step file into a record file, as `native/sources/probe/probe_source.cc` does. */
export class ProbeRings {
  readonly report: SourceReport;
  readonly #directory: string;
  readonly #startNs: bigint;
  readonly #rootPid: number | null;
  readonly #writer: RecordWriter;
  readonly #open: OpenRing[] = [];
  readonly #seen = new Set<string>();
  readonly #errors = new Map<string, number>();
  #nextStream = 0;
  #nextDrainNs = 0;
  #nextStepNs = 0;
  #nextLookNs = 0;
  #changedNs = -1n;
  #again = 0;
  #refused = false;
  #stepFd: number | null = null;
  #fileStep: number | null = null;

  /** @param startNs CLOCK_MONOTONIC of time zero  @param rootPid the launcher, when it is not part of the job */
  constructor(directory: string, startNs: bigint, rootPid: number | null, writer: RecordWriter) {
    this.#directory = directory;
    this.#startNs = startNs;
    this.#rootPid = rootPid;
    this.#writer = writer;
    const available = statSync(directory, { throwIfNoEntry: false })?.isDirectory() ?? false;
    this.report = {
      name: "probe",
      available,
      reason: available ? null : "the directory of the probes cannot be opened",
      capabilities: available ? ["rings", "step-file"] : [],
    };
  }

  /** Called at every tick. Reads at its own rates. */
  sampleIfDue(timeNs: number): void {
    if (!this.report.available) return;
    if (timeNs >= this.#nextDrainNs) {
      this.#nextDrainNs = timeNs + DRAIN_PERIOD_NS;
      this.#all(timeNs, BUDGET_PER_FILE);
    }
    if (timeNs >= this.#nextStepNs) {
      this.#nextStepNs = timeNs + STEP_PERIOD_NS;
      this.#readStepFile(timeNs);
    }
  }

  /** The last reading, of everything. */
  finish(timeNs: number): void {
    this.#nextLookNs = timeNs;
    if (this.report.available) {
      for (let i = 0; i < LAST_LOOKS; i++) this.#all(timeNs, LAST_BUDGET);
      this.#readStepFile(timeNs);
    }
    for (const one of this.#open.splice(0)) {
      if (one.ring.inDoubt) this.#trouble(timeNs, one.pid, ProbeTrouble.notARing);
      this.#close(one, timeNs);
    }
    if (this.#stepFd !== null) closeSync(this.#stepFd);
    this.#stepFd = null;
  }

  #all(timeNs: number, budget: number): void {
    this.#look(timeNs);
    for (const one of [...this.#open]) this.#drain(one, timeNs, budget);
  }

  #look(timeNs: number): void {
    if (timeNs < this.#nextLookNs) return;
    this.#nextLookNs = timeNs + LOOK_PERIOD_NS;
    const room = this.#open.length < MAX_OPEN && this.#seen.size < MAX_SEEN;
    if (!this.#changed() && !(this.#refused && room)) return;
    this.#refused = false;
    try {
      const directory = opendirSync(this.#directory);
      try {
        let entries = 0;
        for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
          if (++entries > MAX_ENTRIES) {
            this.#trouble(timeNs, -1, ProbeTrouble.directoryTooLarge);
            break;
          }
          this.#found(entry.name, timeNs);
        }
      } finally {
        directory.closeSync();
      }
    } catch (error) {
      this.#trouble(timeNs, -1, ProbeTrouble.fileUnreadable, error);
    }
    this.#openStepFile(timeNs);
  }

  #changed(): boolean {
    const changedNs = statSync(this.#directory, { bigint: true, throwIfNoEntry: false })?.mtimeNs;
    if (changedNs !== this.#changedNs) {
      this.#changedNs = changedNs ?? -1n;
      this.#again = LOOKS_AFTER_CHANGE;
      return changedNs !== undefined;
    }
    if (this.#again === 0) return false;
    this.#again -= 1;
    return true;
  }

  #found(name: string, timeNs: number): void {
    const ring = parseRingName(name);
    if (ring === null || ring.pid === this.#rootPid || this.#seen.has(name)) return;
    if (this.#open.length >= MAX_OPEN || this.#seen.size >= MAX_SEEN) {
      this.#refused = true;
      this.#trouble(timeNs, -1, ProbeTrouble.tooManyFiles);
      return;
    }
    this.#seen.add(name);
    try {
      const opened = ProbeRing.open(path.join(this.#directory, name), timeNs);
      if (opened === null) this.#trouble(timeNs, ring.pid, ProbeTrouble.fileUnreadable);
      else {
        this.#open.push({
          pid: ring.pid,
          ring: opened,
          streams: new Map(),
          step: null,
          reportedLost: 0,
          nextCheckNs: timeNs + QUIET_NS,
        });
      }
    } catch (error) {
      this.#trouble(timeNs, ring.pid, ProbeTrouble.fileUnreadable, error);
    }
  }

  #drain(one: OpenRing, timeNs: number, budget: number): void {
    const answer = one.ring.drain(timeNs, budget, (record) => this.#deliver(one, record, timeNs));
    switch (answer) {
      case "foreign":
      case "truncated":
        this.#trouble(timeNs, one.pid, answer === "foreign" ? ProbeTrouble.notARing : ProbeTrouble.ringTruncated);
        this.#drop(one, timeNs);
        return;
      case "idle":
        if (timeNs - one.ring.movedNs >= QUIET_NS && timeNs >= one.nextCheckNs) {
          one.nextCheckNs = timeNs + QUIET_NS;
          if (isGone(one.pid)) {
            this.#drop(one, timeNs);
            return;
          }
        }
        break;
      case "moved":
      case "ended":
        break;
    }
    const { header } = one.ring;
    if (header === null) return;
    if (header.step !== null && header.step !== one.step) {
      one.step = header.step;
      this.#writer.add(timeNs, RecordKind.step, one.pid, [header.step], RecordSource.probe);
    }
    this.#reportLost(one, timeNs, false);
    if (answer === "ended") this.#drop(one, timeNs);
  }

  #deliver(one: OpenRing, record: RingRecord, nowNs: number): void {
    const timeNs = Number(record.monotonicNs - this.#startNs);
    if (timeNs < 0 || timeNs > nowNs + AHEAD_NS || record.deviceKind > AllocatorKind.jax) {
      this.#trouble(nowNs, one.pid, ProbeTrouble.recordImpossible);
      return;
    }
    const [allocated = null, reserved = null, active = null] = record.values;
    const step = record.values[7] ?? null;
    if (step !== null) one.step = step;
    if (record.deviceKind === 0 || (allocated === null && reserved === null && active === null)) {
      if (step !== null) this.#writer.add(timeNs, RecordKind.step, one.pid, [step], RecordSource.probe);
      return;
    }
    const stream = this.#streamOf(one, record, timeNs, nowNs);
    if (stream === null) return;
    const peaks = record.values.slice(3, 7);
    if (peaks.some((peak, i) => peak !== null && peak !== stream.peaks[i])) {
      for (const [i, peak] of peaks.entries()) stream.peaks[i] = peak ?? stream.peaks[i] ?? null;
      this.#writer.add(timeNs, RecordKind.allocatorPeaks, stream.id, peaks, RecordSource.probe);
    }
    const values = [allocated, reserved, active, step];
    const reason = record.reason <= 5 ? record.reason : 0;
    this.#writer.add(timeNs, RecordKind.allocator, stream.id, values, RecordSource.probe, reason);
  }

  #streamOf(one: OpenRing, record: RingRecord, timeNs: number, nowNs: number): Stream | null {
    const key = `${record.deviceKind} ${record.deviceIndex}`;
    let stream = one.streams.get(key);
    if (stream === undefined) {
      if (one.streams.size >= MAX_STREAMS) {
        this.#trouble(nowNs, one.pid, ProbeTrouble.tooManyDevices);
        return null;
      }
      stream = { id: this.#nextStream++, identity: -1, peaks: [null, null, null, null] };
      one.streams.set(key, stream);
    }
    const identity = identityOf(one.ring);
    if (identity !== stream.identity) {
      stream.identity = identity;
      const values = [one.pid, record.deviceKind, record.deviceIndex, identity];
      this.#writer.add(timeNs, RecordKind.stream, stream.id, values, RecordSource.probe);
    }
    return stream;
  }

  #reportLost(one: OpenRing, timeNs: number, all: boolean): void {
    const { lost } = one.ring;
    if (lost === one.reportedLost || (!all && lost < 2 * one.reportedLost)) return;
    one.reportedLost = lost;
    this.#writer.add(timeNs, RecordKind.error, one.pid, [0, ProbeTrouble.recordsLost, lost], RecordSource.probe);
  }

  #close(one: OpenRing, timeNs: number): void {
    this.#reportLost(one, timeNs, true);
    one.ring.close();
  }

  #drop(one: OpenRing, timeNs: number): void {
    this.#close(one, timeNs);
    this.#open.splice(this.#open.indexOf(one), 1);
  }

  #openStepFile(timeNs: number): void {
    if (this.#stepFd !== null) closeSync(this.#stepFd);
    this.#stepFd = null;
    try {
      this.#stepFd = openOwn(path.join(this.#directory, STEP_FILE));
      if (this.#stepFd === null) this.#trouble(timeNs, -1, ProbeTrouble.stepUnreadable);
    } catch (error) {
      if (codeOf(error) !== "ENOENT") {
        this.#trouble(timeNs, -1, ProbeTrouble.stepUnreadable, error);
      }
    }
  }

  #readStepFile(timeNs: number): void {
    if (this.#stepFd === null) return;
    const bytes = Buffer.alloc(32);
    const size = readAt(this.#stepFd, bytes, 0);
    const step = size === bytes.length ? null : parseStepText(bytes.toString("latin1", 0, size));
    if (step === undefined || step === this.#fileStep) return;
    if (step === null) {
      this.#trouble(timeNs, -1, ProbeTrouble.stepUnreadable);
      return;
    }
    this.#fileStep = step;
    this.#writer.add(timeNs, RecordKind.step, -1, [step], RecordSource.probe);
  }

  /** Repeats of one trouble are counted and written at every power of two. */
  #trouble(timeNs: number, pid: number, code: ProbeTrouble, error?: unknown): void {
    const errno = Math.abs((error as NodeJS.ErrnoException | undefined)?.errno ?? 0);
    const key = `${pid} ${code} ${errno}`;
    const seen = (this.#errors.get(key) ?? 0) + 1;
    this.#errors.set(key, seen);
    if ((seen & (seen - 1)) === 0)
      this.#writer.add(timeNs, RecordKind.error, pid, [errno, code, seen], RecordSource.probe);
  }
}

/** Rank, world size, role and flags in the one number of a stream record. */
function identityOf(ring: ProbeRing): number {
  const { header } = ring;
  if (header === null) return 0;
  const oneMore = (value: number): number => (value >= 0 && value < 0xffff ? value + 1 : 0);
  const role = header.role >= 0 && header.role <= 3 ? header.role : 0;
  return oneMore(header.rank) + oneMore(header.worldSize) * 2 ** 16 + role * 2 ** 32 + (header.flags & 0xff) * 2 ** 40;
}

/** Whether this process sees no process with that pid. */
function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return codeOf(error) === "ESRCH";
  }
}
