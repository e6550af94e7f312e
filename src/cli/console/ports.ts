import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import type { GatePorts } from "../../gate/ports/ports.ts";
import type { Console } from "./console.ts";

/** The gate's ports on a terminal. `quiet` keeps the measured command's output in its log only. */
export function consolePorts(console: Console, interrupt: AbortSignal, quiet = console.quiet): GatePorts {
  return {
    log: (line) => {
      if (console.quiet) return;
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

/** Turn SIGINT, SIGTERM and SIGHUP into an abort with the signal's name. Further signals change nothing. */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => controller.abort(name));
  // A command that has not ended this long after a signal is given up; its launcher ends what it measured.
  const giveUp = () => setTimeout(() => process.exit(ExitCode.interrupted), 5000).unref();
  controller.signal.addEventListener("abort", giveUp, { once: true });
  return controller.signal;
}
