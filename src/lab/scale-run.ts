import { execFile } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
import type { MeasuredSeries } from "../analysis/measurements.ts";
import type { Band } from "../baseline/band.ts";
import { openFileStore } from "../baseline/file-store.ts";
import { toMeasurements } from "../baseline/record.ts";
import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import { gateRequest, scenarioDefinition } from "../config/options.ts";
import { GateError } from "../core/errors.ts";
import { groupBy } from "../core/group-by.ts";
import type { Environment } from "../core/process/environment.ts";
import type { GatePorts } from "../gate/ports/ports.ts";
import { refreshScenario } from "../gate/refresh.ts";
import { lastLine } from "../gate/run/output-tail.ts";
import { runGate } from "../gate/run-gate.ts";
import { newestAnalysis } from "../report/model/decisive-run.ts";
import type { Verdict } from "../report/model/gate-report.ts";
import { median } from "../stats/order-statistics.ts";
import { type Fingerprint, ofKnownMetric } from "../telemetry/recording/model.ts";
import type { CatalogueEntry } from "./catalogue.ts";
import { factsIn } from "./output.ts";
import { type LabStateName, patternCommand } from "./round.ts";
import { type DetectableLeak, detectable, type LeadingCheck, leadingCheck, type QuietSeries } from "./scale-guess.ts";
import { type RunSize, runSize, type ScaleSetting } from "./scale-size.ts";

/** A pattern that is run at several sizes. */
export interface SizedPattern {
  readonly entry: CatalogueEntry;
  readonly setting: ScaleSetting;
  /** Absolute directories of the lab's files and of the results. */
  readonly lab: string;
  readonly directory: string;
  readonly device: string;
  readonly python: string;
  /** Fixed runs of a baseline. */
  readonly runs: number;
  readonly argv: readonly string[];
  readonly env: Environment;
}

function commandOf(pattern: SizedPattern, state: LabStateName, { steps, batch }: RunSize): readonly string[] {
  const { entry, lab, device, python, setting } = pattern;
  const command = patternCommand(entry, state, lab, { device, scale: setting.scale, steps, python });
  return batch === null ? command : [...command, "--batch", String(batch)];
}

/** Directory of a size's bundles, relative to the results. */
export function probeDirectory(value: number): string {
  return `probes/${value}`;
}

/** Directory of the baseline of a size, relative to the results. */
function baselineDirectory(value: number): string {
  return `baselines/${value}`;
}

/** Request for a state at one size, by any size's baseline; the definition omits what the search varies. */
function sizedRequest(
  pattern: SizedPattern,
  state: LabStateName,
  value: number,
  baseline: number,
): { readonly request: GateRequest; readonly scenario: ScenarioRequest } {
  const { entry, setting, lab, directory, argv, env } = pattern;
  const request = gateRequest({
    options: {
      scenario: entry.name,
      bundle: path.join(directory, probeDirectory(value), state),
      // The baseline is of this session, so its runs are base runs.
      "base-run": "off",
      attribute: "off",
    },
    command: { kind: "argv", argv: commandOf(pattern, state, runSize(setting, value)) },
    config: null,
    root: directory,
    defaultBaselines: [`file:${baselineDirectory(baseline)}`],
    defaultUnjudged: "fail",
    argv,
    env,
  });
  const [asked] = request.scenarios;
  if (asked === undefined) throw new Error("a request for one command has no scenario");
  const held = setting.batch === null ? "" : ` --batch ${setting.batch}`;
  const definition = scenarioDefinition({
    run: `${entry.file} fixed --scale ${setting.scale}${held} at any number of ${setting.by}`,
  });
  const scenario = { ...asked, cwd: lab, definition, anySteps: true as const };
  return { request: { ...request, scenarios: [scenario] }, scenario };
}

/** Bytes a step keeps by the pattern's statement, from two ungated steps. @throws GateError LAB_STATEMENT_MISSING */
export async function statedBytes(pattern: SizedPattern, batch: number | null, signal: AbortSignal): Promise<number> {
  const [program = "", ...args] = commandOf(pattern, "fixed", { steps: 2, batch });
  let output: string;
  try {
    const env = { ...process.env, ...pattern.env };
    // Limit of a run of two steps, ms: includes the import of a framework on a slow disk.
    ({ stdout: output } = await promisify(execFile)(program, args, { env, timeout: 300_000, signal }));
  } catch (error) {
    const { stderr, message } = error as Error & { readonly stderr?: string };
    throw new GateError(
      "LAB_STATEMENT_MISSING",
      `${pattern.entry.name} cannot be run: ${lastLine(stderr?.trimEnd() ?? "") || message}`,
    );
  }
  const facts = factsIn(output);
  if (facts === null)
    throw new GateError("LAB_STATEMENT_MISSING", `${pattern.entry.name} does not report what it keeps`, {
      hint: "Its last line of output has to begin with `leak-lab: `.",
    });
  return facts.leak_bytes_per_step;
}

