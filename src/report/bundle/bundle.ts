import { mkdir, readdir, rm } from "node:fs/promises";
import path from "node:path";
import * as v from "valibot";
import { GateError, invalidInput, usageError } from "../../core/errors.ts";
import { type JsonProblem, PARTIAL, readJson } from "../../core/files.ts";
import type { StormlogReport } from "../documents/envelope.ts";
import type { GateReport } from "../documents/model.ts";
import { type ListedFile, listFiles, writeBundleFile, writeError } from "./bundle-files.ts";
import { LOCK_FILE, lockBundle, unlockBundle } from "./bundle-lock.ts";
import { type BundleManifest, BundleManifestSchema, MANIFEST_FILE } from "./manifest.ts";

/** What the reports of a bundle are called; none of the names is one that a telemetry loader picks up. */
const REPORT_FILES = ["report.json", "measurements.json", "summary.md", "timeline.png", "timeline.html"] as const;

export interface BundleStart {
  readonly argv: readonly string[];
  readonly createdIso: string;
}

/**
 * Make the bundle's directory and leave a manifest that says it is not complete, so that even a killed gate leaves a bundle that
 * explains itself. An earlier bundle in the same place is replaced; a directory with anything else in it is left alone.
 * @throws GateError BUNDLE_NOT_EMPTY (usage), BUNDLE_IN_USE, DISK_FULL, NO_PERMISSION, BUNDLE_WRITE_FAILED
 */
export async function prepareBundle(directory: string, start: BundleStart): Promise<void> {
  try {
    await mkdir(directory, { recursive: true });
    const entries = (await readdir(directory)).filter((name) => name !== LOCK_FILE);
    if (entries.length > 0) {
      if (!entries.includes(MANIFEST_FILE)) throw notEmpty(directory);
      await readManifest(directory).catch(() => {
        throw notEmpty(directory);
      });
    }
    await lockBundle(directory);
    if (entries.length > 0) {
      const partial = entries.filter((name) => name.endsWith(PARTIAL));
      for (const name of [MANIFEST_FILE, ...REPORT_FILES, "runs", ...partial]) {
        await rm(path.join(directory, name), { recursive: true, force: true });
      }
    }
  } catch (cause) {
    throw cause instanceof GateError ? cause : writeError(cause, directory);
  }
  const manifest: BundleManifest = {
    version: 1,
    created_iso: start.createdIso,
    command_line: [...start.argv],
    files: [],
    exit_code: null,
    risk_detected: false,
    complete: false,
    missing: REPORT_FILES.map((name) => ({
      path: name,
      reason: "the gate has not ended, or was killed before it could",
    })),
  };
  await writeBundleFile(path.join(directory, MANIFEST_FILE), json(manifest));
}

/**
 * Write the reports into a bundle whose `runs/` are there already, and the manifest last. One report that cannot be made does
 * not keep the others from being written; it is listed as missing.
 * @param listed files of it whose digests are known, and need not be read again
 * @throws GateError DISK_FULL, NO_PERMISSION, BUNDLE_WRITE_FAILED after everything that could be written was
 */
