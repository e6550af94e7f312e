import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

let all: string | null = null;
let count = 0;

/** A fresh directory that is deleted with the process. */
export function ownDirectory(name: string): string {
  if (all === null) {
    const top = mkdtempSync(path.join(tmpdir(), "stormlog-gate-devices-"));
    process.once("exit", () => rmSync(top, { recursive: true, force: true }));
    all = top;
  }
  count += 1;
  const directory = path.join(all, `${name}-${count}`);
  mkdirSync(directory);
  return directory;
}
