import { statSync } from "node:fs";
import path from "node:path";
import type { Command } from "../../core/process/command.ts";
import { findExecutable } from "../../core/process/find-executable.ts";
import { isGo, readElfInterpreter } from "./elf-symbols.ts";

/** A program into which the library that samples native memory is not loaded. */
export interface UnseenProgram {
  readonly kind: keyof typeof REASONS;
  /** Name of its file. */
  readonly program: string;
  /** Why no line is named. */
  readonly reason: string;
  /** What makes its memory visible. */
  readonly advice: string;
}

const REASONS = {
  static: {
    because: "it is linked statically",
    advice: "Link it dynamically (without `-static`), so that its allocations can be sampled.",
  },
  musl: { because: "it is linked with musl", advice: "Build it for glibc, so that its allocations can be sampled." },
  setuid: {
    because: "its set-user-id bit forbids preloaded libraries",
    advice: "Run a copy without that bit, so that its allocations can be sampled.",
  },
  go: {
    because: "Go has a heap of its own",
    advice: "Compare two heap profiles of `runtime/pprof`: `go tool pprof -base FIRST SECOND`.",
  },
} as const;

/** Words of a command that may be programs. */
const MAX_WORDS = 32;

/** Musl's loader ends a program that a library for glibc is preloaded into. */
export const notPreloaded = (unseen: UnseenProgram | null): Readonly<Record<string, string>> =>
  unseen?.kind === "musl" ? { STORMLOG_GATE_STACKS: "0" } : {};

/** The first executable named in the command, or in a script of its shell, that cannot be seen; null for none. */
export async function unseenProgram(
  command: Command,
  cwd: string,
  searchPath: string | undefined,
): Promise<UnseenProgram | null> {
  const words = command.kind === "argv" ? command.argv : [command.script];
  for (const name of words.flatMap((word) => word.match(/[^\s;&|()"']+/g) ?? []).slice(0, MAX_WORDS)) {
    const found = await findExecutable(name, cwd, searchPath);
    const kind = found.kind === "found" ? unseenKind(found.path) : null;
    if (kind === null) continue;
    const { because, advice } = REASONS[kind];
    const reason = `memory of \`${name}\` is not seen, because ${because}`;
    return { kind, program: path.basename(name), reason, advice };
  }
  return null;
}

/** Why a process that grows reported nothing. @param program "leak.py", or the executable */
export function notReached(program: string): string {
  const missing = `the probe is not in ${program}, which grows: it has another environment`;
  if (/^node|\.[cm]?[jt]s$/.test(program)) return missing;
  return /^python|\.py$/.test(program)
    ? `${missing}, or was started with \`-I\`, \`-E\` or \`-S\``
    : `${program} grows outside of the C heap (\`mmap\`, an allocator of its own), or has another environment`;
}

function unseenKind(file: string): UnseenProgram["kind"] | null {
  const { mode, uid, gid } = statSync(file);
  // The loader ignores LD_PRELOAD where the program gets other rights than its caller.
  if (((mode & 0o4000) !== 0 && uid !== process.getuid?.()) || ((mode & 0o2000) !== 0 && gid !== process.getgid?.()))
    return "setuid";
  if (isGo(file)) return "go";
  const interpreter = readElfInterpreter(file);
  if (interpreter === "") return "static";
  return interpreter?.includes("ld-musl") ? "musl" : null;
}
