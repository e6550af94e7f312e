import { closeSync, ftruncateSync, openSync, writeSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { MIB } from "../../core/units.ts";
import { namespacePids, readStat, readText } from "../../sampler/proc.ts";
import { AllocatorKind, HostHeapIndex, SampleReason } from "../../sampler/record-layout.ts";
import { TreeScan } from "../../sampler/tree-scan.ts";
import { processName } from "../launch/process-tree.ts";
import { type JvmProcess, jvmProcess, liveBytes } from "./attach.ts";
import { type HeapCounters, PerformanceData } from "./performance-data.ts";

// Reads the heaps of the Java virtual machines of a run from outside: their counters in every run, which costs a read
// of 32 KiB each time, and in a repetition what a forced collection leaves.

const READ_MS = 50;
/** Looks for new virtual machines once in so many readings. */
const LOOK_EVERY = 5;
/** A process that is not a virtual machine by then will not become one. */
const LOOKS = 3;
const COLLECT_MS = 250;
/** Waits so many times as long as the collection took, and at most this share of the time since the first one. */
const PATIENCE = 9;
const MAX_WAIT_SHARE = 0.15;

/** A wider range between what a heap has touched at least and at most does not count as known. */
const MAX_RANGE_BYTES = 8 * MIB;

/**
 * What a heap takes of the host: at least the most that each generation has used, and at most what is committed. G1
 * takes fresh regions of a heap that it has extended, although it has free ones.
 */
export class HeldHeap {
  #most: number[] = [];

  /** @returns bytes; null where they are not known */
  update({ generations }: HeapCounters): number | null {
    this.#most = generations.map(({ used }, at) => Math.max(used, this.#most[at] ?? 0));
    const touched = this.#most.reduce((sum, bytes) => sum + bytes, 0);
    const committed = generations.reduce((sum, generation) => sum + generation.committed, 0);
    // A heap that was shrunk has given the rest back.
    if (touched > committed) this.#most = this.#most.map((bytes) => (bytes * committed) / touched);
    return committed - touched > MAX_RANGE_BYTES ? null : Math.min(touched, committed);
  }
}

const usedBy = ({ generations }: HeapCounters): number => generations.reduce((sum, { used }) => sum + used, 0);

/** What a full collection left: it promotes what it keeps, so that it is in the oldest generation. */
const leftBy = ({ generations }: HeapCounters): number => generations.at(-1)?.used ?? 0;

/** Shared memory of a process, bytes; null where it has ended. */
function sharedMemory(pid: number): number | null {
  const kib = /^RssShmem:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/status`) ?? "")?.[1];
  return kib === undefined ? null : Number(kib) * 1024;
}

class Jvm {
  readonly process: JvmProcess;
  readonly ring: HeapRing;
  readonly #held = new HeldHeap();
  readonly #counters: PerformanceData | null;
  #collections: number | null = null;
  attachable: boolean | null = null;

  /** @param pid its number in the job's own namespace, as its records carry it */
  constructor(process: JvmProcess, pid: number, counters: PerformanceData | null, directory: string) {
    this.process = process;
    this.#counters = counters;
    this.ring = new HeapRing(directory, pid, process.startTicks);
  }

  /** @param forced whether collections are forced, which move the heap to pages that no counter shows */
  read(forced: boolean): void {
    const now = this.#counters?.read() ?? null;
    if (now === null) return;
    this.attachable = now.attachable;
    const before = this.#collections;
    this.#collections = now.fullCollections;
    const collected = before !== null && now.fullCollections !== null && now.fullCollections > before;
    const held = now.isShared ? sharedMemory(this.process.pid) : this.#held.update(now);
    const known = forced || held === null ? {} : { held };
    const live = collected && !forced ? { live: leftBy(now) } : {};
    this.ring.put({ ...known, ...live, used: usedBy(now) });
  }

  get isAlive(): boolean {
    const stat = readStat(this.process.pid);
    return stat !== null && stat.startTicks === this.process.startTicks && !/^[XxZ]$/.test(stat.state);
  }

  close(): void {
    this.#counters?.close();
    this.ring.close();
  }
}

/** Follows the virtual machines below a process until it is stopped. Never throws. */
export class JvmWatch {
  readonly #scan: TreeScan;
  /** Pid namespaces around that of the job. */
  readonly #depth: number;
  readonly #directory: string;
  readonly #collect: boolean;
  readonly #jvms = new Map<number, Jvm>();
  /** Other processes, by pid, as they were at the look before. */
  #others = new Map<number, number>();
  readonly #lost = new Set<string>();
  readonly #stop = new AbortController();
  readonly #followed: Promise<void>;

  /** @param directory of the probes' rings  @param collect whether each machine is made to collect its heap */
  constructor(rootPid: number, directory: string, collect: boolean) {
    this.#scan = new TreeScan(rootPid, null);
    this.#depth = namespacePids(rootPid).length - 1;
    this.#directory = directory;
    this.#collect = collect;
    this.#followed = this.#follow();
  }

  /** @returns what could not be read, one sentence each */
  async stop(): Promise<readonly string[]> {
    this.#stop.abort();
    await this.#followed;
    for (const jvm of this.#jvms.values()) jvm.close();
    return [...this.#lost];
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop.signal }).catch(() => {});
  }

  async #follow(): Promise<void> {
    for (let reading = 0; !this.#stop.signal.aborted; reading += 1) {
      try {
        if (reading % LOOK_EVERY === 0) this.#look();
        for (const jvm of this.#jvms.values()) jvm.read(this.#collect);
      } catch (error) {
        this.#lost.add(`the Java heap could not be recorded: ${error instanceof Error ? error.message : error}`);
        return;
      }
      await this.#pause(READ_MS);
    }
  }

  /** Find new machines, and leave those that have ended. */
  #look(): void {
    for (const [pid, jvm] of this.#jvms) {
      if (jvm.isAlive) continue;
      jvm.ring.put({ live: 0 }, SampleReason.end);
      jvm.close();
      this.#jvms.delete(pid);
    }
    const others = new Map<number, number>();
    for (const { pid } of this.#scan.descendants([])) {
      if (this.#jvms.has(pid)) continue;
      const startTicks = readStat(pid)?.startTicks;
      if (startTicks === undefined) continue;
      const looks = this.#others.get(pid) ?? 0;
      others.set(pid, looks + 1);
      if (looks >= LOOKS || !isJvm(pid)) continue;
      const found = jvmProcess({ pid, startTicks });
      const counters = found && PerformanceData.open(`/proc/${pid}/root`, found.ownPid, found.uid);
      // A child of a machine has its mappings until it executes its program.
      if (found === null || (counters === null && looks + 1 < LOOKS)) continue;
      const jvm = new Jvm(found, namespacePids(pid)[this.#depth] ?? pid, counters, this.#directory);
      // One without counters is seen all the same.
      jvm.ring.put({ used: 0 });
      this.#jvms.set(pid, jvm);
      if (this.#collect) void this.#collectHeap(jvm);
    }
    this.#others = others;
  }

  async #collectHeap(jvm: Jvm): Promise<void> {
    await this.#pause(COLLECT_MS);
    const first = performance.now();
    while (!this.#stop.signal.aborted && this.#jvms.get(jvm.process.pid) === jvm) {
      const began = performance.now();
      const live = jvm.attachable === false ? null : await liveBytes(jvm.process, this.#stop.signal);
      if (this.#stop.signal.aborted || !jvm.isAlive) return;
      if (live === null) {
        const reason = jvm.attachable === false ? "attaching is disabled" : "it did not answer";
        this.#lost.add(`${processName(jvm.process.pid)}: the Java heap could not be collected: ${reason}`);
        return;
      }
      jvm.ring.put({ live });
      const now = performance.now();
      await this.#pause(Math.max(COLLECT_MS, Math.min(PATIENCE * (now - began), MAX_WAIT_SHARE * (now - first))));
    }
  }
}

const isJvm = (pid: number): boolean => readText(`/proc/${pid}/maps`)?.includes("/libjvm.so") ?? false;

// A ring file as the probes write it (native/probe_ring.h), written by the gate for a process that loads no probe, so
// that what was read of its heap is in the record file with everything else.

const HEADER_BYTES = 256;
const RECORD_BYTES = 96;
const CAPACITY = 1024;
const HEAD_AT = 24;
const MAGIC = "SLGPRB\x01\n";
const ATTACHED = 1;
const HEAP_READABLE = 1;
/** No probe counts its rings up to this number. */
const INSTANCE = 4_000_000_000;

/** Bytes; absent = not known. */
interface HeapRow {
  /** What a full collection left. */
  readonly live?: number;
  /** What the heap takes of the host, garbage included. */
  readonly held?: number;
  /** What its objects take. */
  readonly used?: number;
}

class HeapRing {
  readonly #handle: number;
  #head = 0n;

  /** @throws where the directory of the probes is gone */
  constructor(directory: string, pid: number, startTicks: number) {
    // A pid may be used again.
    this.#handle = openSync(path.join(directory, `${pid}.${INSTANCE + (startTicks % 1_000_000)}.probe`), "wx", 0o600);
    const header = Buffer.alloc(HEADER_BYTES);
    for (const [value, at] of [
      [HEADER_BYTES, 8],
      [RECORD_BYTES, 12],
      [CAPACITY, 16],
      [pid, 20],
      [HEAP_READABLE, 40],
      [ATTACHED, 44],
    ] as const)
      header.writeUInt32LE(value, at);
    for (const at of [48, 52, 56]) header.writeInt32LE(-1, at);
    header.writeBigUInt64LE(process.hrtime.bigint(), 32);
    ftruncateSync(this.#handle, HEADER_BYTES + CAPACITY * RECORD_BYTES);
    writeSync(this.#handle, header, 0, HEADER_BYTES, 0);
    // Last: from now on the sampler takes the file for a ring.
    writeSync(this.#handle, MAGIC, 0, "latin1");
  }

  put({ live, held, used }: HeapRow, reason: SampleReason = SampleReason.timer): void {
    const record = Buffer.alloc(RECORD_BYTES);
    const sequence = this.#head + 1n;
    const at = HEADER_BYTES + Number(this.#head % BigInt(CAPACITY)) * RECORD_BYTES;
    record.writeBigUInt64LE(sequence, 0);
    record.writeBigUInt64LE(process.hrtime.bigint(), 8);
    record.writeUInt16LE(AllocatorKind.hostHeap, 16);
    record.writeUInt16LE(HostHeapIndex.jvm, 18);
    let valid = 0;
    for (const [bit, bytes] of [live, held, used].entries()) {
      if (bytes === undefined) continue;
      valid |= 1 << bit;
      record.writeBigUInt64LE(BigInt(Math.round(bytes)), 24 + 8 * bit);
    }
    record.writeUInt16LE(valid, 20);
    record.writeUInt16LE(reason, 22);
    record.writeBigUInt64LE(sequence, RECORD_BYTES - 8);
    const head = Buffer.alloc(8);
    head.writeBigUInt64LE(sequence, 0);
    writeSync(this.#handle, record, 0, RECORD_BYTES, at);
    writeSync(this.#handle, head, 0, 8, HEAD_AT);
    this.#head = sequence;
  }

  close(): void {
    closeSync(this.#handle);
  }
}