export async function writeBundle(
  directory: string,
  report: GateReport,
  listed: readonly ListedFile[] = [],
): Promise<BundleManifest> {
  const missing: { path: string; reason: string }[] = [];
  let failure: unknown;
  const produce = async (name: string, make: () => string | Uint8Array | Promise<Uint8Array>) => {
    try {
      await writeBundleFile(path.join(directory, name), await make());
    } catch (cause) {
      failure ??= cause;
      missing.push({ path: name, reason: cause instanceof Error ? cause.message : String(cause) });
    }
  };
  try {
    await mkdir(directory, { recursive: true });
  } catch (cause) {
    throw writeError(cause, directory);
  }
  // Loaded on use: a bundle is prepared before measuring, and written long after.
  const [{ stormlogReport }, { measurementDocuments }, { renderSummary }, { renderTimelineHtml }, { worstScenario }] =
    await Promise.all([
      import("../documents/envelope.ts"),
      import("../documents/measurements-document.ts"),
      import("../markdown/summary-markdown.ts"),
      import("../timeline/timeline-html.ts"),
      import("../timeline/timeline-model.ts"),
    ]);
  await produce("report.json", () => json(stormlogReport(report)));
  for (const document of measurementDocuments(report)) await produce(document.path, () => json(document.content));
  const shown = worstScenario(report)?.timeline ?? null;
  await produce("summary.md", () =>
    renderSummary(report, shown === null ? {} : { timelineImageUrl: "timeline.png", htmlUrl: "timeline.html" }),
  );
  if (shown === null) {
    missing.push({ path: "timeline.png", reason: "nothing was measured" });
  } else {
    await produce("timeline.png", async () => (await import("../timeline/timeline-png.ts")).renderTimelinePng(shown));
  }
  await produce("timeline.html", () => renderTimelineHtml(report));
  for (const run of report.scenarios.flatMap((scenario) => scenario.runs)) {
    if (!run.info.complete)
      missing.push({ path: `${run.directory}/recording.json`, reason: "the recording was cut short" });
  }
  // A note of what a run lost (late samples, a daemon that was ended) is listed too, but the bundle is whole all the same.
  const complete = missing.length === 0;
  for (const run of report.scenarios.flatMap((scenario) => scenario.runs)) {
    for (const reason of run.info.lost) missing.push({ path: run.directory, reason });
  }

  const manifest: BundleManifest = {
    version: 1,
    created_iso: report.generated_at_utc,
    command_line: [...report.tool.argv],
    files: await listFiles(directory, new Set([MANIFEST_FILE, LOCK_FILE]), listed),
    exit_code: report.exit_code,
    risk_detected: report.word === "fail" || report.word === "warn",
    complete,
    missing,
  };
  await writeBundleFile(path.join(directory, MANIFEST_FILE), json(manifest));
  await unlockBundle(directory);
  if (failure !== undefined) throw failure;
  return manifest;
}

export interface ReadBundle {
  readonly manifest: BundleManifest;
  readonly envelope: StormlogReport;
  /** The whole answer; its timelines are thinned. */
  readonly report: GateReport;
}

/**
 * Read a bundle back. Every value is checked: the bundle may come from a stranger.
 * @throws GateError INPUT_NOT_FOUND, INPUT_TRUNCATED, INPUT_TOO_LARGE, BUNDLE_INVALID, BUNDLE_INCOMPLETE, REPORT_INVALID, INPUT_SCHEMA_VERSION
 */
export async function readBundle(directory: string): Promise<ReadBundle> {
  const manifest = await readManifest(directory);
  const file = path.join(directory, "report.json");
  if (manifest.exit_code === null) {
    throw invalidInput(
      "BUNDLE_INCOMPLETE",
      "the gate was ended before it could write its report",
      directory,
      "What was measured is under runs/; `stormlog-gate analyze` reads it.",
    );
  }
  const { parseStormlogReport } = await import("../documents/envelope.ts");
  const { envelope, report } = parseStormlogReport(readJson(file, refused(file), MAX_BYTES), file);
  return { manifest, envelope, report: { ...report, exit_code: manifest.exit_code } };
}

async function readManifest(directory: string): Promise<BundleManifest> {
  const file = path.join(directory, MANIFEST_FILE);
  const parsed = v.safeParse(BundleManifestSchema, readJson(file, refused(file), MAX_BYTES));
  if (parsed.success) return parsed.output;
  const issue = parsed.issues[0];
  throw invalidInput(
    "BUNDLE_INVALID",
    `${v.getDotPath(issue) ?? "manifest"}: ${issue.message}`,
    file,
    "Give the directory that `stormlog-gate run --bundle` wrote.",
  );
}

/** A report of the largest allowed timelines is a tenth of this. */
const MAX_BYTES = 64 * 1024 * 1024;

const refused =
  (file: string) =>
  (problem: JsonProblem): GateError => {
    const name = path.basename(file);
    const hint = "Give the directory that `stormlog-gate run` wrote (default stormlog-bundle).";
    const directory = path.dirname(file);
    switch (problem.kind) {
      case "too-large":
        return invalidInput("INPUT_TOO_LARGE", `${problem.bytes} bytes are more than any report has`, file);
      case "absent":
        return invalidInput("INPUT_NOT_FOUND", `this is not a bundle: it has no ${name}`, directory, hint);
      case "unreadable":
        return invalidInput(
          "INPUT_UNREADABLE",
          `${name} of the bundle cannot be read (${problem.cause.code})`,
          directory,
          hint,
        );
      default:
        return invalidInput("INPUT_TRUNCATED", "not valid JSON, cut or damaged", file);
    }
  };

function notEmpty(directory: string): GateError {
  return usageError(
    "BUNDLE_NOT_EMPTY",
    `${directory} holds files that are no bundle`,
    "Choose an empty or new directory with --bundle.",
  );
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
