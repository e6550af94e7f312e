import { readFileSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import path from "node:path";
import { codeOf, GateError } from "../../core/errors.ts";
import { readBounded } from "../../core/files.ts";

/** Contains the process of the gate that writes the bundle; deleted when it ends. */
export const LOCK_FILE = ".writing";

/** Start of a process in clock ticks since boot, which differs for a reused pid; null where it cannot be read. */
function startTicks(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name in parentheses may contain spaces and parentheses; field 22 is the 20th after it.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === "EPERM";
  }
}

/** The pid of another live gate of this machine; null when the lock is this process's or its owner is dead. */
function ownerOf(text: string): number | null {
  const [host, pidText, ticks] = text.trimEnd().split(" ");
  const pid = Number(pidText);
  if (host !== hostname() || !Number.isInteger(pid) || pid <= 0 || pid === process.pid || !isAlive(pid)) return null;
  const now = startTicks(pid);
  return now === null || ticks === "-" || now === ticks ? pid : null;
}

/**
 * Lock a bundle's directory: a second gate would delete the runs of the first. A killed gate's lock is taken over.
 * @throws GateError BUNDLE_IN_USE, and the system's error when the file cannot be written
 */
export async function lockBundle(directory: string): Promise<void> {
  const file = path.join(directory, LOCK_FILE);
  const text = `${hostname()} ${process.pid} ${startTicks(process.pid) ?? "-"}\n`;
  for (let attempt = 0; attempt < 2; attempt += 1) {
    try {
      await writeFile(file, text, { flag: "wx" });
      return;
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
    }
    const owner = ownerOf(ownerText(file));
    if (owner !== null) throw inUse(directory, `another gate (process ${owner}) is writing this bundle`);
    await rm(file, { force: true });
  }
  throw inUse(directory, "another gate is writing this bundle");
}

function ownerText(file: string): string {
  try {
    return readBounded(file, 1024, "refuse").toString("utf8");
  } catch {
    return "";
  }
}

export async function unlockBundle(directory: string): Promise<void> {
  await rm(path.join(directory, LOCK_FILE), { force: true });
}

function inUse(directory: string, message: string): GateError {
  return new GateError("BUNDLE_IN_USE", message, {
    where: directory,
    hint: "Wait until it ends, or choose another directory with --bundle.",
  });
}
