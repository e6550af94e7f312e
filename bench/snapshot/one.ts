/**
 * Reads one snapshot in this fresh process and prints what it took as JSON. Usage: one.ts ours|pickleparser FILE
 * [DIR]
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { readSnapshotFile } from "../../src/inputs/snapshot-input.ts";

/** What reading took: peak is the whole process's resident set, risen what reading added to it. */
export interface OneResult {
  readonly entries: number;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakBytes: number;
  readonly risenBytes: number;
  /** Columns of the result, of ours only; its stacks and strings are not counted. */
  readonly keptBytes?: number;
}

const [, , reader, file = "", directory = ""] = process.argv;

let keptBytes = 0;

function ours(): number {
  const { traces, segments, blocks } = readSnapshotFile(file);
  for (const column of [...traces, segments, blocks].flatMap((table) => Object.values(table))) {
    if (ArrayBuffer.isView(column)) keptBytes += column.byteLength;
  }
  return traces[0]?.length ?? 0;
}

function pickleparser(): number {
  const { Parser } = createRequire(import.meta.url)(directory);
  return new Parser().parse(readFileSync(file)).device_traces[0].length;
}

const peak = (): number => process.resourceUsage().maxRSS * 1024;
const risenFrom = peak();
const cpuFrom = process.cpuUsage();
const wallFrom = performance.now();
const entries = reader === "pickleparser" ? pickleparser() : ours();
const wallMs = performance.now() - wallFrom;
const { user, system } = process.cpuUsage(cpuFrom);
const result: OneResult = {
  entries,
  wallMs,
  cpuMs: (user + system) / 1000,
  peakBytes: peak(),
  risenBytes: peak() - risenFrom,
  keptBytes,
};
console.log(JSON.stringify(result));
