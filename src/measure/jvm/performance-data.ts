import { closeSync, constants, fstatSync, lstatSync, openSync, readdirSync, readSync } from "node:fs";
import path from "node:path";

// The performance counters that a Java virtual machine maps from `/tmp/hsperfdata_<user>/<pid>` (perfMemory.hpp of
// OpenJDK, version 2.0 of the layout). Any process of the user can write the file, so every offset and length in it is
// checked against its size.

/** State of a heap as the machine's counters have it. Bytes. */
export interface HeapCounters {
  /** By generation: what its objects take, garbage included, and what is committed for them. */
  readonly generations: readonly { readonly used: number; readonly committed: number }[];
  /** Full collections so far; null where the collector does not count them. */
  readonly fullCollections: number | null;
  /** Whether the heap is the process's shared memory, as that of ZGC, which counts it only when it collects. */
  readonly isShared: boolean;
  /** Whether the machine answers to an attaching process; null where that is not known. */
  readonly attachable: boolean | null;
}

const HEADER_BYTES = 32;
const ENTRY_BYTES = 20;
const MAGIC = 0xcafec0c0;
const LITTLE_ENDIAN = 1;
const MAX_FILE_BYTES = 2 ** 20;
const MAX_ENTRIES = 4096;
const MAX_NAME_BYTES = 256;
/** A larger number is damaged: 1 PiB. */
const MAX_VALUE = 2 ** 50;
const [BYTE, LONG] = ["B".charCodeAt(0), "J".charCodeAt(0)];

const USED = /^sun\.gc\.generation\.(\d)\.space\.\d\.used$/;
const COMMITTED = /^sun\.gc\.generation\.(\d)\.capacity$/;
const COLLECTOR = /^sun\.gc\.collector\.(\d)\.(name|invocations)$/;
/** How names of counters that are read begin: the file has 250, and comparing numbers is ten times as fast as texts. */
const PREFIXES = new Set(["gc.g", "gc.c", "rt.j"].map((name) => Buffer.from(name).readUInt32LE()));
const SUN = Buffer.from("sun.").readUInt32LE();
/** Names of collectors that compact the whole heap: from JDK 12 on, and before ("MSC", "PSParallelCompact"). */
const FULL = /\bfull\b|MSC|MarkSweep|ParallelCompact/i;
const ZGC = /^Z(?:GC)? /;

/** A zero-terminated text within the bytes. */
function textAt(bytes: Buffer, from: number, limit: number): string {
  const end = bytes.indexOf(0, from);
  return bytes.toString("latin1", from, end < 0 ? limit : Math.min(end, limit));
}

/** The counters of the heap, each a number or a text; null where the bytes are not performance data. */
function countersOf(bytes: Buffer): Map<string, number | string> | null {
  if (bytes.length < HEADER_BYTES || bytes.readUInt32BE(0) !== MAGIC) return null;
  // The last byte is set once all counters exist.
  if (bytes[4] !== LITTLE_ENDIAN || bytes[5] !== 2 || bytes[7] !== 1) return null;
  const counters = new Map<string, number | string>();
  const count = Math.min(MAX_ENTRIES, bytes.readInt32LE(28));
  let at = bytes.readInt32LE(24);
  for (let entry = 0; entry < count; entry += 1) {
    if (at < HEADER_BYTES || at + ENTRY_BYTES > bytes.length) return null;
    const length = bytes.readInt32LE(at);
    const end = at + length;
    if (length < ENTRY_BYTES || end > bytes.length) return null;
    const [name, data] = [at + bytes.readInt32LE(at + 4), at + bytes.readInt32LE(at + 16)];
    const [vector, type] = [bytes.readInt32LE(at + 8), bytes[at + 12]];
    if (name < at + ENTRY_BYTES || name >= end || data < at + ENTRY_BYTES || data >= end) return null;
    at = end;
    if (name + 8 > end || bytes.readUInt32LE(name) !== SUN || !PREFIXES.has(bytes.readUInt32LE(name + 4))) continue;
    const key = textAt(bytes, name, Math.min(end, name + MAX_NAME_BYTES));
    if (type === LONG && vector === 0 && data + 8 <= end) counters.set(key, Number(bytes.readBigInt64LE(data)));
    if (type === BYTE && vector > 0) counters.set(key, textAt(bytes, data, Math.min(end, data + vector)));
  }
  return counters;
}

