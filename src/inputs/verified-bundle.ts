import { existsSync } from "node:fs";
import path from "node:path";
import { GateError, invalidInput } from "../core/errors.ts";
import { treeBelow } from "../core/tree.ts";
import { type BundleManifest, readManifest } from "../report/bundle/bundle.ts";
import { corruptBundle, verifyFiles } from "../report/bundle/read-bundle.ts";
import { candidateRuns } from "./foreign/read-directory.ts";

/**
 * Compare the files of a bundle that are about to be read with its manifest.
 * @returns why they could not be compared; null when they were, and for the bundle of a killed gate, which lists none
 * @throws GateError BUNDLE_CORRUPT (exit 5)
 */
export async function verifyBundle(directory: string, names: readonly string[]): Promise<string | null> {
  let manifest: BundleManifest;
  try {
    manifest = await readManifest(directory);
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    return `${NOT_VERIFIED}: ${error.message}`;
  }
  return manifest.exit_code === null ? null : verifyFiles(directory, manifest.files, names);
}

/** Files that the manifest of a bundle lists, of one kind; empty where its manifest cannot be read. */
export async function listedFiles(directory: string, kind: RegExp): Promise<readonly string[]> {
  try {
    return (await readManifest(directory)).files.map((file) => file.path).filter((name) => kind.test(name));
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    return [];
  }
}

/** How a note about it begins. */
export const NOT_VERIFIED = "this bundle is not verified";

/** {@link verifyBundle} for its recordings. Null also for a directory that is not a bundle. */
export async function verifyRuns(directory: string): Promise<string | null> {
  if (!existsSync(path.join(directory, "runs"))) return null;
  const { entries, unread } = treeBelow(path.join(directory, "runs"));
  if (unread.length > 0) {
    throw corruptBundle(
      directory,
      unread.map((one) => path.posix.join("runs", one.path)),
    );
  }
  // Files of a run that a reader of recordings opens.
  const all = entries
    .map((entry) => `runs/${entry.path}`)
    .filter((name) => /^runs\/.+\/(?:recording\.json|samples\.parquet|samples\.rec|probe\/[^/]+)$/.test(name));
  const read = candidateRuns(all);
  const present = new Set(read);
  // The sampler's own file is only read where the Parquet file is missing.
  const names = read.filter((name) => !name.endsWith(".rec") || !present.has(name.replace(/rec$/, "parquet")));
  return verifyBundle(directory, names);
}

/**
 * A file of a bundle that was compared with the manifest.
 * @throws GateError INPUT_NOT_FOUND, BUNDLE_CORRUPT (exit 5)
 */
export async function verifiedFile(
  directory: string,
  name: string,
): Promise<{ readonly file: string; readonly note: string | null }> {
  const file = path.join(directory, name);
  if (!existsSync(file)) throw invalidInput("INPUT_NOT_FOUND", `${directory} has no ${name}`, file);
  return { file, note: await verifyBundle(directory, [name.split(path.sep).join("/")]) };
}
