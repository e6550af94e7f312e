import { readFileSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { codeOf, GateError, invalidInput } from "../core/errors.ts";
import { makeDirectories } from "../core/files.ts";
import { type LabDocument, type LabPattern, parseLabDocument } from "./report/document.ts";
import { type LabPicture, labHtml } from "./report/html.ts";
import { labMarkdown } from "./report/report.ts";
import { LAB_FILE, type LabStateName } from "./round.ts";

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

/** The bundle of a state's row, null outside the document's directory. */
function evidenceOf({ directory }: LabRound, pattern: LabPattern, state: LabStateName): string | null {
  const bundle = pattern[state]?.bundle;
  if (bundle === undefined) return null;
  const location = path.resolve(directory, bundle);
  return location.startsWith(directory + path.sep) ? location : null;
}

/** Timelines from the bundles. */
function pictures(rounds: readonly LabRound[]): LabPicture {
  return (index, name, state) => {
    const round = rounds[index];
    const pattern = round?.document.patterns.find((one) => one.name === name);
    const location = round === undefined || pattern === undefined ? null : evidenceOf(round, pattern, state);
    if (location === null) return null;
    try {
      return readFileSync(path.join(location, "timeline.png")).toString("base64");
    } catch {
      return null;
    }
  };
}

/** Names of the report's files. */
const REPORT = { markdown: "leak-lab.md", page: "leak-lab.html" } as const;

/** Write markdown and page. @returns the files @throws GateError OUTPUT_UNWRITABLE */
export async function writeLabReport(directory: string, rounds: readonly LabRound[]): Promise<readonly string[]> {
  const documents = rounds.map(({ document }) => document);
  const files = [
    [path.join(directory, REPORT.markdown), labMarkdown(documents)],
    [path.join(directory, REPORT.page), labHtml(documents, pictures(rounds))],
  ] as const;
  try {
    makeDirectories(directory);
    for (const [file, content] of files) await writeFile(file, content);
  } catch (error) {
    const code = codeOf(error) ?? String(error);
    throw new GateError("OUTPUT_UNWRITABLE", `the report cannot be written (${code})`, { where: directory });
  }
  return files.map(([file]) => file);
}
