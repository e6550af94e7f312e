import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { codeOf, GateError } from "./errors.ts";

/** Make a directory whose name begins with `prefix`. @throws GateError TEMPORARY_FOLDER_UNWRITABLE (error) */
export async function temporaryDirectory(prefix: string): Promise<string> {
  try {
    return await mkdtemp(path.join(tmpdir(), prefix));
  } catch (error) {
    const reason = codeOf(error) ?? String(error);
    throw new GateError(
      "TEMPORARY_FOLDER_UNWRITABLE",
      `no temporary directory can be made in ${tmpdir()} (${reason})`,
      {
        hint: "Set TMPDIR to a directory that this user may write.",
      },
    );
  }
}
