import { lstatSync, readdirSync, readFileSync, readlinkSync, type Stats, statSync } from "node:fs";
import path from "node:path";
import type { LeftBehind, RecordingInfo } from "../../telemetry/recording/recording-schema.ts";

/** Files in RAM by device and inode, or the id of a System V segment. */
type Files = ReadonlyMap<string, { readonly name: string; readonly bytes: number }>;

/** Entries of one file system that are looked at; a larger one is not judged. */
const MAX_ENTRIES = 10_000;
/** Names that are recorded, the largest files first. */
const MAX_NAMES = 16;
const PERIOD_MS = 1000;
/** A reading costs this part of a core, so that it waits this many times its processor time. */
const COST = 200;
const IN_RAM = /^(?:tmpfs|ramfs|hugetlbfs)$/;
/** Mounts of the system's own services, and devices that are no files. */
const OF_THE_SYSTEM = /^\/(?:proc|sys|run(?!\/user\/)|dev(?!\/shm(?:\/|$)))(?:\/|$)/;

/** Null where the command took what a reading needs, such as descriptors or rights: then it is not known. */
function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

const lines = (file: string): readonly string[] => orNull(() => readFileSync(file, "utf8").split("\n")) ?? [];

/** Every mounted file system: its place, and whether it is one in RAM that a command can write to. */
const mounts = (): readonly { readonly place: string; readonly isInRam: boolean }[] =>
  lines("/proc/self/mounts").map((line) => {
    const [, written = "", kind = ""] = line.split(" ");
    // Written with octal numbers for blanks.
    const place = written.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
    return { place, isInRam: IN_RAM.test(kind) && !OF_THE_SYSTEM.test(place) };
  });

/** Own files of a file system; null when there are too many. @param skipped directories that are not looked into */
function filesBelow(mount: string, skipped: ReadonlySet<string>): Files | null {
  const found = new Map<string, { name: string; bytes: number }>();
  const directories = [mount];
  let entries = 0;
  for (let at = directories.pop(); at !== undefined; at = directories.pop()) {
    const place = at;
    const inside = orNull(() => readdirSync(place, { withFileTypes: true })) ?? [];
    entries += inside.length;
    if (entries > MAX_ENTRIES) return null;
    for (const entry of inside) {
      const name = path.join(at, entry.name);
      if (entry.isDirectory() && !skipped.has(name)) directories.push(name);
      const stats = entry.isFile() ? orNull(() => lstatSync(name)) : null;
      if (stats === null || stats.uid !== process.getuid?.()) continue;
      // Blocks of 512 bytes (POSIX), since a sparse file has a size without memory.
      found.set(`${stats.dev}:${stats.ino}`, { name, bytes: 512 * stats.blocks });
    }
  }
  return found;
}

/** Own System V segments to which no process is attached, by the columns that `/proc/sysvipc/shm` names. */
function freeSegments(): Files {
  const [header = "", ...rows] = lines("/proc/sysvipc/shm");
  const names = header.trim().split(/\s+/);
  return new Map(
    rows.flatMap((row) => {
      const values = row.trim().split(/\s+/).map(Number);
      const of = (name: string): number => values[names.indexOf(name)] ?? Number.NaN;
      const bytes = of("rss") + of("swap");
      if (of("uid") !== process.getuid?.() || of("nattch") !== 0 || Number.isNaN(bytes)) return [];
      return [[`shmid ${of("shmid")}`, { name: `System V segment ${of("shmid")}`, bytes }] as const];
    }),
  );
}

/** What a descriptor leads to, if that is a file in RAM. Other file systems may not answer, and are not asked. */
function ramFileOf(link: string, places: readonly string[]): { readonly target: string; readonly stats: Stats } | null {
  const target = orNull(() => readlinkSync(link));
  if (target === null || !(target.startsWith("/memfd:") || places.some((place) => target.startsWith(`${place}/`))))
    return null;
  const stats = orNull(() => statSync(link));
  return stats === null ? null : { target, stats };
}

const ramPlaces = (): readonly string[] => mounts().flatMap(({ place, isInRam }) => (isInRam ? [place] : []));

/** Files that a living process has open or mapped, by key. @param members processes that do not count */
function heldByProcesses(members: readonly number[]): ReadonlySet<string> {
  const held = new Set<string>();
  const places = ramPlaces();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name) && !members.includes(Number(name)))) {
    for (const line of lines(`/proc/${pid}/maps`)) {
      const [, , , , major, minor, inode] = /^(\S+) (\S+) (\S+)( )([0-9a-f]+):([0-9a-f]+) (\d+)/.exec(line) ?? [];
      if (inode === undefined || inode === "0") continue;
      const [high, low] = [Number.parseInt(major ?? "", 16), Number.parseInt(minor ?? "", 16)];
      // As makedev(3) of Linux packs numbers below 4,096 and 1,048,576.
      held.add(`${((low & 0xfff00) << 12) | (high << 8) | (low & 0xff)}:${inode}`);
    }
    for (const descriptor of orNull(() => readdirSync(`/proc/${pid}/fd`)) ?? []) {
      const file = ramFileOf(`/proc/${pid}/fd/${descriptor}`, places);
      if (file !== null) held.add(`${file.stats.dev}:${file.stats.ino}`);
    }
  }
  return held;
}

