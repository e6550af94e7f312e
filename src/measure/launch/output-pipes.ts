import { closeSync, constants, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Readable } from "node:stream";
import { helperEnvironment, helperPrograms, runChild } from "../../core/process/child.ts";

/** Both ends of a pipe: the child gets `writeFd`, this process reads `reader`. */
interface OutputPipe {
  readonly reader: Readable;
  readonly writeFd: number;
}

/**
 * Real pipes for a child's stdout and stderr. The "pipes" Node itself makes are socket pairs, on which a script's `echo
 * … > /dev/stderr` fails with ENXIO; named pipes opened at both ends and unlinked behave as a shell's do. Null where
 * they cannot be made; the caller then takes Node's own.
 */
export async function openOutputPipes(): Promise<readonly [OutputPipe, OutputPipe] | null> {
  let directory: string | undefined;
  try {
    directory = await mkdtemp(path.join(tmpdir(), "stormlog-gate-"));
    const files = [path.join(directory, "out"), path.join(directory, "err")] as const;
    const program = helperPrograms().find("mkfifo");
    if (program === null) return null;
    const options = { env: helperEnvironment(), timeoutMs: 5000 };
    await runChild(program.path, ["-m", "600", ...files], options);
    const out = openBoth(files[0]);
    try {
      return [out, openBoth(files[1])];
    } catch (error) {
      closeSync(out.writeFd);
      out.reader.destroy();
      throw error;
    }
  } catch {
    return null;
  } finally {
    if (directory !== undefined) await rm(directory, { recursive: true, force: true });
  }
}

function openBoth(file: string): OutputPipe {
  // The reading end first: opening a named pipe for writing waits for a reader.
  const readFd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeFd = openSync(file, constants.O_WRONLY);
  return { reader: new Socket({ fd: readFd, readable: true, writable: false }), writeFd };
}
