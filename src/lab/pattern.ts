import path from "node:path";
import { OOM } from "../analysis/findings/oom-findings.ts";
import type { Finding, SeriesAnalysis } from "../analysis/series/document.ts";
import { lastLine, outputTail } from "../measure/session/output-tail.ts";
import type { GateReport, RunReport, ScenarioReport } from "../report/model/gate-report.ts";
import { LEAK_LINE } from "../report/wording/source-line.ts";
import type { CatalogueEntry } from "./catalogue.ts";
import { inLeak, labFacts } from "./output.ts";
import type { LabOutcome, LabOutOfMemory, LabPattern, LabState } from "./report/document.ts";

/** A state of a pattern after the gate judged it. */
export interface JudgedState {
  readonly report: GateReport;
  /** Absolute directory of the bundle. */
  readonly bundle: string;
}

function newest(scenario: ScenarioReport | undefined): RunReport | null {
  const candidates = scenario?.runs.filter(({ role }) => role === "candidate") ?? [];
  return candidates.findLast(({ analysis }) => analysis !== null) ?? candidates.at(-1) ?? null;
}

/** "cuda" of "cuda:1". */
const kindOf = (device: string): string => device.replace(/:.*$/, "");

/** Order of preference: counters of a device's allocator, the heap, pages. */
function weight({ device, metric }: SeriesAnalysis): number {
  if (metric === "allocated") return device === "host" ? 1 : 0;
  return metric === "host" ? 2 : 3;
}

/** The series of a row: of several ranks the one that grows most. */
function mainSeries(series: readonly SeriesAnalysis[]): SeriesAnalysis | null {
  const usable = series.filter(({ peak_bytes: peak }) => peak !== null);
  const [first] = [...usable].sort(
    (a, b) => weight(a) - weight(b) || (b.growth_bytes ?? -Infinity) - (a.growth_bytes ?? -Infinity),
  );
  return first ?? null;
}

/** The fixed state's series comparable to the leaky one's: same metric and kind of device. Null where there is none. */
function counterpart(all: readonly SeriesAnalysis[], about: SeriesAnalysis | null): SeriesAnalysis | null {
  if (about === null) return mainSeries(all);
  const alike = all.filter(({ metric, device }) => metric === about.metric && kindOf(device) === kindOf(about.device));
  const same = alike.find(
    ({ device, rank, peak_bytes: peak }) => device === about.device && rank === about.rank && peak !== null,
  );
  return same ?? mainSeries(alike);
}

/** The features of a state's series. */
function measuresOf(main: SeriesAnalysis | null, all: readonly SeriesAnalysis[]) {
  const reserved = all.find(
    ({ metric, device, rank }) => metric === "reserved" && device === main?.device && rank === main.rank,
  );
  return {
    peak_bytes: main?.peak_bytes ?? null,
    growth_bytes: main?.growth_bytes ?? null,
    slope_bytes_per_step: main?.slope_bytes_per_step ?? null,
    slope_bytes_per_s: main?.slope_bytes_per_s ?? null,
    class: main?.class ?? null,
    mde_bytes: main?.mde_bytes ?? null,
    reserved_peak_bytes: main?.metric === "allocated" ? (reserved?.peak_bytes ?? null) : null,
  };
}

/** Out of memory of a state with the largest known size, or null. @param peak highest value of its series, bytes */
function outOfMemoryOf(findings: readonly Finding[], peak: number | null): LabOutOfMemory | null {
  const found = findings.find(({ classification }) => classification === OOM);
  if (found === undefined) return null;
  const held = found.evidence.allocated_bytes;
  const known = [peak, typeof held === "number" ? held : null].filter((size) => size !== null);
  return { device: found.device, at_bytes: known.length === 0 ? null : Math.max(...known) };
}

function seriesOfRun(run: RunReport | null): readonly SeriesAnalysis[] {
  return run?.analysis?.series ?? [];
}

/** Why a state could not be judged. For a failed program with its last line of output, which mostly has the cause. */
function errorOf({ report, bundle }: JudgedState): string | null {
  const [scenario] = report.scenarios;
  if (scenario === undefined || scenario.error === null)
    return report.verdict === "unjudged" ? (scenario?.judgement?.reason ?? null) : null;
  const { code, message } = scenario.error;
  const failed = scenario.runs.findLast(({ role }) => role === "candidate");
  const output =
    code !== "COMMAND_FAILED" || failed === undefined ? null : outputTail(path.join(bundle, failed.directory));
  return output === null ? message : `${message}: ${lastLine(output)}`;
}

