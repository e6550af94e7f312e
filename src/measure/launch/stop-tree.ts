import { setTimeout as sleep } from "node:timers/promises";
import { plural } from "../../core/text.ts";
import type { Launched } from "./launch.ts";
import type { LauncherOrder } from "./launcher-protocol.ts";
import { type Member, type ProcessTree, processName, signalMember } from "./process-tree.ts";

/** A runner gives a step 7.5 s from SIGINT to SIGTERM, so everything, evidence included, is to be over in 5 s. */
const STEPS: readonly { readonly order: LauncherOrder; readonly graceMs: number }[] = [
  { order: "i", graceMs: 1500 },
  { order: "t", graceMs: 1000 },
  { order: "k", graceMs: 700 },
];
const POLL_MS = 40;

/** Background helpers of a command (a resource tracker, a log writer) need a short time to end. */
const LEFTOVER_GRACE_MS = 250;
const LEFTOVER_TERM_MS = 400;
const QUIT_MS = 2000;

/** Wait until `done` resolves or the time is over. @returns whether it resolved */
async function within(ms: number, done: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController();
  const timeout = sleep(ms, false, { signal: timer.signal }).catch(() => false);
  const resolved = await Promise.race([done.then(() => true), timeout]);
  timer.abort();
  return resolved;
}

async function emptied(tree: ProcessTree, ms: number): Promise<boolean> {
  const until = performance.now() + ms;
  for (;;) {
    if (tree.members().length === 0) return true;
    if (performance.now() >= until) return false;
    await sleep(POLL_MS);
  }
}

/** End a running tree in steps, SIGINT, SIGTERM, SIGKILL, each once the one before had its time; 3.2 s in all. */
export async function stopTree(launched: Launched, tree: ProcessTree): Promise<void> {
  for (const { order, graceMs } of STEPS) {
    const until = performance.now() + graceMs;
    launched.send(order);
    if (!(await within(graceMs, launched.ended))) continue;
    if (await emptied(tree, Math.max(0, until - performance.now()))) return;
  }
}

function named(members: readonly Member[]): string {
  const names = members.slice(0, 5).map(({ pid }) => `${processName(pid)} (${pid})`);
  return names.join(", ") + (members.length > names.length ? ", …" : "");
}

/** After the command has ended: end the processes it left, then the launcher. @returns notes for the recording */
export async function endLeftovers(launched: Launched, tree: ProcessTree): Promise<string[]> {
  const notes: string[] = [];
  if (!(await emptied(tree, LEFTOVER_GRACE_MS))) {
    const left = tree.members();
    if (left.length > 0)
      notes.push(`ended ${plural(left.length, "process", "processes")} that outlived the command: ${named(left)}`);
    launched.send("t");
    await emptied(tree, LEFTOVER_TERM_MS);
  }
  launched.send("q");
  if (!(await within(QUIT_MS, launched.closed))) notes.push("the launcher did not quit");
  // The launcher may have been killed itself, or have missed one: the marker still finds them.
  for (const member of tree.members()) signalMember(member, "SIGKILL");
  if (!(await emptied(tree, QUIT_MS / 4))) notes.push(`could not be ended: ${named(tree.members())}`);
  return notes;
}
