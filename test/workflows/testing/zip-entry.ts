import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const SCRIPT =
  "import sys,zipfile\nz=zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nsys.stdout.buffer.write(z.read(sys.argv[2]))";

/** One file of an archive as text, read by Python's zipfile: an implementation that is not the one that wrote it. */
export function zipEntry(archive: Buffer, name: string): string {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-zip-"));
  try {
    writeFileSync(path.join(directory, "a.zip"), archive);
    return execFileSync("python3", ["-c", SCRIPT, path.join(directory, "a.zip"), name], { encoding: "utf8" });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
