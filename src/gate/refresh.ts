import { rm } from "node:fs/promises";
import path from "node:path";
import type { MeasuredSeries } from "../analysis/measurements.ts";
import { seriesOf } from "../analysis/series/series.ts";
import { type Band, type BandSeries, buildBand } from "../baseline/band.ts";
import { differentCommands } from "../baseline/identity.ts";
import { selectRuns, toMeasurements } from "../baseline/record.ts";
import { addRuns, emptyRecord, withEnvelopes } from "../baseline/record-changes.ts";
import type { BaselineStore, StoredRecord } from "../baseline/store.ts";
import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import { GateError } from "../core/errors.ts";
import { groupBy } from "../core/group-by.ts";
import { temporaryDirectory } from "../core/temporary-directory.ts";
import { countedNotes, oneLine, plural } from "../core/text.ts";
import { viewRepository } from "../git/repository-view.ts";
import type { RaisedWall } from "../measure/launch/wall.ts";
import { outputTail } from "../measure/session/output-tail.ts";
import { keptSession, sessionId } from "../measure/session/session.ts";
import { METRIC } from "../telemetry/recording/metrics.ts";
import { DEFAULT_POLICY } from "../verdict/model/defaults.ts";
import type { GatePorts } from "./ports/ports.ts";
import { type FinishedRun, oneRun } from "./run/one-run.ts";
import { wallAround } from "./run/wall-around.ts";

/** One envelope for each series of the runs, the judged ones first. */
export function envelopesOf(runs: readonly FinishedRun[]): Band[] {
  const series = runs
    .flatMap(({ recording }) => (recording === null ? [] : seriesOf(recording)))
    .filter(({ metric }) => !METRIC[metric].isOnRequest && !METRIC[metric].isInterpreter)
    .map(({ timeS, ...one }): BandSeries => ({ ...one, time_s: timeS }));
  const groups = groupBy(series, ({ rank, device, metric }) => `${rank} ${device} ${metric}`);
  const envelopes = [...groups.values()].map(buildBand).filter((envelope) => envelope !== null);
  const weight = ({ metric }: Band): number => ["allocated", "host", "reserved", "used"].indexOf(metric);
  // Maximum number of series with a baseline band: the size of a record is limited.
  return envelopes.sort((a, b) => weight(a) - weight(b)).slice(0, 4);
}

const MARGIN = "\n  │ ";

/** The last line that the failed run of a refresh printed; null when there is none, or the error is another one. */
export function lastPrinted({ hint }: GateError): string | null {
  return hint?.startsWith("It printed last:") ? (hint.split(MARGIN).at(-1)?.trim() ?? null) : null;
}

/** The end of the run's output, as a hint: the run's directory will be deleted. */
export function failureHint(directory: string, hint: string | null): string {
  const tail = outputTail(directory);
  if (tail === null) return hint === null || hint.includes("output.log") ? "The command printed nothing." : hint;
  // Lines of output that explain a failed run.
  return ["It printed last:", ...tail.split("\n").slice(-12)].join(MARGIN);
}

/** What follows from a baseline of too few runs; null when it has enough. */
export function incompleteBaseline({ record }: StoredRecord): string | null {
  const runs = selectRuns(record, null).length;
  const missing = DEFAULT_POLICY.minBaselineRuns - runs;
  if (missing <= 0) return null;
  return (
    `the baseline has ${plural(runs, "run")} and is compared with from ${DEFAULT_POLICY.minBaselineRuns} on: until then ` +
    `peak and growth are unjudged. Add ${missing} with \`baseline refresh --runs ${missing}\` and the same command`
  );
}

