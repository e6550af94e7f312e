import { readFileSync } from "node:fs";
import { closeProcess } from "../sampler/native.ts";

/** What is known of a process by its number; the tests have simulated ones. */
export interface ProcessFiles {
  readonly environ: (pid: number) => string;
  readonly parent: (pid: number) => number;
}

const PROC: ProcessFiles = {
  environ: (pid) => readFileSync(`/proc/${pid}/environ`, "latin1"),
  parent: (pid) => Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1] ?? 0),
};

/**
 * Close this process to the code that is searched, before any of it runs.
 * @returns the variables that this code can read all the same, in this process or in the ones that started it
 */
export function closeSearch(variables: readonly string[], platform = process.platform): readonly string[] {
  return closeProcess() !== null || platform !== "linux" ? variables : readableVariables(variables, process.pid, PROC);
}

/** The variables that the environment of a process or of one above it has, as far as they can be read. */
export function readableVariables(variables: readonly string[], from: number, files: ProcessFiles): readonly string[] {
  const found = new Set<string>();
  for (let pid = from; pid > 0; pid = parentOf(pid, files)) {
    const names = namesIn(pid, files);
    for (const name of variables) if (names.has(name)) found.add(name);
  }
  return variables.filter((name) => found.has(name));
}

function namesIn(pid: number, files: ProcessFiles): ReadonlySet<string | undefined> {
  try {
    return new Set(
      files
        .environ(pid)
        .split("\0")
        .map((entry) => entry.split("=")[0]),
    );
  } catch {
    // It has ended, belongs to another user or is closed.
    return new Set();
  }
}

function parentOf(pid: number, files: ProcessFiles): number {
  try {
    return files.parent(pid);
  } catch {
    return 0;
  }
}
