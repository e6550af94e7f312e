import { readFileSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { codeOf, GateError, invalidInput } from "../core/errors.ts";
import { makeDirectories } from "../core/files.ts";
import { readReplay } from "./replay.ts";
import { type LabDocument, type LabPattern, parseLabDocument } from "./report/document.ts";
import { type LabPicture, labHtml } from "./report/html.ts";
import { labMarkdown } from "./report/report.ts";
import { LAB_FILE, type LabStateName } from "./round.ts";

/** A round that was run, or recordings that are read as one. */
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
    "Name a directory that `stormlog-gate lab run` wrote, or one with recordings as PATTERN/leaky and PATTERN/fixed.",
  );
}

async function readRound(location: string): Promise<LabRound> {
  const stats = await stat(location).catch(() => null);
  const file = stats?.isDirectory() ? path.join(location, LAB_FILE) : location;
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    const code = codeOf(error);
    if (code !== "ENOENT" || !stats?.isDirectory()) throw noRound(file, String(code));
    const document = await readReplay(location);
    if (document === null) throw noRound(location, `neither ${LAB_FILE} nor recordings of a pattern`);
    return { document, directory: location };
  }
  try {
    return { document: parseLabDocument(JSON.parse(text), file), directory: path.dirname(file) };
  } catch (error) {
    if (error instanceof GateError) throw error;
    throw invalidInput("LAB_INVALID", "it is not JSON", file);
  }
}

/** Rounds or recordings, in this order. @throws GateError LAB_UNREADABLE, LAB_INVALID, INPUT_… (exit 5) */
export async function readRounds(locations: readonly string[]): Promise<readonly LabRound[]> {
  const rounds: LabRound[] = [];
  // One after the other: of recordings only one is in memory then.
  for (const location of locations) rounds.push(await readRound(location));
  return rounds;
}

/** The bundle or recording of a state's row, null outside the document's directory. */
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
