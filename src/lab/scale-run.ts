import path from "node:path";
import type { MeasuredSeries } from "../analysis/measurements.ts";
import { openFileStore } from "../baseline/file-store.ts";
import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import { gateRequest, scenarioDefinition } from "../config/options.ts";
import type { Environment } from "../core/process/environment.ts";
import type { GatePorts } from "../gate/ports/ports.ts";
import { refreshScenario } from "../gate/refresh.ts";
import { runGate } from "../gate/run-gate.ts";
import { newestAnalysis } from "../report/model/decisive-run.ts";
import type { Verdict } from "../report/model/gate-report.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import type { CatalogueEntry } from "./catalogue.ts";
import { type LabStateName, patternCommand } from "./round.ts";
import { type LeadingCheck, leadingCheck } from "./scale-excess.ts";
import type { ScaleSetting } from "./scale-size.ts";

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

function commandOf(pattern: SizedPattern, state: LabStateName, steps: number): readonly string[] {
  const { entry, lab, device, python, setting } = pattern;
  const { scale, batch } = setting;
  const command = patternCommand(entry, state, lab, { device, scale, steps, python });
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
    command: { kind: "argv", argv: commandOf(pattern, state, value) },
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
    run: `${entry.file} fixed --scale ${setting.scale}${held} at any number of steps`,
  });
  const scenario = { ...asked, cwd: lab, definition, anySteps: true as const };
  return { request: { ...request, scenarios: [scenario] }, scenario };
}

/** Measure the fixed state at a size as the baseline of that size. @throws GateError of a failed run, INTERRUPTED */
export async function measureBaseline(pattern: SizedPattern, value: number, ports: GatePorts): Promise<void> {
  const { request, scenario } = sizedRequest(pattern, "fixed", value, value);
  const store = openFileStore("file:baseline", path.join(pattern.directory, baselineDirectory(value)));
  await refreshScenario({ ...request, baselines: [] }, scenario, { runs: pattern.runs, store }, ports);
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
