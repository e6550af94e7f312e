import { ExitCode } from "./exit-codes.ts";

/** What a failure is about; decides the exit status. The concrete, stable code is {@link GateError.code}. */
export type ErrorKind = "usage" | "invalid-input" | "error" | "interrupted";

export interface GateErrorOptions {
  /** Absent = "error". */
  readonly kind?: ErrorKind;
  /** What the user should do next, one sentence. */
  readonly hint?: string | undefined;
  /** File, option or command the problem sits in. */
  readonly where?: string | undefined;
  readonly cause?: unknown;
}

/** A failure a user can act on. Codes never change meaning. Outside text is escaped where it is printed. */
export class GateError extends Error {
  override readonly name = "GateError";
  readonly code: string;
  readonly kind: ErrorKind;
  readonly hint: string | undefined;
  readonly where: string | undefined;

  constructor(code: string, message: string, { kind = "error", hint, where, cause }: GateErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.kind = kind;
    this.hint = hint;
    this.where = where;
  }

  get exitCode(): ExitCode {
    return {
      usage: ExitCode.usage,
      "invalid-input": ExitCode.invalidInput,
      error: ExitCode.error,
      interrupted: ExitCode.interrupted,
    }[this.kind];
  }
}

/** Input that cannot be used as it is (exit 5). */
export function invalidInput(code: string, message: string, where?: string, hint?: string): GateError {
  return new GateError(code, message, { kind: "invalid-input", where, hint });
}

/** A wrong option or argument (exit 2). */
export function usageError(code: string, message: string, hint?: string): GateError {
  return new GateError(code, message, { kind: "usage", hint });
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The code of a system error, such as "ENOENT", or of a {@link GateError}; undefined for another error. */
export function codeOf(error: unknown): string | undefined {
  const code: unknown = (error as NodeJS.ErrnoException | null | undefined)?.code;
  return typeof code === "string" ? code : undefined;
}

/** A limit of the machine that ended the work anywhere, such as while a part of the program was loaded. */
export function limitReached(error: unknown): GateError | null {
  const message = messageOf(error);
  const limited = (name: string, what: string, hint: string) => new GateError(name, what, { hint, cause: error });
  switch (codeOf(error)) {
    case "EMFILE":
    case "ENFILE":
      return limited("TOO_MANY_OPEN_FILES", "no more files can be opened", "Raise the limit to 256 (ulimit -n).");
    case "ENOSPC":
    case "EDQUOT":
      return limited("DISK_FULL", `the disk is full (${message})`, "Free some space and run again.");
    case "EFBIG":
      return limited("WRITE_FAILED", `a file cannot grow (${message})`, "Raise the limit on their size (ulimit -f).");
    case "ENOMEM":
      return limited("OUT_OF_MEMORY", `not enough memory (${message})`, "Raise the limit of memory or address space.");
    default:
      return null;
  }
}

/** For the `default` branch of a switch over a discriminated union: a missing case is a type error. */
export function assertNever(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
