import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { analyze } from "../analysis/analyze.ts";
import type { AnalysisDocument, SeriesAnalysis } from "../analysis/series/document.ts";
import { scenarioDirectory } from "../baseline/identity.ts";
import { GateError } from "../core/errors.ts";
import { type AnalysisInput, analysisInput } from "../inputs/analysis-input.ts";
import { withFileErrors } from "../telemetry/recording/input-file.ts";
import type { Recording } from "../telemetry/recording/model.ts";
import { CATALOGUE } from "./catalogue.ts";
import { labFacts } from "./output.ts";
import { counterpart, kindOf, mainSeries, measuresOf, outOfMemoryOf, peakRatio } from "./pattern.ts";
import {
  type LabDocument,
  type LabEnvironment,
  type LabOutOfMemory,
  type LabPattern,
  type LabState,
  labEnvironment,
} from "./report/document.ts";
import { LAB_STATES, type LabStateName } from "./round.ts";

/** Endings of telemetry files. A directory also contains notes and pictures, which are not read. */
const TELEMETRY = /\.(?:json|jsonl|csv|parquet|rec|sqlite|db|pickle|pkl)$/i;
/** TraceML's database beside it contains the same run. */
const SUMMARY = "final_summary.json";

/** Whether a file's name has the ending of telemetry. */
const isTelemetry = (file: string): boolean => TELEMETRY.test(file);

/** Whether a path is a directory or a link to one. A dangling link is not: reading it reports the error. */
function isDirectory(location: string): boolean {
  try {
    return statSync(location).isDirectory();
  } catch {
    return false;
  }
}

/** Telemetry files of a directory that is neither a run nor a bundle. Several are shards of one run. */
function filesOf(directory: string): readonly string[] {
  const names = readdirSync(directory)
    .filter((name) => isTelemetry(name) && !isDirectory(path.join(directory, name)))
    .sort();
  return (names.includes(SUMMARY) ? [SUMMARY] : names).map((name) => path.join(directory, name));
}

/** A bundle (newest run), run directory, input of `analyze`, or directory of them. @throws INPUT_…, RANK_CLASH */
async function stateInput(location: string): Promise<AnalysisInput> {
  try {
    return await analysisInput([location]);
  } catch (error) {
    if (!(error instanceof GateError) || error.code !== "INPUT_IS_DIRECTORY") throw error;
    const files = filesOf(location);
    if (files.length === 0) throw error;
    return analysisInput(files);
  }
}

type StatePaths = Readonly<Partial<Record<LabStateName, string>>>;

/** One recording, read and analysed. */
interface Replayed {
  readonly location: string;
  readonly analysis: AnalysisDocument;
  /** Null where only features are known. */
  readonly recording: Recording | null;
}

/** A state without a readable recording. */
interface Unread {
  readonly error: GateError | null;
  readonly reason: string;
}

const compare = (a: string, b: string): number => a.localeCompare(b, "en", { numeric: true });

const namesOf = (directory: string): readonly string[] => withFileErrors(directory, () => readdirSync(directory));

/** Rank of a path as a state's recording: a directory, telemetry, another file. */
function unlikeliness(location: string): number {
  return isDirectory(location) ? 0 : isTelemetry(location) ? 1 : 2;
}

/** The states in a pattern's directory: `leaky` and `fixed`, directories or files of any ending. */
function statesIn(directory: string): StatePaths {
  const names = namesOf(directory);
  const found = LAB_STATES.flatMap((state) => {
    const [location] = names
      .filter((name) => (name.split(".")[0] ?? "").toLowerCase() === state)
      .map((name) => path.join(directory, name))
      .sort((a, b) => unlikeliness(a) - unlikeliness(b) || compare(a, b));
    return location === undefined ? [] : [[state, location] as const];
  });
  return Object.fromEntries(found);
}

/** Directories with at least one state, by name. */
function patternsIn(directory: string): readonly (readonly [string, StatePaths])[] {
  return namesOf(directory)
    .filter((name) => !name.startsWith(".") && isDirectory(path.join(directory, name)))
    .map((name) => [name, statesIn(path.join(directory, name))] as const)
    .filter(([, states]) => Object.keys(states).length > 0)
    .sort(([a], [b]) => compare(a, b));
}

async function replayed(location: string | undefined, state: LabStateName): Promise<Replayed | Unread> {
  if (location === undefined) return { error: null, reason: `the ${state} state has no recording` };
  try {
    const input = await stateInput(location);
    return input.kind === "recording"
      ? { location, analysis: analyze(input.recording), recording: input.recording }
      : { location, analysis: input.document, recording: null };
  } catch (error) {
    // One file that is damaged must not hide the others.
    if (!(error instanceof GateError)) throw error;
    return { error, reason: `the ${state} state cannot be read: ${error.message}` };
  }
}

const isRead = (one: Replayed | Unread): one is Replayed => "analysis" in one;

/** Stormlog's telemetry reports the error as an event, a recording of the gate as a finding. */
function ranOut({ analysis, recording }: Replayed, peak: number | null): LabOutOfMemory | null {
  const found = outOfMemoryOf(analysis.findings, peak);
  if (found !== null) return found;
  return recording?.marks.some(({ kind }) => kind === "oom") ? { device: null, at_bytes: peak } : null;
}

