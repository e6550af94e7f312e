import { readlinkSync } from "node:fs";

/** Inode of the machine's first pid namespace (PROC_PID_INIT_INO of Linux). */
export const FIRST_PID_NAMESPACE = "pid:[4026531836]";

/** Whether this process runs in a pid namespace: a driver's list may then have other numbers. False if unreadable. */
export function inPidNamespace(link = "/proc/self/ns/pid"): boolean {
  try {
    const name = readlinkSync(link);
    return name.startsWith("pid:[") && name !== FIRST_PID_NAMESPACE;
  } catch {
    return false;
  }
}
