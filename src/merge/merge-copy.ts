import { copyFileSync, linkSync } from "node:fs";
import path from "node:path";
import { scenarioDirectory } from "../baseline/identity.ts";
import { makeDirectories } from "../core/files.ts";
import { type ListedFile, writeError } from "../report/bundle/bundle-files.ts";
import type { RunReport, ScenarioReport } from "../report/model/gate-report.ts";
import type { RunRole } from "../report/model/report-schema.ts";
import type { Evidence } from "./merge-read.ts";
import type { Job } from "./merge-report.ts";

/** A run directory in a leg's bundle and in the merged one. */
export interface RunCopy {
  readonly leg: string;
  readonly from: string;
  readonly to: string;
}

const PREFIX: Readonly<Record<RunRole, string>> = {
  candidate: "",
  base: "base-",
  attribution: "attribution-",
  superseded: "",
};

/** A job's scenario with the runs of all nodes numbered as `runs/<scenario>/<n>`: every node's runs start with 1. */
export function numberRuns(
  job: Job,
  scenario: ScenarioReport,
): { readonly scenario: ScenarioReport; readonly copies: readonly RunCopy[] } {
  const counts: Record<string, number> = {};
  const copies: RunCopy[] = [];
  const runs = job.nodes.flatMap(({ leg, scenario: own }) =>
    own.runs.map((run): RunReport => {
      const prefix = PREFIX[run.role];
      const number = (counts[prefix] ?? 0) + 1;
      counts[prefix] = number;
      const to = `runs/${scenarioDirectory(job.name)}/${prefix}${number}`;
      copies.push({ leg, from: run.directory, to });
      return { ...run, directory: to };
    }),
  );
  return { scenario: { ...scenario, runs }, copies };
}

/** A hard link where the file system supports it, else a copy; neither reads the file into memory. */
function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    copyFileSync(from, to);
  }
}

/**
 * Copy run directories of a leg's checked evidence into a merged bundle, and list the copies with their digests.
 * @throws GateError DISK_FULL, NO_PERMISSION, BUNDLE_WRITE_FAILED
 */
export function copyRuns(
  evidence: readonly Evidence[],
  copies: readonly Pick<RunCopy, "from" | "to">[],
  target: string,
): readonly ListedFile[] {
  const copied: ListedFile[] = [];
  const made = new Set<string>();
  for (const { directory, under, files } of evidence) {
    const prefix = under === "" ? "" : `${under}/`;
    for (const { from, to } of copies) {
      if (prefix !== "" && !prefix.startsWith(`${from}/`)) continue;
      for (const { path: name, bytes, sha256 } of files) {
        const within = `${prefix}${name}`;
        if (!within.startsWith(`${from}/`)) continue;
        const bundlePath = `${to}/${within.slice(from.length + 1)}`;
        const copy = path.join(target, bundlePath);
        const parent = path.dirname(copy);
        try {
          if (!made.has(parent)) makeDirectories(parent);
          made.add(parent);
          linkOrCopy(path.join(directory, name), copy);
        } catch (cause) {
          throw writeError(cause, copy);
        }
        copied.push({ path: bundlePath, bytes, sha256 });
      }
    }
  }
  return copied;
}
