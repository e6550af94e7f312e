import { setTimeout as sleep } from "node:timers/promises";
import type { CommandEnd } from "./start-in-session.ts";

/** Signals that end the gate in order, with the exit status that a command often has after one of them. */
const ENDING = new Map([
  ["SIGHUP", 129],
  ["SIGINT", 130],
  ["SIGTERM", 143],
]);

function endedBySignal(end: CommandEnd): boolean {
  if (end.kind === "signaled") return ENDING.has(end.signal);
  return end.kind === "exited" && [...ENDING.values()].includes(end.code);
}

/**
 * Whether a command that ended by a signal was ended together with the gate: schedulers signal every process of a job,
 * and which of them hears it first is chance. It is then the job that was ended, not the command that failed.
 */
export async function endedTogether(end: CommandEnd, interrupt: AbortSignal): Promise<boolean> {
  if (!endedBySignal(end)) return false;
  // A signal to a whole process group or job step reaches its processes within ms; a busy machine takes longer.
  if (!interrupt.aborted) await sleep(300, null, { signal: interrupt }).catch(() => null);
  return interrupt.aborted;
}
