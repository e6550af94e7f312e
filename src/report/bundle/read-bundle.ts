import { promises } from "node:fs";
import path from "node:path";
import { type GateError, invalidInput } from "../../core/errors.ts";
import type { StormlogReport } from "../documents/parse-report.ts";
import type { GateReport } from "../model/gate-report.ts";
import { type BundleManifest, readDocument, readManifest } from "./bundle.ts";
import { digest, filesBelow, LIMITS, type ListedFile } from "./bundle-files.ts";

interface ReadBundle {
  readonly manifest: BundleManifest;
  readonly envelope: StormlogReport;
  /** The whole report, with thinned timelines. */
  readonly report: GateReport;
  /** Why the report could not be compared with the manifest; null when it was. */
  readonly note: string | null;
}

/**
 * Read a bundle back. Every value is checked, because the bundle may be untrusted, and the
 * report is compared with the manifest.
 * @throws GateError INPUT_NOT_FOUND, INPUT_TRUNCATED, INPUT_TOO_LARGE, BUNDLE_INVALID, BUNDLE_INCOMPLETE,
 * BUNDLE_CORRUPT, REPORT_INVALID, INPUT_SCHEMA_VERSION
 */
export async function readBundle(directory: string): Promise<ReadBundle> {
  const manifest = await readManifest(directory);
  const file = path.join(directory, "report.json");
  if (manifest.exit_code === null) {
    throw invalidInput(
      "BUNDLE_INCOMPLETE",
      "the gate ended before it wrote its report",
      directory,
      "The recordings are under runs/. Read them with `stormlog-gate analyze`.",
    );
  }
  const { parseStormlogReport } = await import("../documents/parse-report.ts");
  const { envelope, report } = parseStormlogReport(readDocument(directory, path.basename(file)), file);
  const note = await verifyFiles(directory, manifest.files, [path.basename(file)]);
  return { manifest, envelope, report: { ...report, exit_code: manifest.exit_code }, note };
}

/** Files named in a message. */
const MAX_NAMED = 3;

/** The error for files that are not what the manifest lists (`BUNDLE_CORRUPT`, exit 5). */
export function corruptBundle(directory: string, wrong: readonly string[]): GateError {
  const more = wrong.length > MAX_NAMED ? ` and ${wrong.length - MAX_NAMED} more` : "";
  return invalidInput(
    "BUNDLE_CORRUPT",
    `files differ from the manifest: ${wrong.slice(0, MAX_NAMED).join(", ")}${more}`,
    directory,
    "Download the bundle again, or measure again.",
  );
}

/** Listed files that a directory lacks or has with other contents, as an interrupted transfer leaves it. */
export async function alteredFiles(directory: string, listed: readonly ListedFile[]): Promise<readonly string[]> {
  // A listed path could lead out of the directory, a found one cannot.
  const found = new Set(filesBelow(directory, LIMITS.entries + listed.length).found.map((file) => file.path));
  const altered: string[] = [];
  for (const file of listed) {
    const same = found.has(file.path) && (await isUnchanged(path.join(directory, file.path), file));
    if (!same) altered.push(file.path);
  }
  return altered;
}

/**
 * Compare files of a finished bundle with its manifest, before or after they are read. Nothing is digested that has
 * another size than listed, so the cost is bounded by the manifest.
 * @returns a note where the manifest lists no files at all; null when every file was compared
 * @throws GateError BUNDLE_CORRUPT (exit 5) for a file that differs or is not listed
 */
export async function verifyFiles(
  directory: string,
  listed: readonly ListedFile[],
  names: readonly string[],
): Promise<string | null> {
  if (names.length === 0) return null;
  if (listed.length === 0) return "this bundle is not verified: its manifest lists no digests";
  const known = new Map(listed.map((file) => [file.path, file]));
  const wrong: string[] = [];
  for (const name of names) {
    const file = known.get(name);
    const full = path.join(directory, ...name.split("/"));
    if (file === undefined || !(await isUnchanged(full, file))) wrong.push(name);
  }
  if (wrong.length > 0) throw corruptBundle(directory, wrong);
  return null;
}

async function isUnchanged(full: string, { bytes, sha256 }: ListedFile): Promise<boolean> {
  const found = await promises.lstat(full).catch(() => null);
  return found?.isFile() === true && found.size === bytes && (await digest(full)).sha256 === sha256;
}
