import { readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { codeOf, GateError, invalidInput } from "../core/errors.ts";
import { makeDirectories } from "../core/files.ts";
import { type LabDocument, parseLabDocument } from "./report/document.ts";
import { labMarkdown } from "./report/report.ts";
import { LAB_FILE } from "./round.ts";

/** A round that was run. */
export interface LabRound {
  readonly document: LabDocument;
  /** Absolute directory that the bundles are named from. */
  readonly directory: string;
}

function noRound(location: string, why: string): GateError {
  return invalidInput(
    "LAB_UNREADABLE",
    `not a round of the leak lab (${why})`,
    location,
    "Name a directory that `stormlog-gate lab run` wrote.",
  );
}

async function readRound(location: string): Promise<LabRound> {
  const stats = await stat(location).catch(() => null);
  const file = stats?.isDirectory() ? path.join(location, LAB_FILE) : location;
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw noRound(file, codeOf(error) ?? String(error));
  }
  try {
    return { document: parseLabDocument(JSON.parse(text), file), directory: path.dirname(file) };
  } catch (error) {
    if (error instanceof GateError) throw error;
    throw invalidInput("LAB_INVALID", "it is not JSON", file);
  }
}

/** Rounds, in this order. @throws GateError LAB_UNREADABLE, LAB_INVALID (exit 5) */
export async function readRounds(locations: readonly string[]): Promise<readonly LabRound[]> {
  return Promise.all(locations.map(readRound));
}

/** Write the report as markdown. @returns the files @throws GateError OUTPUT_UNWRITABLE */
export async function writeLabReport(directory: string, rounds: readonly LabRound[]): Promise<readonly string[]> {
  const file = path.join(directory, "leak-lab.md");
  try {
    makeDirectories(directory);
    await writeFile(file, labMarkdown(rounds.map(({ document }) => document)));
  } catch (error) {
    const code = codeOf(error) ?? String(error);
    throw new GateError("OUTPUT_UNWRITABLE", `the report cannot be written (${code})`, { where: directory });
  }
  return [file];
}
