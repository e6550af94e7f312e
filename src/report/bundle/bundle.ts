import { constants } from "node:buffer";
import { readdir, rm } from "node:fs/promises";
import path from "node:path";
import { getHeapStatistics } from "node:v8";
import * as v from "valibot";
import { GateError, invalidInput, messageOf, usageError } from "../../core/errors.ts";
import { type JsonProblem, makeDirectories, PARTIAL, readJson } from "../../core/files.ts";
import { issueText } from "../../core/issue-text.ts";
import { type GateReport, type Timeline, worstScenario } from "../model/gate-report.ts";
import type { AcceptCommand } from "../wording/next-steps.ts";
import { type ListedFile, listFiles, writeBundleFile, writeError } from "./bundle-files.ts";
import { LOCK_FILE, lockBundle, unlockBundle } from "./bundle-lock.ts";

export const MANIFEST_FILE = "manifest.json";

/** The contents of a bundle, with the keys of Stormlog's manifests; `risk_detected` is true for warn and fail. */
export const BundleManifestSchema = v.object({
  version: v.literal(1),
  created_iso: v.string(),
  command_line: v.array(v.string()),
  files: v.array(
    v.object({ path: v.string(), bytes: v.pipe(v.number(), v.integer(), v.minValue(0)), sha256: v.string() }),
  ),
  /** Null until the gate has ended. */
  exit_code: v.nullable(v.pipe(v.number(), v.integer())),
  risk_detected: v.boolean(),
  /** False when files are missing, or when the gate was killed. */
  complete: v.boolean(),
  missing: v.array(v.object({ path: v.string(), reason: v.string() })),
});
export type BundleManifest = v.InferOutput<typeof BundleManifestSchema>;

/** The reports of a bundle. A telemetry loader must not pick up any of these names. */
const PICTURES = { light: "timeline.png", dark: "timeline-dark.png" } as const;
export const REPORT_FILES = [
  "report.json",
  "measurements.json",
  "summary.md",
  PICTURES.light,
  PICTURES.dark,
  "timeline.html",
] as const;

/**
 * Make the bundle's directory with the manifest of an incomplete bundle, which remains if the gate is killed. An
 * earlier bundle in the directory is replaced; a directory with other files is refused.
 * @throws GateError BUNDLE_NOT_EMPTY (usage), BUNDLE_IN_USE, DISK_FULL, NO_PERMISSION, BUNDLE_WRITE_FAILED
 */
export async function prepareBundle(
  directory: string,
  start: { readonly argv: readonly string[]; readonly createdIso: string },
): Promise<void> {
  try {
    makeDirectories(directory);
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
      reason: "the gate is still running, or was killed before it finished",
    })),
  };
  await writeBundleFile(path.join(directory, MANIFEST_FILE), json(manifest));
}

/** Documents of more ranks are not indented, which would double their size. */
const MAX_INDENTED_RANKS = 64;

/**
 * Write the reports into a bundle that has its `runs/`, and the manifest last. Files in `listed` keep their digests.
 * @returns also the report as written, with a warning where this machine cannot draw the picture
 * @throws GateError DISK_FULL, NO_PERMISSION, BUNDLE_WRITE_FAILED after writing everything that could be written
 */
export async function writeBundle(
  directory: string,
  given: GateReport,
  listed: readonly ListedFile[] = [],
  accept?: AcceptCommand,
): Promise<{ readonly manifest: BundleManifest; readonly report: GateReport }> {
  const missing: { path: string; reason: string }[] = [];
  let failure: unknown;
  const produce = async (name: string, make: () => string | Uint8Array | Promise<Uint8Array>) => {
    try {
      await writeBundleFile(path.join(directory, name), await make());
    } catch (cause) {
      failure ??= cause;
      missing.push({ path: name, reason: messageOf(cause) });
    }
  };
  try {
    makeDirectories(directory);
  } catch (cause) {
    throw writeError(cause, directory);
  }
  const shown = worstScenario(given)?.timeline ?? null;
  // Loaded on use: a bundle is prepared before measuring, and written long after.
  const [{ stormlogReport, measurementDocuments }, { renderSummary }, { renderTimelineHtml }] = await Promise.all([
    import("../documents/envelope.ts"),
    import("../markdown/summary-markdown.ts"),
    import("../timeline/timeline-html.ts"),
  ]);
  const pictures = shown === null ? null : await drawPictures(shown);
  const report = pictures?.warning ? { ...given, warnings: [...given.warnings, pictures.warning] } : given;
  const runs = report.scenarios.flatMap((scenario) => scenario.runs);
  const ranks = runs.map(({ analysis }) => analysis?.ranks.participating_ranks.length ?? 0);
  const indent = Math.max(0, ...ranks) > MAX_INDENTED_RANKS ? 0 : 2;
  await produce("report.json", () => json(stormlogReport(report), indent));
  for (const document of measurementDocuments(report))
    await produce(document.path, () => json(document.content, indent));
  await produce("summary.md", () =>
    renderSummary(
      report,
      shown === null || pictures?.light === undefined
        ? {}
        : { pictures: new Map([[shown.scenario, PICTURES]]), htmlUrl: "timeline.html" },
    ),
  );
  for (const theme of ["light", "dark"] as const) {
    const picture = pictures?.[theme];
    if (picture !== undefined) await produce(PICTURES[theme], () => picture);
    else if (pictures?.failure !== undefined) await produce(PICTURES[theme], () => Promise.reject(pictures.failure));
    else if (pictures === null) missing.push({ path: PICTURES[theme], reason: "nothing was measured" });
  }
  await produce("timeline.html", () => renderTimelineHtml(report, accept));
  for (const { info, directory: runDirectory } of runs) {
    if (!info.complete) missing.push({ path: `${runDirectory}/recording.json`, reason: "the recording is incomplete" });
  }
  // A run's losses (late samples, a daemon that ended) are listed too, but do not make the bundle incomplete.
  const complete = missing.length === 0;
  for (const { info, directory: runDirectory } of runs) {
    for (const reason of info.lost) missing.push({ path: runDirectory, reason });
  }
  if (pictures?.warning) missing.push({ path: PICTURES.light, reason: pictures.warning });

  const skip = new Set([MANIFEST_FILE, LOCK_FILE]);
  const { files, leftOut } = await listFiles(directory, { skip, listed }).catch((cause: unknown) => {
    throw failure ?? writeError(cause, directory);
  });
  missing.push(...leftOut);

  const manifest: BundleManifest = {
    version: 1,
    created_iso: report.generated_at_utc,
    command_line: [...report.tool.argv],
    files,
    exit_code: report.exit_code,
    risk_detected: report.verdict === "fail" || report.verdict === "warn",
    complete,
    missing,
  };
  await writeBundleFile(path.join(directory, MANIFEST_FILE), json(manifest, indent));
  await unlockBundle(directory).catch((cause: unknown) => {
    throw failure ?? writeError(cause, directory);
  });
  if (failure !== undefined) throw failure;
  return { manifest, report };
}

