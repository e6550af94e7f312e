import { writeFileSync, writeSync } from "node:fs";
import { codeOf, GateError, messageOf } from "../../core/errors.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { oneLine } from "../../core/text.ts";
import { clip } from "../../report/terminal/terminal-table.ts";

/** Where a command prints: with `--json` stdout has one document, and all other output goes to stderr. */
export interface Console {
  readonly json: boolean;
  readonly color: boolean;
  /** Print verdicts and errors alone. */
  readonly quiet: boolean;
  readonly width: number;
  readonly interactive: boolean;
  /** Text for a person. */
  readonly print: (text: string) => void;
  /** Print the JSON document when asked, alone on stdout. Only the first counts: stderr reports a later failure. */
  readonly document: (value: unknown) => void;
  /** Raw bytes of the measured command. */
  readonly childOutput: (stream: "stdout" | "stderr") => (chunk: Uint8Array) => void;
  readonly progress: ((text: string | null) => void) | null;
}

/**
 * Write all bytes, also when the pipe is full (EAGAIN) or closed (EPIPE ends the output, not the work). Synchronous, so
 * that nothing is lost when the process ends right after.
 * @throws GateError OUTPUT_UNWRITABLE when the bytes are lost otherwise, as on a full disk
 */
export function writeAll(fd: number, bytes: Uint8Array): void {
  let offset = 0;
  while (offset < bytes.length) {
    try {
      offset += writeSync(fd, bytes, offset);
    } catch (error) {
      const code = codeOf(error);
      if (code === "EAGAIN") {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
        continue;
      }
      if (code === "EPIPE") return;
      throw new GateError("OUTPUT_UNWRITABLE", `the output cannot be written (${code})`, {
        hint: code === "ENOSPC" ? "The disk behind it is full." : "Check where it is redirected to.",
      });
    }
  }
}

const encoder = new TextEncoder();

/** For progress and the command's output, which must not end the work when they cannot be written. */
function tolerantWrite(fd: number, bytes: Uint8Array): void {
  try {
    writeAll(fd, bytes);
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
  }
}

/** The console of this process. */
export function processConsole(options: Pick<Console, "json" | "color" | "quiet">): Console {
  const humanFd = options.json ? 2 : 1;
  const stream = options.json ? process.stderr : process.stdout;
  let answered = false;
  let progressShown = false;
  /** The status line is removed before other output. */
  const clearProgress = (): void => {
    if (progressShown) tolerantWrite(2, encoder.encode("\r\u001b[2K"));
    progressShown = false;
  };
  const interactive = !options.quiet && process.stderr.isTTY === true && process.env.CI === undefined;
  return {
    json: options.json,
    quiet: options.quiet,
    color: options.color && stream.isTTY === true && process.env.NO_COLOR === undefined,
    // A pseudo-terminal without a size reports 0.
    width: stream.columns || 100,
    interactive,
    print: (text) => {
      clearProgress();
      tolerantWrite(humanFd, encoder.encode(`${text}\n`));
    },
    document: (value) => {
      if (!options.json || answered) return;
      answered = true;
      writeAll(1, encoder.encode(`${JSON.stringify(value, null, 2)}\n`));
    },
    childOutput: (name) => (chunk) => {
      clearProgress();
      tolerantWrite(options.json ? 2 : name === "stdout" ? 1 : 2, chunk);
    },
    progress: interactive
      ? (text) => {
          clearProgress();
          if (text === null) return;
          const line = escapeTerminal(oneLine(text));
          tolerantWrite(2, encoder.encode(clip(line, (process.stderr.columns ?? 80) - 1)));
          progressShown = true;
        }
      : null,
  };
}

/** Write a file that the user named. @throws GateError WRITE_FAILED */
export function writeOutputFile(file: string, content: string | Uint8Array): void {
  writing(file, () => writeFileSync(file, content));
}

/** Write a file. @throws GateError WRITE_FAILED */
export function writing(file: string, put: () => void): void {
  try {
    put();
  } catch (error) {
    throw new GateError("WRITE_FAILED", `${file} cannot be written: ${messageOf(error)}`, { where: file });
  }
}
