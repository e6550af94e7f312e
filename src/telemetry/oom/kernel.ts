/** A process that the kernel killed because of low memory, from its log. */
export interface KernelVictim {
  readonly pid: number;
  readonly name: string;
  /** CLOCK_MONOTONIC nanoseconds, to a millisecond or so. */
  readonly monotonicNs: bigint;
  /** Anonymous memory it used, bytes; null when the line lacks it. */
  readonly anonBytes: number | null;
  /** Limit of the memory group that was full, bytes; null for the whole machine, or when unknown. */
  readonly limitBytes: number | null;
}

/** The kernel's kills during a run; null = could not be read. */
export interface KernelFacts {
  /** Rise of `oom_kill` of the job's memory group, and the time of its first sample (ns since time zero). */
  readonly group: { readonly kills: number; readonly timeNs: number; readonly dedicated: boolean } | null;
  /** Rise of the machine's `oom_kill` in /proc/vmstat. */
  readonly machineKills: number | null;
  /** Processes of the job that the kernel's log lists as killed. */
  readonly victims: readonly KernelVictim[];
}

export const NO_KERNEL_FACTS: KernelFacts = { group: null, machineKills: null, victims: [] };

/** `oom_kill` of /proc/vmstat; null when the text has no such line (Linux before 4.13). */
export function machineOomKills(vmstat: string): number | null {
  const match = /^oom_kill (\d{1,15})$/m.exec(vmstat);
  return match === null ? null : Number(match[1]);
}

const KILLED =
  /^(?<group>Memory cgroup out of memory|Out of memory)[^:]*: Killed process (?<pid>\d{1,10}) \((?<name>.{0,64}?)\)(?:.*?anon-rss:(?<anon>\d{1,15})kB)?/;

/** Kills in records of /dev/kmsg ("6,339,5140900,-;NET: …"), in order. Records that are something else are skipped. */
export function victimsIn(records: readonly string[]): KernelVictim[] {
  const victims: KernelVictim[] = [];
  let limit: number | null = null;
  for (const record of records) {
    const parts = /^\d+,\d+,(?<micros>\d{1,18}),[^;]*;(?<text>.*)/.exec(record)?.groups;
    if (parts?.text === undefined) continue;
    const full = /^memory: usage \d{1,15}kB, limit (?<limit>\d{1,15})kB/.exec(parts.text)?.groups?.limit;
    if (full !== undefined) limit = Number(full) * 1024;
    const killed = KILLED.exec(parts.text)?.groups;
    if (killed === undefined) continue;
    victims.push({
      pid: Number(killed.pid),
      name: killed.name ?? "",
      monotonicNs: BigInt(parts.micros ?? 0) * 1000n,
      anonBytes: killed.anon === undefined ? null : Number(killed.anon) * 1024,
      limitBytes: killed.group === "Out of memory" ? null : limit,
    });
    limit = null;
  }
  return victims;
}

/** "3.2 s" for a time since the start. */
export const secondsText = (timeNs: number): string => `${(timeNs / 1e9).toFixed(1)} s`;