interface Pictures {
  readonly light?: Uint8Array;
  readonly dark?: Uint8Array;
  /** Why this machine draws none; null when it does. */
  readonly warning: string | null;
  readonly failure?: unknown;
}

async function drawPictures(timeline: Timeline): Promise<Pictures> {
  const { renderTimelinePng, PICTURE_UNAVAILABLE } = await import("../timeline/timeline-png.ts");
  try {
    const light = await renderTimelinePng(timeline, "light");
    return { light, dark: await renderTimelinePng(timeline, "dark"), warning: null };
  } catch (failure) {
    if (failure instanceof GateError && failure.code === PICTURE_UNAVAILABLE) return { warning: failure.message };
    return { warning: null, failure };
  }
}

/** @throws GateError INPUT_NOT_FOUND, INPUT_TRUNCATED, INPUT_TOO_LARGE, BUNDLE_INVALID */
export async function readManifest(directory: string): Promise<BundleManifest> {
  const file = path.join(directory, MANIFEST_FILE);
  const parsed = v.safeParse(BundleManifestSchema, readDocument(directory, MANIFEST_FILE), { abortEarly: true });
  if (parsed.success) return parsed.output;
  throw invalidInput(
    "BUNDLE_INVALID",
    issueText(parsed.issues[0]),
    file,
    "Pass the directory that `stormlog-gate run --bundle` wrote.",
  );
}

/** Ten times a report with the largest timelines. One of a merge of thousands of recordings is larger. */
const MIN_LIMIT = 64 * 2 ** 20;
/** The parsed and checked document takes several times its size. */
const HEAP_SHARE = 8;

export function readDocument(directory: string, name: string): unknown {
  const file = path.join(directory, name);
  const memory = Math.min(getHeapStatistics().heap_size_limit / HEAP_SHARE, constants.MAX_STRING_LENGTH);
  const limit = Math.max(MIN_LIMIT, memory);
  return readJson(file, refused(file, limit), limit);
}

const refused =
  (file: string, limit: number) =>
  (problem: JsonProblem): GateError => {
    const name = path.basename(file);
    const hint = "Pass the directory that `stormlog-gate run` wrote (default stormlog-bundle).";
    const directory = path.dirname(file);
    switch (problem.kind) {
      case "too-large":
        return invalidInput(
          "INPUT_TOO_LARGE",
          `the file has ${problem.bytes} bytes, and a report has at most ${limit}`,
          file,
        );
      case "absent":
        return invalidInput("INPUT_NOT_FOUND", `not a bundle: ${name} is missing`, directory, hint);
      case "unreadable":
        return invalidInput(
          "INPUT_UNREADABLE",
          `${name} of the bundle cannot be read (${problem.cause.code})`,
          directory,
          hint,
        );
      default:
        return invalidInput("INPUT_TRUNCATED", "not valid JSON: truncated or damaged", file);
    }
  };

function notEmpty(directory: string): GateError {
  return usageError(
    "BUNDLE_NOT_EMPTY",
    `${directory} contains files that do not belong to a bundle`,
    "Choose an empty or new directory with --bundle.",
  );
}

function json(value: unknown, indent = 2): string {
  return `${JSON.stringify(value, null, indent)}\n`;
}
