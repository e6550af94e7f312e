import { readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { GateError } from "../core/errors.ts";
import { makeDirectories, writeAtomically } from "../core/files.ts";
import type { ScaleDocument } from "./report/scale-document.ts";
import { unwritable } from "./unwritable.ts";

/** File of the results. */
export const SCALE_FILE = "lab-scale.json";
/** Marks a directory that a search made or found empty. The next search may replace its results. */
const OWNED = ".lab-scale";
/** Entries that a search makes in its directory. */
const RESULTS = ["baselines", "probes", SCALE_FILE] as const;

/** Make the directory, or empty an earlier search's. @throws GateError LAB_FOLDER_TAKEN (usage), LAB_UNWRITABLE */
export async function prepareScaleDirectory(directory: string): Promise<void> {
  try {
    makeDirectories(directory);
    const there = await readdir(directory);
    if (there.length === 0) return await writeFile(path.join(directory, OWNED), "");
    const results = RESULTS.filter((name) => there.includes(name));
    if (results.length === 0) return;
    if (!there.includes(OWNED))
      throw new GateError("LAB_FOLDER_TAKEN", `the directory contains ${results.join(", ")}, but no search made it`, {
        kind: "usage",
        where: directory,
        hint: "Name a new directory with --output.",
      });
    for (const name of results) await rm(path.join(directory, name), { recursive: true, force: true });
  } catch (error) {
    if (error instanceof GateError) throw error;
    unwritable(directory, error);
  }
}

/** Remove the bundles of a size that is not needed. */
export async function dropBundles(directory: string, bundles: string): Promise<void> {
  await rm(path.join(directory, bundles), { recursive: true, force: true });
}

/** Write the document atomically. @throws GateError LAB_UNWRITABLE */
export async function writeScaleDocument(directory: string, document: ScaleDocument): Promise<void> {
  try {
    await writeAtomically(path.join(directory, SCALE_FILE), `${JSON.stringify(document, null, 2)}\n`);
  } catch (error) {
    unwritable(directory, error);
  }
}