/** What a baseline hides whose host memory grows like a leak; null when it hides nothing. */
export function hiddenGrowth({ record }: StoredRecord): string | null {
  const { runs } = toMeasurements(record, selectRuns(record, null));
  const isKnown = ({ metric, peak_bytes }: MeasuredSeries): boolean => METRIC[metric].isLiveHeap && peak_bytes !== null;
  const leaks = runs.filter(({ series }) => series.some((one) => one.metric === "host" && one.class === "leak")).length;
  if (leaks === 0) return null;
  if (runs.filter(({ series }) => series.some(isKnown)).length >= DEFAULT_POLICY.minBaselineRuns) return null;
  return (
    `host memory grows like a leak in ${leaks} of ${plural(runs.length, "run")} of this baseline, and what its heap ` +
    "keeps is not known: a leak that grows as much passes"
  );
}

export interface RefreshedRecord extends StoredRecord {
  /** Of the shortest of its new runs, seconds; null when unknown. */
  readonly durationS: number | null;
}

/**
 * Measure a scenario `runs` times and add them to the store as one session. Nothing is stored unless all runs ended
 * well: a baseline with a failed run in it would be compared with.
 * @throws GateError of the failed command, INTERRUPTED, and those of the store
 */
export async function refreshScenario(
  request: GateRequest,
  scenario: ScenarioRequest,
  options: { readonly runs: number; readonly store: BaselineStore },
  ports: GatePorts,
): Promise<RefreshedRecord> {
  const session = keptSession(sessionId(request.env), ports.now().toISOString());
  const { commit } = await viewRepository(scenario.cwd, request.env);
  // The runs are kept only until their features are stored.
  const parent = await temporaryDirectory("stormlog-gate-refresh-");
  let wall: RaisedWall | undefined;
  try {
    wall = await wallAround({ ...request, scenarios: [scenario] }, [parent]);
    const finished: FinishedRun[] = [];
    for (let number = 1; number <= options.runs; number += 1) {
      const { command, cwd } = scenario;
      const directory = path.join(parent, String(number));
      const run = await oneRun(
        request,
        scenario,
        { role: "candidate", number, directory, command, cwd, session, commit, wall },
        ports,
      );
      if (run.ending.kind === "interrupted")
        throw new GateError("INTERRUPTED", `interrupted by ${run.ending.signal}, nothing was stored`, {
          kind: "interrupted",
        });
      if (run.ending.kind === "failed") {
        throw new GateError(
          run.ending.code,
          `${scenario.name}, run ${number} of ${options.runs}: ${run.ending.message}; nothing was stored`,
          { hint: failureHint(directory, run.ending.hint) },
        );
      }
      if (run.measured === null)
        throw new GateError("NOTHING_MEASURED", `${scenario.name}, run ${number}: ${run.warnings.join("; ")}`);
      ports.log(`${oneLine(scenario.name)}: baseline run ${number} of ${options.runs}`);
      finished.push(run);
    }
    for (const note of countedNotes(finished.flatMap(({ warnings }) => warnings))) ports.log(`note: ${note}`);
    const fingerprint = finished[0]?.info.fingerprint ?? {};
    const timeIso = ports.now().toISOString();
    const added = finished.flatMap(({ measured }) =>
      measured === null ? [] : [{ measured, timeIso, approved: true, command: fingerprint.command }],
    );
    let before: string | number | null = null;
    const stored = await options.store.update(scenario.name, fingerprint, (current) => {
      before = current?.fingerprint.command ?? null;
      const record = addRuns(current ?? emptyRecord(scenario.name, { ...fingerprint }), added);
      return withEnvelopes(record, envelopesOf(finished));
    });
    if (scenario.definition === null && differentCommands(before, fingerprint.command ?? null)) {
      ports.log(`note: the earlier runs of this baseline were made by: ${oneLine(String(before))}`);
    }
    const missing = incompleteBaseline(stored);
    if (missing !== null) ports.log(`${oneLine(scenario.name)}: ${missing}`);
    const hidden = hiddenGrowth(stored);
    if (hidden !== null) ports.log(`warning: ${oneLine(scenario.name)}: ${hidden}`);
    const lengths = finished.flatMap(({ info }) => info.clock.duration_s ?? []);
    return { ...stored, durationS: lengths.length === 0 ? null : Math.min(...lengths) };
  } finally {
    wall?.lower();
    await rm(parent, { recursive: true, force: true });
  }
}
