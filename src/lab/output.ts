import { readFileSync } from "node:fs";
import path from "node:path";
import * as v from "valibot";
import { outputTail } from "../measure/session/output-tail.ts";
import { LEAK_MARKS } from "./catalogue.ts";

/** Starts the line with a pattern's facts; see `leak-lab/patterns/leaklab/site-packages/report.py`. */
const PREFIX = "leak-lab: ";

const factsSchema = v.object({
  steps: v.number(),
  framework: v.string(),
  leak_bytes_per_step: v.number(),
  accuracy: v.nullable(v.number()),
});

/** The facts that a run of a pattern prints at its end. */
export type LabFacts = v.InferOutput<typeof factsSchema>;

/** The facts in the output of a measured run; null when it ended before it printed them. */
export function labFacts(runDirectory: string): LabFacts | null {
  const line = outputTail(runDirectory)
    ?.split("\n")
    .findLast((text) => text.startsWith(PREFIX));
  if (line === undefined) return null;
  try {
    const result = v.safeParse(factsSchema, JSON.parse(line.slice(PREFIX.length)));
    return result.success ? result.output : null;
  } catch {
    return null;
  }
}

/** Whether a source line ("leak-lab/patterns/forward_hook.py:24") lies between the marks of the pattern's file. */
export function inLeak(sourceLine: string, file: string): boolean {
  const match = /^(.*):(\d+)$/.exec(sourceLine);
  if (match === null || path.posix.basename(match[1] ?? "") !== path.basename(file)) return false;
  const lines = readFileSync(file, "utf8").split("\n");
  const at = (words: string): number => lines.findIndex((line) => line.includes(words)) + 1;
  const line = Number(match[2]);
  return line > at(LEAK_MARKS.begin) && line < at(LEAK_MARKS.end);
}
