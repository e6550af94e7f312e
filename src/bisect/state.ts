import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import path from "node:path";
import { codeOf, GateError, invalidInput, usageError } from "../core/errors.ts";
import { makeDirectories, readBounded, readJson, writeAtomically } from "../core/files.ts";
import type { Answer } from "./search.ts";

/** One state that was prepared, and judged where that was possible. */
export interface Step extends Answer {
  /** "good", "bad", or what the search calls the state. */
  readonly name: string;
  /** The gate's verdict; null where the state could not be built or run. */
  readonly verdict: string | null;
  /** The answer's first sentence, or why it has no verdict; not escaped. */
  readonly sentence: string;
  /** Minutes of the whole step, building and installing included. */
  readonly minutes: number;
  /** Directory of the evidence; null without a run. */
  readonly bundle: string | null;
}

/** What a search has learned; the file survives a kill at any time. */
export interface SearchState {
  readonly version: 1;
  /** What is searched with which command, as canonical text: a search is resumed by the same alone. */
  readonly subject: string;
  /** The machine since its start: measurements of another one are not compared. */
  readonly machine: string;
  readonly session: string;
  /** Directory that a killed step leaves behind; null between steps. */
  readonly scratch: string | null;
  readonly steps: readonly Step[];
}

export const STATE_FILE = "state.json";
/** Beginning of the names of throw-away directories. */
export const SCRATCH_PREFIX = "stormlog-gate-bisect-";
const MAX_STATE_BYTES = 16 * 2 ** 20;

/** This machine since its start; its name alone where the system gives no more. */
function machineName(): string {
  try {
    return `${hostname()} ${readBounded("/proc/sys/kernel/random/boot_id", 100).toString("utf8").trim()}`;
  } catch {
    return hostname();
  }
}

/** @throws GateError SEARCH_UNWRITABLE (error), with the reason */
export async function saveState(directory: string, state: SearchState): Promise<void> {
  try {
    makeDirectories(directory);
    await writeAtomically(path.join(directory, STATE_FILE), `${JSON.stringify(state, null, 2)}\n`);
  } catch (error) {
    const code = codeOf(error) ?? String(error);
    throw new GateError("SEARCH_UNWRITABLE", `the state of the search cannot be written (${code})`, {
      where: directory,
      hint: code === "ENOSPC" ? "Free space on the disk, then add --resume." : "Name another directory with --output.",
    });
  }
}

/**
 * Begin or resume a search in its directory.
 * @throws GateError SEARCH_DIRECTORY_TAKEN, SEARCH_DIFFERS (usage), SEARCH_STATE_INVALID (exit 5), SEARCH_UNWRITABLE
 */
export async function openState(
  directory: string,
  fresh: Pick<SearchState, "subject" | "session">,
  resume: boolean,
): Promise<SearchState> {
  const file = path.join(directory, STATE_FILE);
  if (!resume) {
    if (existsSync(directory)) {
      throw usageError(
        "SEARCH_DIRECTORY_TAKEN",
        `${directory} exists`,
        "Add --resume to continue its search, or name another directory with --output.",
      );
    }
    const state: SearchState = { version: 1, ...fresh, machine: machineName(), scratch: null, steps: [] };
    await saveState(directory, state);
    return state;
  }
  const state = checked(
    readJson(
      file,
      ({ kind }) => invalidInput("SEARCH_STATE_INVALID", `the state of the search is ${kind}`, file),
      MAX_STATE_BYTES,
    ),
    file,
  );
  if (state.subject !== fresh.subject) {
    throw usageError(
      "SEARCH_DIFFERS",
      `${directory} is a search for something else`,
      "Resume with the same ends, options and command.",
    );
  }
  if (state.machine !== machineName()) {
    throw usageError(
      "SEARCH_DIFFERS",
      `${directory} was measured on another machine, or before this one was restarted`,
      "Measurements of two machines are not compared: begin a new search with another --output.",
    );
  }
  await removeScratch(state.scratch);
  return { ...state, scratch: null };
}

function checked(value: unknown, file: string): SearchState {
  const state = value as Partial<SearchState> | null;
  const isStep = (step: Partial<Step> | null): boolean =>
    typeof step?.name === "string" &&
    typeof step.sentence === "string" &&
    typeof step.minutes === "number" &&
    ["red", "green", "skipped"].includes(String(step.outcome)) &&
    Array.isArray(step.included) &&
    step.included.every(Number.isInteger);
  const valid =
    state?.version === 1 &&
    [state.subject, state.machine, state.session].every((text) => typeof text === "string") &&
    Array.isArray(state.steps) &&
    state.steps.every(isStep);
  if (!valid) throw invalidInput("SEARCH_STATE_INVALID", "the state of the search is invalid", file);
  return state as SearchState;
}

/** Whether a directory contains a search. */
export function isSearch(directory: string): boolean {
  const file = path.join(directory, STATE_FILE);
  if (!existsSync(file)) return false;
  try {
    checked(JSON.parse(readBounded(file, MAX_STATE_BYTES).toString("utf8")), file);
    return true;
  } catch {
    return false;
  }
}

/** Remove a throw-away directory; any other path is left alone. Failures are left to the system's own cleaning. */
export async function removeScratch(directory: string | null): Promise<void> {
  if (directory === null || path.dirname(directory) !== tmpdir()) return;
  if (!path.basename(directory).startsWith(SCRATCH_PREFIX)) return;
  await rm(directory, { recursive: true, force: true }).catch(() => {});
}