/** The run directory with the output: a bundle's newest run, or the directory itself. */
function printedIn(location: string, recording: Recording | null): string {
  const { scenario, run } = recording?.info ?? {};
  const inBundle =
    scenario === undefined ? location : path.join(location, "runs", scenarioDirectory(scenario), String(run));
  return existsSync(inBundle) ? inBundle : location;
}

function stateOf(one: Replayed, series: SeriesAnalysis | null, from: string): LabState {
  const facts = labFacts(printedIn(one.location, one.recording));
  return {
    verdict: "not-judged",
    confirmed: false,
    bundle: path.relative(from, one.location).split(path.sep).join("/"),
    runs: 1,
    ...measuresOf(series, one.analysis.series),
    accuracy: facts?.accuracy ?? null,
    error: null,
    out_of_memory: ranOut(one, series?.peak_bytes ?? null),
  };
}

function patternOf(name: string, leaky: Replayed | Unread, fixed: Replayed | Unread, from: string): LabPattern {
  const entry = CATALOGUE.find((one) => one.name === name);
  const [ofLeaky, ofFixed] = [leaky, fixed].map((one) => (isRead(one) ? one.analysis.series : []));
  const about = mainSeries(ofLeaky ?? []);
  const beside = counterpart(ofFixed ?? [], about);
  const states = {
    leaky: isRead(leaky) ? stateOf(leaky, about, from) : null,
    fixed: isRead(fixed) ? stateOf(fixed, beside, from) : null,
  };
  const unread = [leaky, fixed].flatMap((one) => (isRead(one) ? [] : [one.reason]));
  const series = about ?? beside;
  const facts = isRead(leaky) ? labFacts(printedIn(leaky.location, leaky.recording)) : null;
  const framework = isRead(leaky) ? leaky.recording?.info?.fingerprint.framework : null;
  return {
    name,
    title: entry?.title ?? name,
    framework: entry?.framework ?? (typeof framework === "string" ? framework : "unknown"),
    outcome: unread.length === 0 ? "replayed" : "broken",
    reason: unread.length === 0 ? null : unread.join("; "),
    series: series === null ? null : { device: series.device, metric: series.metric, rank: series.rank },
    leak_bytes_per_step: facts?.leak_bytes_per_step ?? null,
    steps: facts?.steps ?? about?.steps ?? null,
    ...states,
    ratio: peakRatio(states.leaky, states.fixed),
    line: null,
    line_in_leak: null,
  };
}

/** The backend of a recording: from its fingerprint, its collector, or the device of its series. */
function backendOf(one: Replayed): string | null {
  const named = one.recording?.info?.fingerprint.backend;
  if (typeof named === "string" && named !== "") return named;
  const collector = /rocm|mps|xpu|cuda|cpu/.exec(one.recording?.events?.[0]?.collector ?? "")?.[0];
  if (collector !== undefined) return collector;
  const series = mainSeries(one.analysis.series);
  if (series === null) return null;
  return series.device === "host" ? "cpu" : kindOf(series.device);
}

/** The distinct values of several recordings, joined by "and"; null without one. */
const all = (values: readonly (string | null)[]): string | null =>
  [...new Set(values.filter((value) => value !== null))].sort(compare).join(" and ") || null;

/** Start of the first recording; null when none has a wall clock. */
function begun(reads: readonly Replayed[]): string | null {
  const epochs = reads.flatMap(({ recording }) =>
    recording?.epochNs == null ? [] : [Number(recording.epochNs / 1_000_000n)],
  );
  return epochs.length === 0 ? null : new Date(Math.min(...epochs)).toISOString();
}

/** Recordings in `<pattern>/leaky` and `/fixed` as a document, not judged; null without. @throws GateError INPUT_… */
export async function readReplay(directory: string): Promise<LabDocument | null> {
  const locations = patternsIn(directory);
  if (locations.length === 0) return null;
  const patterns: LabPattern[] = [];
  const about: LabEnvironment[] = [];
  const starts: string[] = [];
  let firstError: GateError | null = null;
  for (const [name, states] of locations) {
    const leaky = await replayed(states.leaky, "leaky");
    const fixed = await replayed(states.fixed, "fixed");
    patterns.push(patternOf(name, leaky, fixed, directory));
    const reads = [leaky, fixed].filter(isRead);
    for (const one of reads) {
      about.push({ ...labEnvironment(one.recording?.info?.fingerprint ?? {}), backend: backendOf(one) });
    }
    const start = begun(reads);
    if (start !== null) starts.push(start);
    for (const one of [leaky, fixed]) if (!isRead(one)) firstError ??= one.error;
  }
  if (about.length === 0 && firstError !== null) throw firstError;
  return {
    schema: "stormlog.lab/1",
    source: "replay",
    generated_at_utc: starts.sort()[0] ?? null,
    scale: null,
    backend: all(about.map(({ backend }) => backend)),
    device_model: all(about.map(({ device_model: model }) => model)),
    framework_version: all(about.map(({ framework_version: framework }) => framework)),
    patterns,
  };
}
