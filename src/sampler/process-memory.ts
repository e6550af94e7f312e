import { closeSync, openSync, readSync } from "node:fs";
import { codeOf } from "../core/errors.ts";
import { type ProcStatus, parseStatm, parseStatus, readStat, readText } from "./proc.ts";

const STATM_BYTES = 128;
const buffer = Buffer.alloc(STATM_BYTES);

/** Memory of a process through an open `statm`. Once it is reaped, reads fail, never showing the pid's next one. */
export class ProcessMemory {
  readonly pid: number;
  readonly startTicks: number;
  /** Last `status` reading; null before the first. */
  status: ProcStatus | null = null;
  nextStatusNs = 0;
  readonly #fd: number;

  private constructor(pid: number, startTicks: number, fd: number) {
    this.pid = pid;
    this.startTicks = startTicks;
    this.#fd = fd;
  }

  /** Null when the process is gone. Throws when the file cannot be opened for another reason. */
  static open(pid: number): ProcessMemory | null {
    try {
      const fd = openSync(`/proc/${pid}/statm`, "r");
      const stat = readStat(pid);
      if (stat !== null) return new ProcessMemory(pid, stat.startTicks, fd);
      closeSync(fd);
      return null;
    } catch (error) {
      const code = codeOf(error);
      if (code === "ENOENT" || code === "ESRCH") return null;
      throw error;
    }
  }

  /** Resident and shared pages; null once the process has ended (a zombie's memory is gone as well). */
  read(): { readonly resident: number; readonly shared: number } | null {
    let size: number;
    try {
      size = readSync(this.#fd, buffer, 0, STATM_BYTES, 0);
    } catch {
      return null;
    }
    const statm = parseStatm(buffer.toString("latin1", 0, size));
    return statm === null || statm.resident === 0 ? null : statm;
  }

  /** Read `status` by pid. The caller has just read the open descriptor, so the pid is not reused. */
  readStatus(): ProcStatus | null {
    const text = readText(`/proc/${this.pid}/status`);
    if (text === null) return null;
    const status = parseStatus(text);
    if (status.highWater === null && status.anon === null) return null;
    this.status = status;
    return status;
  }

  close(): void {
    closeSync(this.#fd);
  }
}
