import { openSync, readSync } from "node:fs";
import { GateError } from "../errors.ts";

/** Larger than the kernel's table. */
const TABLE_BYTES = 4096;

/** Held open, since a lowered limit forbids opening it. Null where the system has no such table. */
let held: { readonly descriptor: number; readonly before: readonly string[] } | null | undefined;

function readTable(descriptor: number): readonly string[] {
  const buffer = Buffer.alloc(TABLE_BYTES);
  return buffer.toString("latin1", 0, readSync(descriptor, buffer, 0, TABLE_BYTES, 0)).split("\n");
}

/** Remembers the resource limits of this process, once, before a measured command can change them. */
export function rememberLimits(): void {
  if (held !== undefined) return;
  try {
    const descriptor = openSync("/proc/self/limits", "r");
    held = { descriptor, before: readTable(descriptor) };
  } catch {
    held = null;
  }
}

/** "Max open files from 1024:4096 to 3:3", as `prlimit` writes soft and hard limits. */
function changeOf(before: string, now: string): string {
  const limits = (line: string) => line.slice(26).trim().split(/\s+/).slice(0, 2).join(":");
  return `${before.slice(0, 26).trim()} from ${limits(before)} to ${limits(now)}`;
}

/**
 * An error that names the limits that another process has changed; null when none differs from before.
 * @param cause what failed since
 */
export function limitsError(cause?: unknown): GateError | null {
  if (held == null) return null;
  const now = readTable(held.descriptor);
  const changes = held.before.flatMap((line, at) => (line === now[at] ? [] : [changeOf(line, now[at] ?? "")]));
  if (changes.length === 0) return null;
  const message = `resource limits of the gate were changed while it measured: ${changes.join(", ")}`;
  return new GateError("LIMITS_CHANGED", message, {
    cause,
    hint: "The measured command, or another process of its user, called prlimit on the gate. Find it and run again.",
  });
}
