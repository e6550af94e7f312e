import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { GateError } from "../core/errors.ts";
import { svgToPng } from "../report/timeline/timeline-png.ts";
import type { ScaleDocument } from "./report/scale-document.ts";
import { scalePicture } from "./report/scale-picture.ts";
import { scaleMarkdown } from "./report/scale-table.ts";
import { unwritable } from "./unwritable.ts";

/** The document's file in the directory of the results, and what is drawn and written of it. */
export const SCALE_FILE = "lab-scale.json";
export const SCALE_PICTURE = "lab-scale.png";
export const SCALE_TABLE = "lab-scale.md";
/** Lies in a directory that a search made or found empty, so that the next one knows what it may replace. */
const OWNED = ".lab-scale";
/** What a search puts into its directory. */
const RESULTS = ["baselines", "probes", SCALE_FILE, SCALE_PICTURE, SCALE_TABLE] as const;

/**
 * Make the directory, or take what an earlier search left out of it: its baselines would be compared with. A directory
 * that is somebody else's is searched into only where nothing there bears the name of a result, and nothing is ever
 * taken out of it.
 * @throws GateError LAB_FOLDER_TAKEN (usage), LAB_UNWRITABLE
 */
export async function prepareScaleDirectory(directory: string): Promise<void> {
  try {
    await mkdir(directory, { recursive: true });
    const there = await readdir(directory);
    if (there.length === 0) return await writeFile(path.join(directory, OWNED), "");
    const results = RESULTS.filter((name) => there.includes(name));
    if (results.length === 0) return;
    if (!there.includes(OWNED))
      throw new GateError("LAB_FOLDER_TAKEN", `the directory holds ${results.join(", ")}, and no search made it`, {
        kind: "usage",
        where: directory,
        hint: "Name a new directory with --output.",
      });
    for (const name of results) await rm(path.join(directory, name), { recursive: true, force: true });
  } catch (error) {
    if (error instanceof GateError) throw error;
    unwritable(directory, error as NodeJS.ErrnoException);
  }
}

/** Free the disk of the bundles of a size that is not needed. */
export async function dropBundles(directory: string, bundles: string): Promise<void> {
  await rm(path.join(directory, bundles), { recursive: true, force: true });
}

/** Write the document, its table and its picture, each whole or not at all. @throws GateError LAB_UNWRITABLE */
export async function writeScaleDocument(directory: string, document: ScaleDocument): Promise<void> {
  const files = [
    [SCALE_FILE, `${JSON.stringify(document, null, 2)}\n`],
    [SCALE_TABLE, scaleMarkdown(document, SCALE_PICTURE)],
    [SCALE_PICTURE, await svgToPng(scalePicture(document))],
  ] as const;
  try {
    for (const [name, content] of files) {
      const file = path.join(directory, name);
      await writeFile(`${file}.new`, content);
      await rename(`${file}.new`, file);
    }
  } catch (error) {
    unwritable(directory, error as NodeJS.ErrnoException);
  }
}
