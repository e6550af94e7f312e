import { readdirSync } from "node:fs";
import path from "node:path";
import * as v from "valibot";
import { readBounded } from "../../../core/files.ts";
import type { Recording } from "../../../telemetry/recording/model.ts";

/** Name of a dump's directory by Stormlog's flight recorder. */
const DUMP_NAME = /^oom_dump_\d{8}T\d{6}Z_/;
/** Maximum size of a dump's metadata, which is one message and some counters. */
const MAX_BYTES = 16 * 1024 * 1024;

const MetadataSchema = v.object({
  reason: v.string(),
  exception_message: v.optional(v.nullable(v.string())),
});

/** Content of `metadata.json` of a dump; null when it is missing or unreadable. */
function metadataOf(directory: string): v.InferOutput<typeof MetadataSchema> | null {
  const file = path.join(directory, "metadata.json");
  try {
    const parsed = v.safeParse(MetadataSchema, JSON.parse(readBounded(file, MAX_BYTES).toString("utf8")), {
      abortEarly: true,
    });
    return parsed.success ? parsed.output : null;
  } catch {
    return null;
  }
}

function lastTime(recording: Recording): number {
  let last = 0;
  for (const { timeNs } of recording.tables) for (const time of timeNs ?? []) if (time > last) last = time;
  return last;
}

/** A dump's recording with its error's message and a mark at the end where the events lost them; others unchanged. */
export function withDumpedError(recording: Recording, directory: string): Recording {
  const metadata = metadataOf(directory);
  if (metadata === null) return recording;
  const message = metadata.exception_message?.trim();
  const text = message === undefined || message === "" ? `OOM detected (${metadata.reason})` : message.slice(0, 2000);
  const known = recording.marks.some(({ kind }) => kind === "oom");
  const marks = known
    ? recording.marks.map((mark) => (mark.kind === "oom" ? { ...mark, text } : mark))
    : [...recording.marks, { timeNs: lastTime(recording), kind: "oom" as const, text }];
  return { ...recording, marks };
}

/** The dumps of a Stormlog flight recorder directory, oldest first by name; empty when it is not one. */
export function dumpNames(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && DUMP_NAME.test(entry.name))
    .map((entry) => entry.name)
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
}
