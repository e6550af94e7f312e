import { closeSync, readSync } from "node:fs";
import { invalidInput } from "../core/errors.ts";
import { openRegular } from "../core/files.ts";
import type { NamedSnapshot } from "../snapshot/live/document.ts";
import { snapshotName } from "../snapshot/model/file-names.ts";
import type { TorchSnapshot } from "../snapshot/model/snapshot.ts";
import { isPickle, readSnapshot } from "../snapshot/read.ts";
import {
  readHead,
  refuseCompressed,
  SQLITE_MAGIC,
  statInput,
  withFileErrors,
} from "../telemetry/recording/input-file.ts";

/** Whether a path is a file that begins like a pickled snapshot. */
export function isSnapshotFile(path: string): boolean {
  const stats = statInput(path);
  return stats.isFile() && stats.size > 0 && isPickle(readHead(path, 2));
}

/**
 * Read a pickled memory snapshot, a part at a time: a file may be larger than any buffer.
 * @throws GateError INPUT_NOT_FOUND, INPUT_NO_PERMISSION, INPUT_IS_DIRECTORY, INPUT_NOT_A_FILE, INPUT_EMPTY,
 *   INPUT_COMPRESSED, INPUT_UNREADABLE, SNAPSHOT_UNSUPPORTED and those of {@link readSnapshot}
 */
export function readSnapshotFile(path: string): TorchSnapshot {
  const head = readHead(path, SQLITE_MAGIC.length);
  if (head.length === 0) throw invalidInput("INPUT_EMPTY", "the file is empty", path, "Was anything dumped?");
  refuseCompressed(head, path);
  if (head.toString("latin1") === SQLITE_MAGIC) {
    throw invalidInput(
      "SNAPSHOT_UNSUPPORTED",
      "a SQLite database is not read as a memory snapshot",
      path,
      "Dump the snapshot with torch.cuda.memory._dump_snapshot: a pickle of any size is read.",
    );
  }
  const { fd, stats } = withFileErrors(path, () => openRegular(path));
  try {
    const read = (target: Uint8Array): number =>
      withFileErrors(path, () => readSync(fd, target, 0, target.length, null));
    return readSnapshot({ size: stats.size, read }, path);
  } finally {
    closeSync(fd);
  }
}

/** Snapshots with the rank and step of their file names. */
export function readSnapshotFiles(paths: readonly string[]): readonly NamedSnapshot[] {
  return paths.map((file) => ({ file, name: snapshotName(file), snapshot: readSnapshotFile(file) }));
}
