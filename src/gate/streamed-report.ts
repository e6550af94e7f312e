import { existsSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { analyze } from "../analysis/analyze.ts";
import { measuredRun } from "../analysis/measured-run.ts";
import { absent } from "../baseline/answer.ts";
import { groupBy } from "../core/group-by.ts";
import { packageVersion } from "../core/package-root.ts";
import { temporaryDirectory } from "../core/temporary-directory.ts";
import { countedNotes, plural } from "../core/text.ts";
import { formatBytes, formatDuration } from "../core/units.ts";
import { readStreamedRun } from "../measure/stream/read-stream.ts";
import type { GateReport } from "../report/model/gate-report.ts";
import type { Recording, RecordingInfo } from "../telemetry/recording/model.ts";
import { exitCodeOf, reportVerdict } from "./exit-code.ts";
import type { FinishedRun } from "./run/one-run.ts";
import { failure, runEnding, servedEnding } from "./run/run-ending.ts";
import { failedScenario, type ReportedScenario } from "./scenario/scenario-report.ts";

/** Directory of a gate, as `one-run.ts` names it: when it began, its machine and process. */
const GATE = /^\d{8}T\d{6}Z-.+-\d+$/;
/** How much of the end of a cut run its message describes. */
const LAST_NS = 5e9;

const directoriesIn = (parent: string): string[] =>
  readdirSync(parent, { withFileTypes: true })
    .flatMap((one) => (one.isDirectory() ? [path.join(parent, one.name)] : []))
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }));

/** Directories of the segments of each run of the newest gate that streamed here. */
export function streamedRuns(directory: string): readonly string[] {
  if (!existsSync(directory)) return [];
  const gate = GATE.test(path.basename(path.resolve(directory)))
    ? directory
    : directoriesIn(directory).findLast((one) => GATE.test(path.basename(one)));
  return gate === undefined ? [] : directoriesIn(gate).flatMap(directoriesIn);
}

/**
 * What the newest gate streamed into a directory, of which only a lack of memory is judged; null where none did.
 * @throws GateError STREAM_EMPTY, those of the runs
 */
export async function streamedReport(directory: string, now: Date): Promise<GateReport | null> {
  const scratch = await temporaryDirectory("stormlog-stream-");
  try {
    const runs: FinishedRun[] = [];
    for (const [at, one] of streamedRuns(directory).entries()) {
      const into = path.join(scratch, String(at));
      const { recording, info } = await readStreamedRun(one, into);
      runs.push(finishedRun(recording, info, path.basename(one), into));
    }
    const [first] = runs;
    if (first === undefined) return null;
    const byScenario = [...groupBy(runs, ({ info }) => info.scenario)];
    const judged = await Promise.all(byScenario.map(([name, own]) => scenarioOf(name, own, scratch)));
    const scenarios = judged.map(({ report }) => report);
    const seconds = runs.reduce((sum, { info }) => sum + (info.clock.duration_s ?? 0), 0);
    return {
      tool: { name: "stormlog-gate", version: packageVersion(), argv: ["stormlog-gate", "show"] },
      generated_at_utc: now.toISOString(),
      verdict: reportVerdict({ scenarios }),
      exit_code: exitCodeOf(scenarios, "fail", false),
      confirmed: false,
      session: first.info.session,
      commit: first.info.commit,
      scenarios,
      cost: { runs: runs.length, minutes: seconds / 60 },
      warnings: countedNotes(runs.flatMap(({ info }) => info.lost)),
    };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function finishedRun(recording: Recording, info: RecordingInfo, name: string, directory: string): FinishedRun {
  const analysis = analyze({ ...recording, info });
  const role = name.startsWith("base-") ? "base" : /^(attribution|collected)-/.test(name) ? "attribution" : "candidate";
  const ending = info.complete
    ? servedEnding(runEnding(info.exit, info.oom, info.command), info)
    : failure(
        "RUN_CUT_SHORT",
        cutText(recording, info),
        "The gate or its machine was killed there, unless it still runs. At most the last 2 s are missing.",
      );
  const measured = measuredRun(analysis, info);
  const rest = { warnings: [], interference: [], writeError: null };
  return { role, directory, info, recording, analysis, measured, ending, ...rest };
}

/** Where the evidence ends, with the last seconds before. */
function cutText({ tables }: Recording, { oom, clock, fingerprint }: RecordingInfo): string {
  const did = { established: "the run ran out of memory: ", suspected: "the run may have run out of memory: " };
  const ends = `the evidence ends ${formatDuration(clock.duration_s ?? 0)} after the run's start`;
  const text = `${oom === undefined ? "" : did[oom.certainty]}${ends}`;
  const { timeNs, columns } = tables.find((table) => table.columns.host !== undefined) ?? {};
  const [end, after] = [timeNs?.at(-1), columns?.host?.at(-1)];
  if (!timeNs || end === undefined || after === undefined) return text;
  const from = timeNs.findIndex((one) => one >= end - LAST_NS);
  const seconds = formatDuration((end - timeNs[from]!) / 1e9);
  const limit = fingerprint.memory_limit_bytes;
  const ofLimit = typeof limit === "number" ? ` (limit ${formatBytes(limit)})` : "";
  const before = columns?.host?.[from] ?? Number.NaN;
  if (Number.isNaN(before + after)) return text;
  return `${text}; host memory went from ${formatBytes(before)} to ${formatBytes(after)} in the last ${seconds}${ofLimit}`;
}

function scenarioOf(name: string, runs: readonly FinishedRun[], bundle: string): Promise<ReportedScenario> {
  const candidate = runs.filter(({ role }) => role === "candidate");
  const last = runs.find(({ ending }) => ending.kind !== "ok") ?? runs.at(-1)!;
  const ending = failure(
    "STREAM_WITHOUT_VERDICT",
    `${plural(runs.length, "run is", "runs are")} complete`,
    "A verdict is in the bundle of the gate, unless it was killed before.",
  );
  return failedScenario(
    {
      request: { bundle, gatingMetrics: null, gatingPhases: [], relativeMargin: null },
      scenario: { name, budgets: [], horizon: null },
      candidate,
      stopped: [],
      baseline: absent("a stream contains no baseline"),
      warnings: [],
      candidateMeasurements: () => ({
        scenario: name,
        fingerprint: last.info.fingerprint,
        runs: candidate.flatMap((run) => run.measured ?? []),
      }),
      runs: () => runs,
      interference: () => [],
    },
    last.ending.kind === "ok" ? { ...last, ending } : last,
  );
}