/** The user's files with a name now, by file system. */
function scan(own: string): ReadonlyMap<string, Files | null> {
  const all = mounts();
  // A file system that a program serves (FUSE) could hold up the gate that looks into it.
  const skipped = new Set([own, ...all.map(({ place }) => place)]);
  const inRam = all.flatMap(({ place, isInRam }) => (isInRam ? [[place, filesBelow(place, skipped)] as const] : []));
  return new Map([...inRam, ["System V", freeSegments()]]);
}

/** Files in RAM that a process has open although no directory names them, by key. */
function openFiles(pid: number, places: readonly string[]): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const descriptor of orNull(() => readdirSync(`/proc/${pid}/fd`)) ?? []) {
    const file = ramFileOf(`/proc/${pid}/fd/${descriptor}`, places);
    if (file?.target.endsWith(" (deleted)")) found.set(`${file.stats.dev}:${file.stats.ino}`, 512 * file.stats.blocks);
  }
  return found;
}

const total = (sizes: Iterable<number>): number => [...sizes].reduce((sum, bytes) => sum + bytes, 0);

/**
 * The user's files in RAM (POSIX shared memory and other files of a tmpfs, memfd, System V segments) that are new or
 * larger since this was made, read while a command runs and after its end. A new one that a process outside the tree
 * holds when it is first seen is not the command's. One that another program made and closed at the same time counts,
 * because nothing separates it.
 */
export class RamFiles {
  readonly #own: string;
  readonly #before: ReadonlyMap<string, Files | null>;
  /** Whether a new file is the command's, by key. */
  readonly #isOwn = new Map<string, boolean>();
  readonly #timesNs: number[] = [];
  readonly #bytes: number[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** @param own directory of the run, whose files are the gate's */
  constructor(own: string) {
    this.#own = own;
    this.#before = orNull(() => scan(own)) ?? new Map();
  }

  /** Read now and, until the end, once a second, for at most 1/200 of a core. */
  watch(pids: () => readonly number[], elapsedNs: () => number): void {
    clearTimeout(this.#timer);
    const began = elapsedNs();
    const before = process.cpuUsage();
    const bytes = orNull(() => this.#held(pids()));
    if (bytes !== null) {
      // Of equal readings the first and the last are kept.
      if (bytes === this.#bytes.at(-1) && bytes === this.#bytes.at(-2)) this.#timesNs.pop();
      else this.#bytes.push(bytes);
      this.#timesNs.push(began);
    }
    const { user, system } = process.cpuUsage(before);
    const tookMs = (user + system) / 1000;
    this.#timer = setTimeout(() => this.watch(pids, elapsedNs), Math.max(PERIOD_MS, COST * tookMs));
    this.#timer.unref();
  }

  /** What was read, once every process of the command is over. */
  end(): Pick<RecordingInfo, "left_behind" | "ram_files"> {
    clearTimeout(this.#timer);
    const left = orNull(() => this.#left());
    const read = this.#bytes.some((bytes) => bytes > 0);
    return {
      ...(left === null ? {} : { left_behind: left }),
      ...(read ? { ram_files: { times_ns: this.#timesNs, bytes: this.#bytes } } : {}),
    };
  }

  /** New and grown files of the command that have a name, by key; null when none could be read, before and now. */
  #gained(pids: readonly number[]): Files | null {
    const pairs = [...scan(this.#own)].flatMap(([place, now]) => {
      const before = this.#before.get(place);
      return now === null || before === null || before === undefined ? [] : [{ now, before }];
    });
    if (pairs.length === 0) return null;
    const gained = pairs.flatMap(({ now, before }) =>
      [...now].map(([key, { name, bytes }]) => [key, { name, bytes: bytes - (before.get(key)?.bytes ?? 0) }] as const),
    );
    const found = gained.filter(([, { bytes }]) => bytes > 0);
    if (found.some(([key]) => !this.#isOwn.has(key))) {
      const held = heldByProcesses(pids);
      for (const [key] of found) if (!this.#isOwn.has(key)) this.#isOwn.set(key, !held.has(key));
    }
    return new Map(found.filter(([key]) => this.#isOwn.get(key)));
  }

  /** Bytes of the new and grown files, and of those without a name that the processes have open. */
  #held(pids: readonly number[]): number | null {
    const gained = this.#gained(pids);
    if (gained === null) return null;
    const places = ramPlaces();
    const unnamed = new Map(pids.flatMap((pid) => [...openFiles(pid, places)]));
    return total([...gained.values()].map(({ bytes }) => bytes)) + total(unnamed.values());
  }

  #left(): LeftBehind | null {
    const gained = this.#gained([]);
    if (gained === null) return null;
    const held = gained.size === 0 ? new Set() : heldByProcesses([]);
    const left = [...gained].flatMap(([key, file]) => (held.has(key) ? [] : [file])).sort((a, b) => b.bytes - a.bytes);
    return { bytes: total(left.map(({ bytes }) => bytes)), count: left.length, files: left.slice(0, MAX_NAMES) };
  }
}
