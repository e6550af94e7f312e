import { readFileSync } from "node:fs";
import { join } from "node:path";
import { MIB } from "../../../src/core/units.ts";

/** Peaks of runs of byte-identical code in one environment, bytes, in the order they are listed. */
export interface RerunGroup {
  readonly name: string;
  readonly allocated: readonly number[];
  /** Empty where a run did not report it. */
  readonly reserved: readonly number[];
}

/** Groups of `modded-nanogpt/peak_memory_reruns.csv` below the data directory with at least `least` runs. */
export function readReruns(data: string, least: number): readonly RerunGroup[] {
  const text = readFileSync(join(data, "modded-nanogpt", "peak_memory_reruns.csv"), "utf8");
  const [head = "", ...lines] = text.trim().split("\n");
  const columns = head.split(",");
  const at = (name: string): number => {
    const index = columns.indexOf(name);
    if (index < 0) throw new Error(`peak_memory_reruns.csv has no column ${name}`);
    return index;
  };
  const identity = ["group", "code_sha1_12", "torch", "driver"].map(at);
  const [allocated, reserved] = [at("peak_allocated_mib"), at("peak_reserved_mib")];
  const groups = new Map<string, { allocated: number[]; reserved: number[] }>();
  for (const line of lines) {
    const fields = line.split(",");
    const name = identity.map((index) => fields[index]).join(" ");
    const group = groups.get(name) ?? { allocated: [], reserved: [] };
    group.allocated.push(Number(fields[allocated]) * MIB);
    if (fields[reserved] !== "") group.reserved.push(Number(fields[reserved]) * MIB);
    groups.set(name, group);
  }
  return [...groups]
    .filter(([, { allocated: runs }]) => runs.length >= least)
    .map(([name, runs]) => ({ name, ...runs }));
}
