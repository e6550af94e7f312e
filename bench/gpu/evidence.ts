import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ROOT } from "./machine.ts";

export const PARTS = ["costs", "lab", "aa", "oom", "peaks"] as const;
export type Part = (typeof PARTS)[number];

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json | undefined };
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/**
 * How one measurement ended. `impossible`: this machine cannot do it, so it is not tried again; `failed` is tried
 * again.
 */
export type Outcome = {
  readonly ended: string;
  readonly seconds: number;
  /** How many chains of measurements were run at the same time, where it was more than one. */
  readonly at_once?: number;
} & (
  | { readonly status: "measured"; readonly result: JsonObject }
  | { readonly status: "failed" | "impossible"; readonly reason: string }
);

/** A recording kept beside the document, packed. */
interface KeptRecording {
  readonly file: string;
  readonly measurement: string;
  readonly bytes: number;
}

export const SCHEMA = "stormlog.gpu-evidence/1";

/** One part's JSON: README.md describes it. */
export interface Evidence {
  readonly schema: typeof SCHEMA;
  /** False when a fake library or a stand-in of the framework was used: not evidence about hardware. */
  readonly hardware: boolean;
  readonly part: Part;
  /** Everything planned was measured, or cannot be on this machine. */
  complete: boolean;
  readonly started: string;
  /** Over all calls. */
  seconds: number;
  readonly environment: JsonObject;
  readonly settings: JsonObject;
  planned: readonly string[];
  readonly measurements: Record<string, Outcome>;
  /** Recomputed from the measurements whenever one ends. */
  summary: JsonObject;
  readonly recordings: KeptRecording[];
}

/** Facts that identify the machine: when one differs, two calls ran on different machines. */
const SAME = ["gpu", "driver", "torch", "gate"] as const;

export class UsageError extends Error {}

export function evidenceFile(directory: string, part: Part): string {
  return path.join(directory, `${part}.json`);
}

function within(some: unknown, all: unknown): boolean {
  return [some].flat().every((one) => [all].flat().includes(one));
}

/**
 * The part's document: a new one, or with `resume` the existing one, which must be of this machine and these
 * settings; patterns may be added.
 */
export function openEvidence(
  directory: string,
  fresh: Pick<Evidence, "hardware" | "part" | "environment" | "settings">,
  resume: boolean,
): Evidence {
  const file = evidenceFile(directory, fresh.part);
  mkdirSync(directory, { recursive: true });
  if (resume && existsSync(file)) {
    const found = JSON.parse(readFileSync(file, "utf8")) as Evidence;
    if (found.schema !== SCHEMA || found.part !== fresh.part)
      throw new UsageError(`${file} is not a ${SCHEMA} of this part`);
    if (found.hardware !== fresh.hardware)
      throw new UsageError(`${file} was measured ${found.hardware ? "on hardware" : "on fakes"}`);
    for (const name of SAME) {
      if (JSON.stringify(found.environment[name]) !== JSON.stringify(fresh.environment[name]))
        throw new UsageError(
          `${file} is of another machine: its ${name} is ${JSON.stringify(found.environment[name])}`,
        );
    }
    const { patterns: before, ...settings } = found.settings;
    const { patterns: after, ...wanted } = fresh.settings;
    if (JSON.stringify(settings) !== JSON.stringify(wanted) || !within(before, after))
      throw new UsageError(`${file} was measured with other settings: ${JSON.stringify(found.settings)}`);
    return { ...found, settings: fresh.settings };
  }
  return {
    schema: SCHEMA,
    ...fresh,
    complete: false,
    started: new Date().toISOString(),
    seconds: 0,
    planned: [],
    measurements: {},
    summary: {},
    recordings: [],
  };
}

/**
 * Written aside and renamed: a call that is killed leaves the document of the measurement before. Files of the checkout
 * are named from its top.
 */
export function saveEvidence(directory: string, evidence: Evidence): void {
  const file = evidenceFile(directory, evidence.part);
  const aside = `${file}.new`;
  writeFileSync(aside, `${JSON.stringify(evidence, null, 1).replaceAll(ROOT, "")}\n`);
  renameSync(aside, file);
}

/** The results of the measurements whose name begins so, in the order of the plan. */
export function results(evidence: Evidence, prefix: string): { readonly name: string; readonly result: JsonObject }[] {
  return evidence.planned.flatMap((name) => {
    const one = evidence.measurements[name];
    return name.startsWith(prefix) && one?.status === "measured" ? [{ name, result: one.result }] : [];
  });
}
