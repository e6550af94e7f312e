import { writeFileSync } from "node:fs";
import { GateError, messageOf } from "../../core/errors.ts";

/** Write a file that the user named. @throws GateError WRITE_FAILED */
export function writeOutputFile(file: string, content: string | Uint8Array): void {
  try {
    writeFileSync(file, content);
  } catch (error) {
    throw new GateError("WRITE_FAILED", `${file} cannot be written: ${messageOf(error)}`, {
      kind: "error",
      where: file,
    });
  }
}