/** Median peak over the highest value of any run's later half, bytes; 0 where no curve was kept. */
function headroomOf(peaks: readonly number[], envelope: Band | undefined): number {
  if (envelope === undefined || peaks.length === 0) return 0;
  const later = envelope.high_bytes.slice(Math.floor(envelope.high_bytes.length / 2));
  return later.length === 0 ? 0 : Math.max(0, median(peaks) - Math.max(...later));
}

/** The gating series: allocator counters, and pages only where there are none. */
function quietSeries(runs: readonly (readonly MeasuredSeries[])[], envelopes: readonly Band[]): readonly QuietSeries[] {
  const groups = groupBy(runs.flat(), ({ rank, device, metric }) => `${rank} ${device} ${metric}`);
  const known = [...groups].map(([key, group]): QuietSeries => {
    const metric = group[0]?.metric ?? "host";
    const peaks = group.flatMap(({ peak_bytes: peak }) => (peak === null ? [] : [peak]));
    const envelope = envelopes.find((one) => `${one.rank} ${one.device} ${one.metric}` === key);
    return {
      metric,
      peaks,
      growths: group.flatMap(({ growth_bytes: growth }) => growth ?? []),
      headroom: headroomOf(peaks, envelope),
    };
  });
  const allocated = known.filter(({ metric }) => metric === "allocated");
  return allocated.length > 0 ? allocated : known.filter(({ metric }) => metric === "host");
}

/**
 * Measure the fixed state at a size as the baseline of that size.
 * @returns the smallest leak that its least noisy series can show; null when none was measured
 * @throws GateError of a failed run, INTERRUPTED
 */
export async function measureBaseline(
  pattern: SizedPattern,
  value: number,
  ports: GatePorts,
): Promise<DetectableLeak | null> {
  const { request, scenario } = sizedRequest(pattern, "fixed", value, value);
  const store = openFileStore("file:baseline", path.join(pattern.directory, baselineDirectory(value)));
  const { record } = await refreshScenario(
    { ...request, baselines: [] },
    scenario,
    { runs: pattern.runs, store },
    ports,
  );
  const { runs } = toMeasurements(record, record.epochs.at(-1)?.runs ?? []);
  return quietSeries(
    runs.map(({ series }) => series),
    ofKnownMetric(record.envelopes),
  )
    .map((series) => detectable(series))
    .reduce<DetectableLeak | null>((least, one) => (least === null || one.bytes < least.bytes ? one : least), null);
}

/** One state at one size after the gate judged it. */
export interface JudgedSize {
  readonly verdict: Verdict;
  /** Why it could not be judged; null when it was. */
  readonly reason: string | null;
  readonly check: LeadingCheck | null;
  /** The series of the check, in the newest analysed run; null when unknown. */
  readonly series: MeasuredSeries | null;
  readonly runs: number;
  readonly fingerprint: Fingerprint;
}

/** Judge a state at a size by the baseline of a size. @throws GateError of the bundle */
export async function judgeSize(
  pattern: SizedPattern,
  state: LabStateName,
  value: number,
  baseline: number,
  ports: GatePorts,
): Promise<JudgedSize> {
  const { report, bundleError } = await runGate(sizedRequest(pattern, state, value, baseline).request, ports);
  if (bundleError !== null) throw bundleError;
  const [scenario] = report.scenarios;
  const check = leadingCheck(scenario?.judgement?.checks ?? []);
  const series = newestAnalysis(scenario?.runs ?? [])?.series.find(
    ({ metric, device, rank }) => metric === check?.metric && device === check?.device && rank === check?.rank,
  );
  return {
    verdict: report.verdict,
    reason: scenario?.error?.message ?? (report.verdict === "unjudged" ? (scenario?.judgement?.reason ?? null) : null),
    check,
    series: series ?? null,
    runs: report.cost.runs,
    fingerprint: scenario?.fingerprint ?? {},
  };
}
