import { helperEnvironment, runChild } from "../core/process/child.ts";

export interface PsRow {
  readonly pid: number;
  readonly parent: number;
  readonly rssBytes: number;
}

/** Rows of `ps -A -o pid=,ppid=,rss=`; lines that are not three numbers are left out. */
export function parsePs(text: string): PsRow[] {
  const rows: PsRow[] = [];
  for (const line of text.split("\n")) {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s*$/.exec(line);
    if (match) rows.push({ pid: Number(match[1]), parent: Number(match[2]), rssBytes: Number(match[3]) * 1024 });
  }
  return rows;
}

/** Every process of the machine, for systems without `/proc`. */
export async function allProcesses(): Promise<PsRow[]> {
  const options = { env: helperEnvironment(), timeoutMs: 10_000, maxBytes: 16 * 2 ** 20 };
  const { end, stdout, stderr } = await runChild("/bin/ps", ["-A", "-o", "pid=,ppid=,rss="], options);
  if (end.kind !== "exit" || end.code !== 0) throw new Error(`ps does not list the processes: ${stderr.trim()}`);
  return parsePs(stdout);
}

/** The rows below `root`, with its own row or without. */
export function descendantsOf(rows: readonly PsRow[], root: number, includeRoot: boolean): PsRow[] {
  const members = new Set([root]);
  for (let size = 0; size !== members.size; ) {
    size = members.size;
    for (const { pid, parent } of rows) if (members.has(parent)) members.add(pid);
  }
  return rows.filter(({ pid }) => members.has(pid) && (includeRoot || pid !== root));
}
