import { type FSWatcher, lstatSync, readdirSync, readFileSync, readlinkSync, statSync, watch } from "node:fs";
import path from "node:path";
import { allPids, childrenOf } from "../../sampler/proc.ts";
import type { LeftBehind, RecordingInfo } from "../../telemetry/recording/recording-schema.ts";

interface RamFile {
  readonly name: string;
  readonly bytes: number;
  /** What the files of one maker have in common. */
  readonly family: string;
}

/** Files in RAM by device and inode, or the id of a System V segment. */
type Files = ReadonlyMap<string, RamFile>;

/** Entries of one file system that are looked at; a larger one is not judged. */
const MAX_ENTRIES = 10_000;
/** Names that are recorded, the largest files first. */
const MAX_NAMES = 16;
const PERIOD_MS = 1000;
/** Directories whose new files are seen at once; those of others are seen while they are open. */
const MAX_WATCHED = 64;
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

/**
 * Own files of a file system; null when there are too many.
 * @param skipped directories that are not looked into  @param directories receives the others
 */
function filesBelow(mount: string, skipped: ReadonlySet<string>, directories: Set<string>): Files | null {
  const found = new Map<string, RamFile>();
  const open = [mount];
  let entries = 0;
  for (let at = open.pop(); at !== undefined; at = open.pop()) {
    const place = at;
    directories.add(place);
    const inside = orNull(() => readdirSync(place, { withFileTypes: true })) ?? [];
    entries += inside.length;
    if (entries > MAX_ENTRIES) return null;
    for (const entry of inside) {
      const name = path.join(at, entry.name);
      if (entry.isDirectory() && !skipped.has(name)) open.push(name);
      const stats = entry.isFile() ? orNull(() => lstatSync(name)) : null;
      if (stats === null || stats.uid !== process.getuid?.()) continue;
      // Blocks of 512 bytes (POSIX), since a sparse file has a size without memory.
      found.set(`${stats.dev}:${stats.ino}`, { name, bytes: 512 * stats.blocks, family: familyOf(name) });
    }
  }
  return found;
}

/** The kernel records which process made a segment. */
const segmentsOf = (maker: number): string => `segments of ${maker}.`;

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
      const name = `System V segment ${of("shmid")}`;
      return [[`shmid ${of("shmid")}`, { name, bytes, family: segmentsOf(of("cpid")) }] as const];
    }),
  );
}

const ramPlaces = (): readonly string[] => mounts().flatMap(({ place, isInRam }) => (isInRam ? [place] : []));

/** A file in RAM that a process has; its bytes are known where it is open and no directory names it, else 0. */
interface OpenFile {
  readonly name: string;
  readonly bytes: number;
}

/** Files in RAM that processes have open or mapped, by key. Other file systems may not answer, and are not asked. */
function filesOf(pids: readonly number[], places: readonly string[]): ReadonlyMap<string, OpenFile> {
  const found = new Map<string, OpenFile>();
  const isInRam = (name: string) => name.startsWith("/memfd:") || places.some((place) => name.startsWith(`${place}/`));
  for (const pid of pids) {
    for (const descriptor of orNull(() => readdirSync(`/proc/${pid}/fd`)) ?? []) {
      const link = `/proc/${pid}/fd/${descriptor}`;
      const name = orNull(() => readlinkSync(link)) ?? "";
      const stats = isInRam(name) ? orNull(() => statSync(link)) : null;
      if (stats === null) continue;
      found.set(`${stats.dev}:${stats.ino}`, { name, bytes: name.endsWith(" (deleted)") ? 512 * stats.blocks : 0 });
    }
    for (const line of lines(`/proc/${pid}/maps`)) {
      const name = line.slice(line.indexOf("/"));
      const [, major, minor, inode] = isInRam(name) ? (/ ([0-9a-f]+):([0-9a-f]+) (\d+) /.exec(line) ?? []) : [];
      if (inode === undefined) continue;
      const [high, low] = [Number.parseInt(major ?? "", 16), Number.parseInt(minor ?? "", 16)];
      // As makedev(3) of Linux packs numbers below 4,096 and 1,048,576.
      const key = `${((low & 0xfff00) << 12) | (high << 8) | (low & 0xff)}:${inode}`;
      if (!found.has(key)) found.set(key, { name, bytes: 0 });
    }
  }
  return found;
}

/** The user's files with a name now, by file system. @param directories receives those that have some, or may */
function scan(own: string, directories: Set<string>): ReadonlyMap<string, Files | null> {
  const all = mounts();
  // A file system that a program serves (FUSE) could hold up the gate that looks into it.
  const skipped = new Set([own, ...all.map(({ place }) => place)]);
  const inRam = all.flatMap(({ place, isInRam }) =>
    isInRam ? [[place, filesBelow(place, skipped, directories)] as const] : [],
  );
  return new Map([...inRam, ["System V", freeSegments()]]);
}

const total = (files: Iterable<{ readonly bytes: number }>): number =>
  [...files].reduce((sum, { bytes }) => sum + bytes, 0);

/** What a program begins the names of its files with: up to eight digits or random letters make them unique. */
const familyOf = (name: string): string => name.slice(0, Math.max(name.lastIndexOf("/") + 4, name.length - 8));

/** Do something now. @returns milliseconds until it may be done again */
function waitAfter(work: () => void): number {
  const before = process.cpuUsage();
  orNull(work);
  const { user, system } = process.cpuUsage(before);
  return (COST * (user + system)) / 1000;
}

interface Reading {
  readonly timeNs: number;
  /** Bytes by family of names. */
  readonly gained: ReadonlyMap<string, number>;
  /** Of the command's files that have no name. */
  readonly unnamed: number;
}

