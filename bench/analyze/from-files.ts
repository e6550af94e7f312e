import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { FileFormat } from "./files.ts";
import type { FileResult } from "./read-one.ts";

export type FormatResult = FileResult & { readonly format: FileFormat };

function child(script: string, ...args: readonly string[]): string {
  const file = fileURLToPath(new URL(script, import.meta.url));
  const result = spawnSync(process.execPath, [...process.execArgv, file, ...args], { encoding: "utf8" });
  if (result.status !== 0) throw new Error(`${script} ${args.join(" ")} failed: ${result.stderr}`);
  return result.stdout;
}

/** Writes a recording of about `values` values as a file, reads and analyses it, and deletes the file. */
export function fromFile(format: FileFormat, values: number): FormatResult {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-gate-bench-"));
  try {
    const file = path.join(directory, `samples.${format}`);
    child("./write-one.ts", format, file, String(values));
    return { format, ...JSON.parse(child("./read-one.ts", file)) };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
