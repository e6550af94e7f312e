import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import type { GatePorts } from "../../gate/ports/ports.ts";
import type { Console } from "./console.ts";

/** The gate's ports on a terminal. `quiet` keeps the measured command's output in its log only. */
export function consolePorts(console: Console, interrupt: AbortSignal, quiet = false): GatePorts {
  return {
    log: (line) => {
      console.progress?.(null);
      console.print(escapeTerminal(line));
    },
    stdout: quiet ? null : console.childOutput("stdout"),
    stderr: quiet ? null : console.childOutput("stderr"),
    progress: console.progress,
    interrupt,
    now: () => new Date(),
  };
}
/** A command that has not ended this long after a signal is given up; its launcher ends what it measured. */
const EXIT_AFTER_MS = 5000;

/** Turn SIGINT, SIGTERM and SIGHUP into an abort with the signal's name. Further signals change nothing. */
export function interruptSignal(): { readonly signal: AbortSignal; readonly dispose: () => void } {
  const controller = new AbortController();
  const names = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  let timer: NodeJS.Timeout | undefined;
  const stop = (name: string): void => {
    controller.abort(name);
    timer ??= setTimeout(() => process.exit(ExitCode.interrupted), EXIT_AFTER_MS).unref();
  };
  const handlers = names.map((name) => [name, () => stop(name)] as const);
  for (const [name, handler] of handlers) process.on(name, handler);
  return {
    signal: controller.signal,
    dispose: () => {
      clearTimeout(timer);
      for (const [name, handler] of handlers) process.off(name, handler);
    },
  };
}