function stateOf(judged: JudgedState, run: RunReport | null, series: SeriesAnalysis | null, from: string): LabState {
  const { report, bundle } = judged;
  const [scenario] = report.scenarios;
  const directory = run === null ? null : path.join(bundle, run.directory);
  const growth = scenario?.judgement?.checks.find(
    ({ aspect, metric, device, rank }) =>
      aspect === "growth" && metric === series?.metric && device === series.device && rank === series.rank,
  );
  return {
    verdict: report.verdict,
    confirmed: report.confirmed,
    bundle: path.relative(from, bundle).split(path.sep).join("/"),
    runs: report.cost.runs,
    ...measuresOf(series, seriesOfRun(run)),
    mde_bytes: growth?.mde_bytes ?? series?.mde_bytes ?? null,
    out_of_memory: outOfMemoryOf(scenario?.findings ?? [], series?.peak_bytes ?? null),
    accuracy: directory === null ? null : (labFacts(directory)?.accuracy ?? null),
    error: errorOf(judged),
  };
}

/** Caught: the leaky state fails, also by out-of-memory, and the fixed one does not. Ungated warnings are allowed. */
function outcomeOf(leaky: LabState, fixed: LabState): LabOutcome {
  if (fixed.verdict === "fail") return "false-alarm";
  if (fixed.verdict !== "pass" && fixed.verdict !== "warn") return "broken";
  const broken = "broken" as const;
  const outcomes = { fail: "caught", warn: "warned", pass: "not-visible" } as const;
  return { ...outcomes, unjudged: broken, error: broken }[leaky.verdict];
}

/** The first line of the attribution; null when it named none. */
function firstLine({ report }: JudgedState): string | null {
  const finding = report.scenarios[0]?.findings.find(({ classification }) => classification === LEAK_LINE);
  const line = finding?.evidence.line;
  return typeof line === "string" ? line : null;
}

/** Leaky peak over fixed peak; null where either is unknown. */
function peakRatio(leaky: LabState | null, fixed: LabState | null): number | null {
  const peak = leaky?.out_of_memory?.at_bytes ?? leaky?.peak_bytes ?? null;
  return peak === null || !fixed?.peak_bytes || fixed.out_of_memory ? null : peak / fixed.peak_bytes;
}

function named(entry: CatalogueEntry): Pick<LabPattern, "name" | "title" | "framework"> {
  return { name: entry.name, title: entry.title, framework: entry.framework };
}

/** The row of a pattern whose states were not judged. */
export function unmeasuredPattern(entry: CatalogueEntry, outcome: "skipped" | "broken", reason: string): LabPattern {
  return {
    ...named(entry),
    outcome,
    reason,
    series: null,
    leak_bytes_per_step: null,
    steps: null,
    leaky: null,
    fixed: null,
    ratio: null,
    line: null,
    line_in_leak: null,
  };
}

/** The row of a pattern whose two states were judged. @param from directory that the bundles are named from */
export function measuredPattern(
  entry: CatalogueEntry,
  states: { readonly leaky: JudgedState; readonly fixed: JudgedState },
  from: string,
  file: string,
): LabPattern {
  const run = newest(states.leaky.report.scenarios[0]);
  const fixedRun = newest(states.fixed.report.scenarios[0]);
  const series = mainSeries(seriesOfRun(run));
  const leaky = stateOf(states.leaky, run, series, from);
  const fixed = stateOf(states.fixed, fixedRun, counterpart(seriesOfRun(fixedRun), series), from);
  const facts = run === null ? null : labFacts(path.join(states.leaky.bundle, run.directory));
  const line = firstLine(states.leaky);
  return {
    ...named(entry),
    outcome: outcomeOf(leaky, fixed),
    reason: fixed.error ?? leaky.error,
    series: series === null ? null : { device: series.device, metric: series.metric, rank: series.rank },
    leak_bytes_per_step: facts?.leak_bytes_per_step ?? null,
    steps: facts?.steps ?? null,
    leaky,
    fixed,
    ratio: peakRatio(leaky, fixed),
    line,
    line_in_leak: line === null ? null : inLeak(line, file),
  };
}
