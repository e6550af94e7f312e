import { type Dirent, lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
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

const lines = (file: string): readonly string[] => {
  try {
    return readFileSync(file, "utf8").split("\n");
  } catch {
    return [];
  }
};

/** Places of the file systems in RAM that a command can write to, "\040" for a blank. */
const mounts = (): readonly string[] =>
  lines("/proc/self/mounts").flatMap((line) => {
    const [, place = "", kind = ""] = line.split(" ");
    const named = place.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));
    return IN_RAM.test(kind) && !OF_THE_SYSTEM.test(named) ? [named] : [];
  });

/** Own files below a mount point; null when there are too many. */
function filesBelow(mount: string, own: string): Files | null {
  const found = new Map<string, { name: string; bytes: number }>();
  const directories = [mount];
  let entries = 0;
  for (let at = directories.pop(); at !== undefined; at = directories.pop()) {
    let inside: Dirent[];
    try {
      inside = readdirSync(at, { withFileTypes: true });
    } catch {
      continue;
    }
    entries += inside.length;
    if (entries > MAX_ENTRIES) return null;
    for (const entry of inside) {
      const name = path.join(at, entry.name);
      if (entry.isDirectory() && name !== own) directories.push(name);
      const stats = entry.isFile() ? lstatSync(name, { throwIfNoEntry: false }) : undefined;
      if (stats === undefined || stats.uid !== process.getuid?.()) continue;
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

/** Files that a living process has open or mapped, by key. @param members processes that do not count */
function heldByProcesses(members: readonly number[]): ReadonlySet<string> {
  const held = new Set<string>();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name) && !members.includes(Number(name)))) {
    for (const line of lines(`/proc/${pid}/maps`)) {
      const [, , , , major, minor, inode] = /^(\S+) (\S+) (\S+)( )([0-9a-f]+):([0-9a-f]+) (\d+)/.exec(line) ?? [];
      if (inode === undefined || inode === "0") continue;
      const [high, low] = [Number.parseInt(major ?? "", 16), Number.parseInt(minor ?? "", 16)];
      // As makedev(3) of Linux packs numbers below 4,096 and 1,048,576.
      held.add(`${((low & 0xfff00) << 12) | (high << 8) | (low & 0xff)}:${inode}`);
    }
    try {
      for (const descriptor of readdirSync(`/proc/${pid}/fd`)) {
        const stats = statSync(`/proc/${pid}/fd/${descriptor}`, { throwIfNoEntry: false });
        if (stats !== undefined) held.add(`${stats.dev}:${stats.ino}`);
      }
    } catch {
      // It has ended, or is another user's, whose files are not counted.
    }
  }
  return held;
}

/** The user's files with a name now, by file system. */
function scan(own: string): ReadonlyMap<string, Files | null> {
  return new Map([...mounts().map((mount) => [mount, filesBelow(mount, own)] as const), ["System V", freeSegments()]]);
}

/** Files of these file systems, and memfd, that a process has open although no directory names them, by key. */
function openFiles(pid: number, devices: ReadonlySet<number>): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  try {
    for (const descriptor of readdirSync(`/proc/${pid}/fd`)) {
      const link = `/proc/${pid}/fd/${descriptor}`;
      const target = readlinkSync(link);
      if (!target.endsWith(" (deleted)")) continue;
      const { dev, ino, blocks } = statSync(link);
      if (target.startsWith("/memfd:") || devices.has(dev)) found.set(`${dev}:${ino}`, 512 * blocks);
    }
  } catch {
    // It has ended, or closed one meanwhile, and the next reading has the rest.
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
    this.#before = scan(own);
  }

  /** Read now and, until the end, once a second, for at most 1/200 of a core. */
  watch(pids: () => readonly number[], elapsedNs: () => number): void {
    clearTimeout(this.#timer);
    const began = elapsedNs();
    const before = process.cpuUsage();
    const bytes = this.#held(pids());
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
    const left = this.#left();
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
    const devices = new Set(mounts().flatMap((place) => statSync(place, { throwIfNoEntry: false })?.dev ?? []));
    const unnamed = new Map(pids.flatMap((pid) => [...openFiles(pid, devices)]));
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
