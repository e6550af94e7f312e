import { constants } from "node:os";

/**
 * Orders to the launcher, one byte each: `g` go (the command's `exec` waits for it), `i`, `t`, `k` SIGINT, SIGTERM,
 * SIGKILL to the whole tree, `q` end the rest and quit. When the stream ends, the gate died and the tree is ended.
 */
export type LauncherOrder = "g" | "i" | "t" | "k" | "q";

export type LauncherStatus =
  | { readonly kind: "init"; readonly pid: number }
  | { readonly kind: "wall-failed"; readonly step: string; readonly errno: string }
  | { readonly kind: "pid"; readonly pid: number }
  | { readonly kind: "started" }
  | { readonly kind: "exec-failed"; readonly errno: string }
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "signaled"; readonly signal: string };

// Some numbers have two names, the common one listed first (SIGABRT before SIGIOT): reversed, so that it is set last.
const SIGNAL_NAMES = new Map<number, string>(
  Object.entries(constants.signals)
    .map(([name, number]) => [number, name] as const)
    .reverse(),
);

/** "SIGKILL" for 9; "signal 34" for one without a name. */
export function signalName(number: number): string {
  return SIGNAL_NAMES.get(number) ?? `signal ${number}`;
}

/**
 * `init <n>`, `wall-failed <step> <NAME>`, `pid <n>`, `started`, `exec-failed <errno> <NAME>`, `exit <code>`,
 * `signal <n> <core>`; null for anything else.
 */
export function parseStatusLine(line: string): LauncherStatus | null {
  const [kind, first, second] = line.trim().split(" ");
  if (kind === "wall-failed") {
    // A step may be a path with blanks.
    const [step = "", errno = "unknown"] = line
      .trim()
      .slice(kind.length + 1)
      .split(/ (?=\w+$)/);
    return { kind, step, errno };
  }
  const number = Number(first);
  switch (kind) {
    case "started":
      return { kind: "started" };
    case "init":
    case "pid":
      return Number.isInteger(number) ? { kind, pid: number } : null;
    case "exec-failed":
      return { kind: "exec-failed", errno: second ?? `errno ${first ?? "unknown"}` };
    case "exit":
      return Number.isInteger(number) ? { kind: "exited", code: number } : null;
    case "signal":
      return Number.isInteger(number) ? { kind: "signaled", signal: signalName(number) } : null;
    default:
      return null;
  }
}
