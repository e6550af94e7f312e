import { assemble } from "./columns/assemble.ts";
import { SnapshotBuilder } from "./columns/builder.ts";
import type { TorchSnapshot } from "./model.ts";
import { Budget } from "./pickle/budget.ts";
import type { ByteSource } from "./pickle/byte-source.ts";
import { runPickle } from "./pickle/machine.ts";

/** Whether a file that begins with these bytes is a pickle of a protocol snapshots are written in. */
export function isPickle(head: Uint8Array): boolean {
  return head[0] === 0x80 && (head[1] ?? 0) >= 2 && (head[1] ?? 0) <= 5;
}

/**
 * Read a memory snapshot of PyTorch: pickle protocols 2 to 5, every layout from 1.13 (blocks with `history`, bare lists of
 * segments) on, told apart by the keys that are there. Safe with files from anybody: nothing is constructed, and time and
 * memory are bounded by the file's size.
 * @throws GateError (invalid input, exit 5) SNAPSHOT_FORBIDDEN_OPCODE, SNAPSHOT_PROTOCOL, SNAPSHOT_TRUNCATED,
 *   SNAPSHOT_MALFORMED, SNAPSHOT_SHAPE, SNAPSHOT_TOO_COSTLY, NEGATIVE_BYTES
 */
export function readSnapshot(source: ByteSource, where: string): TorchSnapshot {
  const budget = new Budget(source.size, where);
  const builder = new SnapshotBuilder(budget);
  const root = runPickle(source, builder, budget, where);
  return assemble(builder, root, budget, where);
}
