import { lstatSync } from "node:fs";
import path from "node:path";
import { GateError } from "../../core/errors.ts";
import type { RecordsCheck, Sampler } from "../../sampler/sampler.ts";
import { parseRecordChunks } from "../../telemetry/reading/record-file.ts";
import type { RecordFile } from "../../telemetry/recording/record-columns.ts";

/** Code of a record file whose bytes are not those that the sampler wrote. */
export const RECORD_FILE_ALTERED = "RECORD_FILE_ALTERED";

type RecordsRead = (
  | { readonly kind: "read"; readonly file: RecordFile }
  | { readonly kind: "failed"; readonly error: GateError }
) & {
  /** What was done to the file at the path while the command ran, one sentence each. */
  readonly interference: readonly string[];
};

type Records = Pick<Sampler, "readRecords" | "checkRecords" | "closeRecords">;

function* chunksOf(records: Records): Generator<Uint8Array, void, undefined> {
  for (;;) {
    // Each chunk is a fresh array, because the parser keeps the rest of it.
    const chunk = Buffer.allocUnsafeSlow(4 << 20);
    const size = records.readRecords(chunk);
    if (size === 0) return;
    yield chunk.subarray(0, size);
  }
}

/** What happened to the file at the path, in words; null when it is the one that was written, in its length. */
function deedOf(file: string, { file: written, written: bytes }: RecordsCheck): string | null {
  if (written === null) return null;
  let found: ReturnType<typeof lstatSync>;
  try {
    found = lstatSync(file, { bigint: true });
  } catch {
    return "removed";
  }
  if (found.ino !== written.ino || found.dev !== written.dev) return "replaced";
  return written.size > BigInt(bytes) ? "appended to" : null;
}

/**
 * Reads a stopped sampler's records through the descriptor that wrote them, and closes them. Another file at the path
 * is reported and changes nothing; bytes that are not those that were written cannot be judged.
 */
export function readRecords(records: Records, file: string): RecordsRead {
  const name = path.basename(file);
  const chunks = chunksOf(records);
  let parsed: RecordFile | GateError;
  try {
    parsed = parseRecordChunks(chunks, file);
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    parsed = error;
    // All of it is compared, also after a record that cannot be parsed.
    for (const _ of chunksOf(records));
  }
  const check = records.checkRecords();
  const deed = deedOf(file, check);
  records.closeRecords();
  const interference =
    deed === null ? [] : [`${name} was ${deed} during the run; the samples were read as the sampler wrote them.`];
  if (!check.intact) {
    const error = new GateError(
      RECORD_FILE_ALTERED,
      `${name} was altered during the run, so its samples are not judged`,
      {
        kind: "error",
        where: file,
        hint: "The measured command, or another process of its user, wrote to the sampler's file. Find it and run again.",
      },
    );
    return { kind: "failed", error, interference: [] };
  }
  return parsed instanceof GateError
    ? { kind: "failed", error: parsed, interference }
    : { kind: "read", file: parsed, interference };
}
