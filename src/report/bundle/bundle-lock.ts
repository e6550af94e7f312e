import { readFileSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import path from "node:path";
import { GateError } from "../../core/errors.ts";

/** Names the gate that is writing the bundle; gone when it has ended. */
export const LOCK_FILE = ".writing";

/** Start of a process in clock ticks since boot, which tells a reused pid from its first owner; null where it cannot be read. */
function startTicks(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name in parentheses may hold blanks and parentheses itself; field 22 is the 20th behind it.
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
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** The pid of another gate of this machine that is still writing; null when the lock is ours or was left by a dead one. */
function ownerOf(text: string): number | null {
  const [host, pidText, ticks] = text.trimEnd().split(" ");
  const pid = Number(pidText);
  if (host !== hostname() || !Number.isInteger(pid) || pid <= 0 || pid === process.pid || !isAlive(pid)) return null;
  const now = startTicks(pid);
  return now === null || ticks === "-" || now === ticks ? pid : null;
}

/**
 * Take a bundle's directory for this process: a second gate in the same place would delete the runs of the first one while
 * it measures. A lock of a killed gate is taken over.
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
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    const owner = ownerOf(await readFile(file, "utf8").catch(() => ""));
    if (owner !== null) throw inUse(directory, `another gate (process ${owner}) is writing this bundle`);
    await rm(file, { force: true });
  }
  throw inUse(directory, "another gate is writing this bundle");
}

export async function unlockBundle(directory: string): Promise<void> {
  await rm(path.join(directory, LOCK_FILE), { force: true });
}

function inUse(directory: string, message: string): GateError {
  return new GateError("BUNDLE_IN_USE", message, {
    kind: "error",
    where: directory,
    hint: "Wait for it, or choose another directory with --bundle.",
  });
}
