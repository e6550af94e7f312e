import { randomBytes } from "node:crypto";
import { lstatSync, rmSync } from "node:fs";
import { endGroup, startGroup } from "@actions/core";
import { codeOf, GateError, messageOf } from "../core/errors.ts";
import { readBounded, writeOwn } from "../core/files.ts";
import type { Environment } from "../core/process/environment.ts";
import type { GatePorts } from "../gate/ports/ports.ts";
import { OUT_OF_TIME } from "../gate/scenario/cost.ts";
import type { SubAction } from "./sub-action.ts";

/** Files by which a step gives commands to the runner, and the one that describes the event. */
const KEPT = [
  "GITHUB_ENV",
  "GITHUB_EVENT_PATH",
  "GITHUB_OUTPUT",
  "GITHUB_PATH",
  "GITHUB_STATE",
  "GITHUB_STEP_SUMMARY",
] as const;

type FileContent = Buffer | "absent" | "unknown";

function contentOf(file: string): FileContent {
  try {
    // Larger ones are not the runner's.
    return readBounded(file, 64 * 1024 * 1024, "refuse");
  } catch (error) {
    return codeOf(error) === "ENOENT" ? "absent" : "unknown";
  }
}

function isSame(a: FileContent, b: FileContent): boolean {
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
  return new GateError(
    "FILE_COMMANDS_CHANGED",
    `the measured command wrote to files of this step (${names.join(", ")}), and what it wrote could not be removed`,
    { hint: "Use nothing of this job, and measure in a job without a writing token." },
  );
}

/**
 * The measured command is code of the change: a line `::error::…` or `::add-mask::…` it prints would act as ours. While
 * the fence is up the runner reads nothing as a command until it sees a token the child cannot know. Output and errors
 * of the child go to one stream, because the runner reads the two independently and a late line on the other one
 * would slip out after the fence is down.
 */
export interface CommandFence {
  write(chunk: Uint8Array | string): void;
  /** Take the fence down; further writes are dropped. Safe to call twice. */
  close(): void;
}

export function raiseCommandFence(write: (chunk: Uint8Array | string) => void): CommandFence {
  const token = `stormlog-${randomBytes(24).toString("hex")}`;
  let open = true;
  let atLineStart = true;
  write(`::stop-commands::${token}\n`);
  return {
    write(chunk) {
      if (!open || chunk.length === 0) return;
      const last = chunk[chunk.length - 1];
      atLineStart = last === "\n" || last === 10;
      write(chunk);
    },
    close() {
      if (!open) return;
      open = false;
      // The token counts only at the start of a line.
      write(`${atLineStart ? "" : "\n"}::${token}::\n`);
    },
  };
}

/** The gate names an interruption by its signal, or as the end of the step's own time. */
function gateInterrupt(signal: AbortSignal): AbortSignal {
  const controller = new AbortController();
  const pass = (): void => {
    const { reason } = signal;
    controller.abort(reason instanceof GateError && reason.code === "STEP_TIMEOUT" ? OUT_OF_TIME : "SIGINT");
  };
  if (signal.aborted) pass();
  else signal.addEventListener("abort", pass, { once: true });
  return controller.signal;
}

/**
 * Measure behind the fence: nothing that the measured command prints or writes acts as this step.
 * @throws what `work` throws, GateError FILE_COMMANDS_CHANGED
 */
export async function withStopCommands<T>(
  title: string,
  { env, signal, warn }: Pick<SubAction, "env" | "signal" | "warn">,
  work: (ports: GatePorts) => Promise<T>,
): Promise<T> {
  startGroup(title);
  const fence = raiseCommandFence((chunk) => process.stdout.write(chunk));
  const files = guardFileCommands(env);
  // The process may end before the work does, when the gate does not stop.
  const onExit = (): void => {
    fence.close();
    try {
      files.restore();
    } catch (error) {
      // The other handlers of the exit have to run.
      warn(messageOf(error));
    }
  };
  process.once("exit", onExit);
  try {
    return await work({
      log: (line) => fence.write(`${line}\n`),
      stdout: (chunk) => fence.write(chunk),
      stderr: (chunk) => fence.write(chunk),
      progress: null,
      interrupt: gateInterrupt(signal),
      now: () => new Date(),
    });
  } finally {
    process.off("exit", onExit);
    fence.close();
    endGroup();
    const message = files.restore();
    if (message !== null) warn(message);
  }
}