const isSize = (value: number | string | undefined): value is number =>
  typeof value === "number" && value >= 0 && value <= MAX_VALUE;

/** The heap in the bytes of a file of counters; null where they are none, or incomplete. */
export function heapCounters(bytes: Buffer): HeapCounters | null {
  const counters = countersOf(bytes);
  if (counters === null) return null;
  const generations = new Map<string, { used: number; committed: number }>();
  const full = new Set<string>();
  let isShared = false;
  for (const [key, value] of counters) {
    const [, space] = USED.exec(key) ?? [];
    const [, whole] = COMMITTED.exec(key) ?? [];
    const [, collector, field] = COLLECTOR.exec(key) ?? [];
    if (collector !== undefined && field === "name") {
      if (FULL.test(String(value))) full.add(collector);
      isShared ||= ZGC.test(String(value));
    }
    const generation = space ?? whole;
    if (generation === undefined) continue;
    if (!isSize(value)) return null;
    const sizes = generations.get(generation) ?? { used: 0, committed: 0 };
    if (space === undefined) sizes.committed = value;
    else sizes.used += value;
    generations.set(generation, sizes);
  }
  if (generations.size === 0) return null;
  const invocations = [...full].map((collector) => counters.get(`sun.gc.collector.${collector}.invocations`));
  const capabilities = counters.get("sun.rt.jvmCapabilities");
  return {
    generations: [...generations].sort(([a], [b]) => Number(a) - Number(b)).map(([, sizes]) => sizes),
    fullCollections:
      invocations.length > 0 && invocations.every(isSize) ? invocations.reduce((sum, one) => sum + one, 0) : null,
    isShared,
    attachable: typeof capabilities === "string" ? capabilities.startsWith("1") : null,
  };
}

/** The open counters of one virtual machine. */
export class PerformanceData {
  readonly #handle: number;
  readonly #bytes: Buffer;

  private constructor(handle: number, size: number) {
    this.#handle = handle;
    this.#bytes = Buffer.alloc(size);
  }

  /**
   * The counters of a process; null where it has none (`-XX:-UsePerfData`), or not yet.
   * @param root its root directory, `/proc/<pid>/root`  @param ownPid its pid in its own namespace  @param uid its user
   */
  static open(root: string, ownPid: number, uid: number): PerformanceData | null {
    const temporary = path.join(root, "tmp");
    for (const name of directoriesOf(temporary)) {
      const directory = path.join(temporary, name);
      let handle: number | null = null;
      try {
        const facts = lstatSync(directory);
        if (!facts.isDirectory() || facts.uid !== uid) continue;
        const file = path.join(directory, String(ownPid));
        handle = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
        const { size, uid: owner } = fstatSync(handle);
        if (fstatSync(handle).isFile() && owner === uid && size >= HEADER_BYTES && size <= MAX_FILE_BYTES)
          return new PerformanceData(handle, size);
        closeSync(handle);
      } catch {
        // Of another user, or removed: the machine has no readable counters here.
        if (handle !== null) closeSync(handle);
      }
    }
    return null;
  }

  /** The counters now; null where they are incomplete. */
  read(): HeapCounters | null {
    try {
      const length = readSync(this.#handle, this.#bytes, 0, this.#bytes.length, 0);
      return length === this.#bytes.length ? heapCounters(this.#bytes) : null;
    } catch {
      return null;
    }
  }

  close(): void {
    closeSync(this.#handle);
  }
}

const MAX_DIRECTORIES = 64;

function directoriesOf(temporary: string): readonly string[] {
  try {
    return readdirSync(temporary)
      .filter((name) => name.startsWith("hsperfdata_"))
      .slice(0, MAX_DIRECTORIES);
  } catch {
    return [];
  }
}
