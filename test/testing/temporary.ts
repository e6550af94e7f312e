import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

const VARIABLE = "STORMLOG_GATE_TEST_DIRECTORY";

/** One directory for all that a run of the tests writes and cannot remove itself: its workers are killed at the end. */
export default function temporaryDirectory(): () => void {
  const directory = mkdtempSync(path.join(tmpdir(), "gate-tests-"));
  // Some tests start programs as another user.
  chmodSync(directory, 0o711);
  process.env[VARIABLE] = directory;
  return () => rmSync(directory, { recursive: true, force: true });
}

/** A fresh directory that is gone after the run of the tests. */
export const temporary = (prefix: string): string =>
  mkdtempSync(path.join(process.env[VARIABLE] ?? tmpdir(), `${prefix}-`));
