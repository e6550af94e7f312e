import { readlinkSync } from "node:fs";

/** Inode of the machine's first pid namespace (PROC_PID_INIT_INO of Linux). */
export const FIRST_PID_NAMESPACE = "pid:[4026531836]";

/**
 * Whether this process runs in a separate pid namespace, as in a container: a driver's lists may then name the job's
 * processes by numbers that are not valid here. False where that cannot be read.
 */
export function inPidNamespace(link = "/proc/self/ns/pid"): boolean {
  try {
    const name = readlinkSync(link);
    return name.startsWith("pid:[") && name !== FIRST_PID_NAMESPACE;
  } catch {
    return false;
  }
}
