import { setTimeout as sleep } from "node:timers/promises";
import { plural } from "../../core/text.ts";
import type { LauncherOrder } from "./launcher-protocol.ts";
import { endOrphans, type Member, ownPid, type ProcessTree, processName, signalMember } from "./process-tree.ts";
import type { Launched } from "./start-in-session.ts";

/** A runner kills a cancelled step 10 s after SIGINT, and its evidence has to be uploaded until then. */
const STEPS: readonly { readonly order: LauncherOrder; readonly graceMs: number }[] = [
  { order: "i", graceMs: 1500 },
  { order: "t", graceMs: 1000 },
  { order: "k", graceMs: 700 },
];
const POLL_MS = 40;

/** Background helpers of a command (a resource tracker, a log writer) need a short time to end. */
const LEFTOVER_GRACE_MS = 250;
const LEFTOVER_TERM_MS = 400;
const QUIT_MS = 1500;
const LAST_MS = 500;

/** Wait until `done` resolves or the time is over. @returns whether it resolved */
async function within(ms: number, done: Promise<unknown>): Promise<boolean> {
  const timer = new AbortController();
  const timeout = sleep(ms, false, { signal: timer.signal }).catch(() => false);
  const resolved = await Promise.race([done.then(() => true), timeout]);
  timer.abort();
  return resolved;
}

/** Wait for the end of all members, at most so long. @returns whether none is left */
export async function emptied(tree: ProcessTree, ms: number): Promise<boolean> {
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
    // Without a launcher there is nothing to ask: endLeftovers kills.
    if (launched.isClosed()) return;
    const until = performance.now() + graceMs;
    launched.send(order);
    if (!(await within(graceMs, launched.ended))) continue;
    if (await emptied(tree, Math.max(0, until - performance.now()))) return;
  }
}

function named(members: readonly Member[]): string {
  const names = members.slice(0, 5).map(({ pid }) => `${processName(pid)} (${ownPid(pid)})`);
  return names.join(", ") + (members.length > names.length ? ", …" : "");
}

/**
 * After the command or the launcher has ended: end the processes that are left, then the launcher.
 * @returns notes for the recording
 */
export async function endLeftovers(launched: Launched, tree: ProcessTree): Promise<string[]> {
  const notes: string[] = [];
  if (launched.isClosed() || !(await emptied(tree, LEFTOVER_GRACE_MS))) {
    const left = tree.members();
    if (left.length > 0)
      notes.push(`ended ${plural(left.length, "process", "processes")} that outlived the command: ${named(left)}`);
    launched.send("t");
    if (!launched.isClosed()) await emptied(tree, LEFTOVER_TERM_MS);
  }
  launched.send("q");
  if (!(await within(QUIT_MS, launched.closed))) {
    notes.push("the launcher did not quit and was killed");
    launched.kill();
    await within(LAST_MS, launched.closed);
  }
  // The launcher may have been killed itself, or have missed one.
  const until = performance.now() + LAST_MS;
  do {
    await endOrphans(LAST_MS);
    for (const member of tree.members()) signalMember(member, "SIGKILL");
  } while (!(await emptied(tree, POLL_MS)) && performance.now() < until);
  const left = tree.members();
  if (left.length > 0) notes.push(`could not be ended: ${named(left)}`);
  return notes;
}
