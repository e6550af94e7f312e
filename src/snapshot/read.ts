import { assemble } from "./columns/assemble.ts";
import { SnapshotBuilder } from "./columns/builder.ts";
import type { TorchSnapshot } from "./model/snapshot.ts";
import { Budget } from "./pickle/budget.ts";
import { runPickle } from "./pickle/machine.ts";
import type { ByteSource } from "./pickle/window.ts";

/** Whether a file with these first bytes is a pickle of a protocol that snapshots use. */
export function isPickle(head: Uint8Array): boolean {
  return head[0] === 0x80 && (head[1] ?? 0) >= 2 && (head[1] ?? 0) <= 5;
}

/**
 * Reads a memory snapshot of PyTorch of every layout from 1.13 on, distinguished by keys. Safe with untrusted files: no
 * objects are constructed, and time and memory are bounded by the file's size.
 * @throws GateError (invalid input, exit 5) SNAPSHOT_FORBIDDEN_OPCODE, SNAPSHOT_PROTOCOL, SNAPSHOT_TRUNCATED,
 *   SNAPSHOT_MALFORMED, SNAPSHOT_SHAPE, SNAPSHOT_TOO_COSTLY, NEGATIVE_BYTES
 */
export function readSnapshot(source: ByteSource, where: string): TorchSnapshot {
  const budget = new Budget(source.size, where);
  const builder = new SnapshotBuilder(budget);
  const root = runPickle(source, builder, budget, where);
  return assemble(builder, root, budget, where);
}
