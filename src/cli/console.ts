import { writeSync } from "node:fs";
import { escapeTerminal } from "../core/escape.ts";

/** Where a command prints: with `--json` stdout holds one document and everything a person reads goes to stderr. */
export interface Console {
  readonly json: boolean;
  readonly color: boolean;
  readonly width: number;
  readonly interactive: boolean;
  /** Text for a person. */
  readonly print: (text: string) => void;
  /**
   * The answer of the command: the JSON document when asked, nothing else on stdout. The first one counts: what a command
   * answered before it failed is worth more than the failure, which stderr tells.
   */
  readonly document: (value: unknown) => void;
  /** Raw bytes of the measured command. */
  readonly childOutput: (stream: "stdout" | "stderr") => (chunk: Uint8Array) => void;
  readonly progress: ((text: string | null) => void) | null;
}

/**
 * Write all bytes, also when the pipe is full (EAGAIN) or has gone (EPIPE ends the output, not the work). Synchronous, so
 * that nothing is lost when the process ends right after.
 */
export function writeAll(fd: number, bytes: Uint8Array): void {
  let offset = 0;
  while (offset < bytes.length) {
    try {
      offset += writeSync(fd, bytes, offset);
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === "EAGAIN") {
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
        continue;
      }
      return;
    }
  }
}

const encoder = new TextEncoder();

/** The console of this process. */
export function processConsole(options: { readonly json: boolean; readonly color: boolean }): Console {
  const humanFd = options.json ? 2 : 1;
  const stream = options.json ? process.stderr : process.stdout;
  let answered = false;
  const interactive = process.stderr.isTTY === true && process.env.CI === undefined;
  return {
    json: options.json,
    color: options.color && stream.isTTY === true && process.env.NO_COLOR === undefined,
    // A pseudo-terminal without a size says 0.
    width: stream.columns || 100,
    interactive,
    print: (text) => writeAll(humanFd, encoder.encode(`${text}\n`)),
    document: (value) => {
      if (!options.json || answered) return;
      answered = true;
      writeAll(1, encoder.encode(`${JSON.stringify(value, null, 2)}\n`));
    },
    childOutput: (name) => (chunk) => writeAll(options.json ? 2 : name === "stdout" ? 1 : 2, chunk),
    progress: interactive
      ? (text) => writeAll(2, encoder.encode(text === null ? "\r\u001b[2K" : `\r\u001b[2K${escapeTerminal(text)}`))
      : null,
  };
}
