import { groupBy } from "../../core/group-by.ts";
import type { LiveEntry, LiveSample } from "../growth/line-growth.ts";
import { State } from "../model/keys.ts";
import type { TorchSnapshot } from "../model/snapshot.ts";
import type { Owners } from "./owners.ts";

/** Maximum number of stacks of a line in a sample; smaller ones count with the largest. */
const STACKS_OF_A_LINE = 4;

/** Device of a block's segment. */
export function deviceOf({ segments, blocks }: TorchSnapshot, block: number): number {
  return segments.device[blocks.segment[block] as number] as number;
}

/** Device numbers of a snapshot, ascending. */
export function devicesOf({ segments, traces }: TorchSnapshot): readonly number[] {
  return [...new Set([...segments.device, ...traces.map(({ device }) => device)])].sort((a, b) => a - b);
}

/** Bytes of the allocated blocks of one device or of all. */
export function allocatedBytes(snapshot: TorchSnapshot, device: number | null = null): number {
  const { blocks } = snapshot;
  let sum = 0;
  for (let i = 0; i < blocks.count; i++) {
    if (blocks.state[i] !== State.allocated) continue;
    if (device === null || deviceOf(snapshot, i) === device) sum += blocks.size[i] as number;
  }
  return sum;
}

/** Microseconds of the last trace entry of a device; null without. */
function lastTime({ traces }: TorchSnapshot, device: number): number | null {
  const last = traces.find((trace) => trace.device === device)?.time.at(-1) ?? Number.NaN;
  return Number.isNaN(last) ? null : last;
}

/** Live memory of one device, as a sample for growth by line. */
export function liveSample(snapshot: TorchSnapshot, owners: Owners, device: number, step: number | null): LiveSample {
  const { blocks, stacks } = snapshot;
  const byStack = new Map<number, { bytes: number; count: number }>();
  let totalBytes = 0;
  for (let i = 0; i < blocks.count; i++) {
    if (blocks.state[i] !== State.allocated || deviceOf(snapshot, i) !== device) continue;
    const stack = blocks.stack[i] as number;
    const sum = byStack.get(stack) ?? { bytes: 0, count: 0 };
    sum.bytes += blocks.size[i] as number;
    sum.count++;
    totalBytes += blocks.size[i] as number;
    byStack.set(stack, sum);
  }
  const byLine = groupBy(byStack, ([stack]) => owners.line[stack] as number);
  const entries: LiveEntry[] = [];
  for (const own of byLine.values()) {
    own.sort(([, a], [, b]) => b.bytes - a.bytes);
    const [first] = own;
    for (const [, rest] of own.slice(STACKS_OF_A_LINE)) {
      if (first === undefined) break;
      first[1].bytes += rest.bytes;
      first[1].count += rest.count;
    }
    for (const [stack, sum] of own.slice(0, STACKS_OF_A_LINE)) {
      // Frames kept of a stack to find its line. More than any stack has before its first user frame.
      entries.push({ ...sum, kind: "block", stack: stacks.list(stack, 400) });
    }
  }
  const time = lastTime(snapshot, device);
  return { step, timeNs: time === null ? null : time * 1000, totalBytes, entries };
}
