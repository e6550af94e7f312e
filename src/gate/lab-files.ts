import { readFileSync } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { GateError, invalidInput } from "../core/errors.ts";
import { type LabDocument, parseLabDocument } from "../report/lab-document.ts";
import { type LabPicture, labHtml, labMarkdown } from "../report/lab-report.ts";
import { LAB_FILE } from "./lab-run.ts";

/** A round as it was left. */
export interface LabRound {
  readonly document: LabDocument;
  /** Absolute folder that the bundles are named from. */
  readonly folder: string;
}

async function readRound(place: string): Promise<LabRound> {
  const stats = await stat(place).catch(() => null);
  const file = stats?.isDirectory() ? path.join(place, LAB_FILE) : place;
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw invalidInput(
      "LAB_UNREADABLE",
      `there is no round of the leak lab (${code})`,
      file,
      "`stormlog-gate lab run` leaves one.",
    );
  }
  try {
    return { document: parseLabDocument(JSON.parse(text), file), folder: path.dirname(file) };
  } catch (error) {
    if (error instanceof GateError) throw error;
    throw invalidInput("LAB_INVALID", "it is not JSON", file);
  }
}

/**
 * The rounds that lie in these folders (or files), in their order.
 * @throws GateError LAB_UNREADABLE, LAB_INVALID (exit 5)
 */
export async function readRounds(places: readonly string[]): Promise<readonly LabRound[]> {
  return Promise.all(places.map(readRound));
}

/** Timelines from the bundles. A name in a document leads to no file outside its folder. */
function pictures(rounds: readonly LabRound[]): LabPicture {
  return (index, name, state) => {
    const round = rounds[index];
    const bundle = round?.document.patterns.find((pattern) => pattern.name === name)?.[state]?.bundle;
    if (round === undefined || bundle === undefined) return null;
    const file = path.resolve(round.folder, bundle, "timeline.png");
    if (!file.startsWith(round.folder + path.sep)) return null;
    try {
      return readFileSync(file).toString("base64");
    } catch {
      return null;
    }
  };
}

/**
 * Write the report of these rounds as markdown and as a page.
 * @returns the files
 * @throws GateError OUTPUT_UNWRITABLE
 */
export async function writeLabReport(folder: string, rounds: readonly LabRound[]): Promise<readonly string[]> {
  const documents = rounds.map(({ document }) => document);
  const files = [
    [path.join(folder, "leak-lab.md"), labMarkdown(documents)],
    [path.join(folder, "leak-lab.html"), labHtml(documents, pictures(rounds))],
  ] as const;
  try {
    await mkdir(folder, { recursive: true });
    for (const [file, content] of files) await writeFile(file, content);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new GateError("OUTPUT_UNWRITABLE", `the report cannot be written (${code})`, {
      kind: "error",
      where: folder,
    });
  }
  return files.map(([file]) => file);
}
