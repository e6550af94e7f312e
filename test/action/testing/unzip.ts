import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const SCRIPT =
  "import sys,zipfile,hashlib,json\nz=zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\n" +
  "print(json.dumps({i.filename:hashlib.sha256(z.read(i)).hexdigest() for i in z.infolist() if not i.is_dir()}))";

/**
 * SHA-256 of every file in an archive, read by Python's zipfile: an implementation that is not the one that wrote it.
 */
export function zipHashes(archive: Buffer): Record<string, string> {
  const directory = mkdtempSync(path.join(tmpdir(), "stormlog-zip-"));
  try {
    writeFileSync(path.join(directory, "a.zip"), archive);
    return JSON.parse(execFileSync("python3", ["-c", SCRIPT, path.join(directory, "a.zip")], { encoding: "utf8" }));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The same of a directory. */
export function directoryHashes(directory: string): Record<string, string> {
  const hashes: Record<string, string> = {};
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    hashes[path.relative(directory, file)] = createHash("sha256").update(readFileSync(file)).digest("hex");
  }
  return hashes;
}