/**
 * The user's files in RAM (POSIX shared memory and other files of a tmpfs, memfd, System V segments) that are new or
 * larger since this was made, read while a command runs and after its end. They are the command's where one of its
 * processes was seen to have one of that family of names open: many are closed within a millisecond, so the processes
 * are looked at when one appears. The kernel does not record who made a file.
 */
export class RamFiles {
  readonly #directory: string;
  readonly #before: ReadonlyMap<string, Files | null>;
  readonly #directories = new Set<string>();
  readonly #places = ramPlaces();
  /** Families of the command's files. */
  readonly #own = new Set<string>();
  readonly #readings: Reading[] = [];
  #members: readonly number[] = [];
  #nextLookMs = 0;
  readonly #watchers = new Map<string, FSWatcher | null>();
  #timer: NodeJS.Timeout | undefined;

  /** @param directory of the run, whose files are the gate's */
  constructor(directory: string) {
    this.#directory = directory;
    this.#before = orNull(() => scan(directory, this.#directories)) ?? new Map();
  }

  /** Read now and, until the end, once a second, for at most 1/200 of a core. */
  watch(pids: () => readonly number[], elapsedNs: () => number): void {
    clearTimeout(this.#timer);
    this.#watchDirectories();
    const waitMs = waitAfter(() => this.#read(pids(), elapsedNs()));
    this.#timer = setTimeout(() => this.watch(pids, elapsedNs), Math.max(PERIOD_MS, waitMs));
    this.#timer.unref();
  }

  /** What was read, once every process of the command is over. */
  end(): Pick<RecordingInfo, "left_behind" | "ram_files"> {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher?.close();
    const left = orNull(() => this.#left());
    const bytes = this.#readings.map(({ gained, unnamed }) =>
      [...gained].reduce((sum, [family, size]) => sum + (this.#isOwn(family) ? size : 0), unnamed),
    );
    const times_ns = this.#readings.map(({ timeNs }) => timeNs);
    return {
      ...(left === null ? {} : { left_behind: left }),
      ...(bytes.some((one) => one > 0) ? { ram_files: { times_ns, bytes } } : {}),
    };
  }

  #watchDirectories(): void {
    for (const directory of this.#directories) {
      if (this.#watchers.size >= MAX_WATCHED || this.#watchers.has(directory)) continue;
      const look = (name: string | null) => this.#look(path.join(directory, name ?? ""));
      const watcher = orNull(() => watch(directory, { persistent: false }, (_, name) => look(name)));
      watcher?.on("error", () => watcher.close());
      this.#watchers.set(directory, watcher);
    }
  }

  /** A file appeared, or was written: who has it open? Children may be younger than the last reading. */
  #look(name: string): void {
    const now = performance.now();
    if (now < this.#nextLookMs || this.#isOwn(name)) return;
    const known = this.#members;
    this.#nextLookMs =
      now + waitAfter(() => this.#see([...new Set([...known, ...known.flatMap((pid) => childrenOf(pid) ?? [])])]));
  }

  /** Whether the command has files of that family; of a name, it is a longer one. */
  #isOwn(family: string): boolean {
    return [...this.#own].some((own) => own.startsWith(family) || family.startsWith(own));
  }

  /** The files of the command's processes, whose families are its own. */
  #see(pids: readonly number[]): ReadonlyMap<string, OpenFile> {
    this.#members = pids;
    const open = filesOf(pids, this.#places);
    for (const { name } of open.values()) this.#own.add(familyOf(name));
    for (const pid of pids) this.#own.add(segmentsOf(pid));
    return open;
  }

  /** New and grown files that have a name, by key; null when none could be read, before and now. */
  #gained(): Files | null {
    const pairs = [...scan(this.#directory, this.#directories)].flatMap(([place, now]) => {
      const before = this.#before.get(place);
      return now === null || before === null || before === undefined ? [] : [{ now, before }];
    });
    if (pairs.length === 0) return null;
    const gained = pairs.flatMap(({ now, before }) =>
      [...now].map(([key, file]) => [key, { ...file, bytes: file.bytes - (before.get(key)?.bytes ?? 0) }] as const),
    );
    return new Map(gained.filter(([, { bytes }]) => bytes > 0));
  }

  #read(pids: readonly number[], timeNs: number): void {
    const open = this.#see(pids);
    const files = this.#gained();
    if (files === null) return;
    const gained = new Map<string, number>();
    for (const { family, bytes } of files.values()) gained.set(family, (gained.get(family) ?? 0) + bytes);
    const unnamed = total(open.values());
    const isSame = (one: Reading | undefined) =>
      one?.unnamed === unnamed && String([...one.gained]) === String([...gained]);
    // Of equal readings the first and the last are kept.
    if (isSame(this.#readings.at(-1)) && isSame(this.#readings.at(-2))) this.#readings.pop();
    this.#readings.push({ timeNs, gained, unnamed });
  }

  #left(): LeftBehind | null {
    const gained = this.#gained();
    if (gained === null) return null;
    const held = gained.size === 0 ? null : filesOf(allPids(), this.#places);
    const free = [...gained].flatMap(([key, file]) => (held?.has(key) ? [] : [file])).sort((a, b) => b.bytes - a.bytes);
    const listed = (files: readonly RamFile[]) => ({
      bytes: total(files),
      count: files.length,
      files: files.slice(0, MAX_NAMES).map(({ name, bytes }) => ({ name, bytes })),
    });
    const unknown = listed(free.filter(({ family }) => !this.#isOwn(family)));
    const own = listed(free.filter(({ family }) => this.#isOwn(family)));
    return unknown.count === 0 ? own : { ...own, unknown };
  }
}
