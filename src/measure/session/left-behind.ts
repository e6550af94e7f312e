import { type Dirent, lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { LeftBehind } from "../../telemetry/recording/recording-schema.ts";

/** Files in RAM by device and inode, or the id of a System V segment. */
type RamFiles = ReadonlyMap<string, { readonly name: string; readonly bytes: number }>;

/** Entries of one file system that are looked at; a larger one is not judged. */
const MAX_ENTRIES = 10_000;
/** Names that are recorded, the largest files first. */
const MAX_NAMES = 16;
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
function filesBelow(mount: string, own: string): RamFiles | null {
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
function freeSegments(): RamFiles {
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

/** Files that a living process has open or mapped, by device and inode. */
function heldByProcesses(): ReadonlySet<string> {
  const held = new Set<string>();
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
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

/**
 * The user's files in RAM now, by file system: POSIX shared memory and other files of a tmpfs, System V segments.
 * @param own directory of the run, which is the gate's
 */
export function filesInRam(own: string): ReadonlyMap<string, RamFiles | null> {
  return new Map([...mounts().map((mount) => [mount, filesBelow(mount, own)] as const), ["System V", freeSegments()]]);
}

/**
 * What is in RAM after a command and was not before it: files that no process holds, whose processes are all over.
 * Another program of the same user could have made one at the same time, which nothing tells apart. Null when no file
 * system in RAM could be read, before and after.
 */
export function leftBehind(before: ReturnType<typeof filesInRam>, own: string): LeftBehind | null {
  let known = false;
  const added: { key: string; name: string; bytes: number }[] = [];
  for (const [place, files] of filesInRam(own)) {
    const earlier = before.get(place);
    if (files === null || earlier === null || earlier === undefined) continue;
    known = true;
    for (const [key, { name, bytes }] of files) {
      const grown = bytes - (earlier.get(key)?.bytes ?? 0);
      if (grown > 0) added.push({ key, name, bytes: grown });
    }
  }
  if (!known) return null;
  const held = added.length === 0 ? new Set() : heldByProcesses();
  const left = added.filter(({ key }) => !held.has(key)).sort((a, b) => b.bytes - a.bytes);
  return {
    bytes: left.reduce((sum, { bytes }) => sum + bytes, 0),
    count: left.length,
    files: left.slice(0, MAX_NAMES).map(({ name, bytes }) => ({ name, bytes })),
  };
}
