import { readFileSync } from "node:fs";
import path from "node:path";
import { packageRoot } from "../../src/core/package-root.ts";
import type { TorchSnapshot } from "../../src/snapshot/model/snapshot.ts";
import { sourceOf } from "../../src/snapshot/pickle/window.ts";
import { readSnapshot } from "../../src/snapshot/read.ts";

export const FIXTURES = path.join(packageRoot(), "test", "snapshot", "fixtures");

/** The generator's facts about a snapshot that it wrote. */
export interface Facts {
  readonly step: number;
  readonly reserved: number;
  readonly allocated: number;
  readonly pending: number;
  readonly largest_inactive: number;
  readonly lines: Readonly<
    Record<string, { readonly bytes: number; readonly requested: number; readonly blocks: number }>
  >;
}

const document: { readonly leak_bytes: number; readonly files: Readonly<Record<string, Facts>> } = JSON.parse(
  readFileSync(path.join(FIXTURES, "facts.json"), "utf8"),
);

export const FILES = Object.keys(document.files);
export const LEAK_BYTES = document.leak_bytes;

export function facts(name: string): Facts {
  const known = document.files[name];
  if (known === undefined) throw new Error(`no facts of ${name}`);
  return known;
}

export const bytesOf = (name: string): Uint8Array => readFileSync(path.join(FIXTURES, name));

export function fixture(name: string): TorchSnapshot {
  return readSnapshot(sourceOf(bytesOf(name)), name);
}

/** Root of the job that the fixtures are of. */
export const ROOT = "/home/user/project";
