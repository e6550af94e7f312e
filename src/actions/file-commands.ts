import { appendFileSync, lstatSync, rmSync } from "node:fs";
import { codeOf, GateError } from "../core/errors.ts";
import { readBounded, writeOwn } from "../core/files.ts";
import { CACHE_DISABLED } from "../core/process/compile-cache.ts";
import type { Environment } from "../core/process/environment.ts";
import { limitsError } from "../core/process/own-limits.ts";

/** Files by which a step gives commands to the runner, and the one that describes the event. */
const KEPT = [
  "GITHUB_ENV",
  "GITHUB_EVENT_PATH",
  "GITHUB_OUTPUT",
  "GITHUB_PATH",
  "GITHUB_STATE",
  "GITHUB_STEP_SUMMARY",
] as const;

/** Larger ones are not the runner's. */
const MAX_BYTES = 64 * 1024 * 1024;

type Content = Buffer | "absent" | "unknown";

function contentOf(file: string): Content {
  try {
    return readBounded(file, MAX_BYTES, "refuse");
  } catch (error) {
    return codeOf(error) === "ENOENT" ? "absent" : "unknown";
  }
}

function isSame(a: Content, b: Content): boolean {
  return typeof a === "string" || typeof b === "string" ? a === b : a.equals(b);
}

/** A file that was not kept may have become a FIFO, on which a reader or writer would wait for ever. */
function removeSpecial(file: string): void {
  try {
    if (!lstatSync(file).isFile()) rmSync(file, { recursive: true, force: true });
  } catch {
    // It is gone, or stays as it is.
  }
}

/**
 * Later steps of this job start without V8's compile cache, even where only they name its directory:
 * the measured command may write to it.
 */
export function disableCompileCache({ GITHUB_ENV, NODE_DISABLE_COMPILE_CACHE }: Environment): void {
  if (!GITHUB_ENV) return;
  const ours = NODE_DISABLE_COMPILE_CACHE === undefined ? `${CACHE_DISABLED}=1\n` : "";
  appendFileSync(GITHUB_ENV, `NODE_DISABLE_COMPILE_CACHE=1\n${ours}`);
}

export interface KeptFiles {
  /**
   * Replace changed files by new ones and read them back.
   * @returns the one warning about those that had been changed; null where none had
   * @throws GateError FILE_COMMANDS_CHANGED for those that still have what the command wrote
   */
  restore(): string | null;
}

/**
 * Remember the step's files while the measured command runs. Their names are kept from it, but not their directory: it
 * runs under our user, and what it writes there would set outputs, variables and PATH as if we had.
 */
export function guardFileCommands(env: Environment): KeptFiles {
  const kept = KEPT.flatMap((name) => {
    const file = env[name];
    return file ? [{ name, file, before: contentOf(file) }] : [];
  });
  return {
    restore() {
      for (const { file, before } of kept) if (before === "unknown") removeSpecial(file);
      const changed = kept.filter(({ file, before }) => before !== "unknown" && !isSame(contentOf(file), before));
      for (const { file, before } of changed) {
        try {
          // It may be a link, a directory or read-only now.
          rmSync(file, { recursive: true, force: true });
          if (typeof before !== "string") writeOwn(file, "replace", () => before);
        } catch {
          // Reading it back reports it.
        }
      }
      const left = changed.filter(({ file, before }) => !isSame(contentOf(file), before));
      if (left.length > 0) throw keptError(left.map(({ name }) => name));
      return changed.length === 0 ? null : writtenWarning(changed.map(({ name }) => name));
    },
  };
}

function writtenWarning(names: readonly string[]): string {
  return `The measured command wrote to files of this step (${names.join(", ")}). What it wrote was dropped.`;
}

function keptError(names: readonly string[]): GateError {
  const limits = limitsError();
  const why = limits === null ? "" : `: ${limits.message}`;
  return new GateError(
    "FILE_COMMANDS_CHANGED",
    `the measured command wrote to files of this step (${names.join(", ")}), and what it wrote could not be removed${why}`,
    {
      kind: "error",
      hint: "Use nothing of this job, and measure in a job without a writing token.",
    },
  );
}
