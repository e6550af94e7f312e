import path from "node:path";
import { NextStep } from "../baseline/answer.ts";
import { openFileStore } from "../baseline/file-store.ts";
import type { LoadContext } from "../baseline/from-store.ts";
import { loadFirstBaseline } from "../baseline/load.ts";
import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import { gateRequest, scenarioDefinition } from "../config/options.ts";
import { GateError } from "../core/errors.ts";
import { shellWord } from "../core/escape.ts";
import { makeDirectories, writeAtomically } from "../core/files.ts";
import type { Environment } from "../core/process/environment.ts";
import type { GatePorts } from "../gate/ports/ports.ts";
import { lastPrinted, refreshScenario } from "../gate/refresh.ts";
import { runGate } from "../gate/run-gate.ts";
import { randomId } from "../measure/session/session.ts";
import type { GateReport } from "../report/model/gate-report.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import { compareFingerprints, describeMismatches, mismatches } from "../verdict/fingerprint.ts";
import { DEFAULT_POLICY } from "../verdict/model/defaults.ts";
import { labAvailability } from "./availability.ts";
import { type CatalogueEntry, labDirectory } from "./catalogue.ts";
import { type JudgedState, measuredPattern, unmeasuredPattern } from "./pattern.ts";
import { type LabDocument, type LabPattern, labEnvironment } from "./report/document.ts";
import { unwritable } from "./unwritable.ts";

export type LabStateName = "leaky" | "fixed";

/** The document's file in the directory of the results. */
export const LAB_FILE = "lab.json";

export interface LabOptions {
  readonly patterns: readonly CatalogueEntry[];
  /** Absolute directory of the results. */
  readonly directory: string;
  /** Absolute directory that a baseline's path is relative to. */
  readonly root: string;
  readonly device: string;
  readonly scale: string;
  /** Steps instead of the scale's; null = the scale's. */
  readonly steps: number | null;
  readonly python: string;
  /** Fixed runs of a measured baseline. */
  readonly runs: number;
  /** The store to judge by, where it has a record of this environment; null = measure a baseline first. */
  readonly baseline: string | null;
  readonly argv: readonly string[];
  readonly env: Environment;
}

/** Callbacks for the progress of a round. */
export interface LabNarrator {
  readonly begins: (entry: CatalogueEntry, number: number, of: number) => void;
  /** `lacks`: why the given store cannot judge this pattern; null where none was given. */
  readonly baseline: (entry: CatalogueEntry, runs: number, lacks: string | null) => void;
  readonly judging: (entry: CatalogueEntry, state: LabStateName) => void;
  readonly ended: (pattern: LabPattern) => void;
}

/** The command of a state of a pattern. */
export function patternCommand(
  entry: CatalogueEntry,
  state: LabStateName,
  lab: string,
  options: Pick<LabOptions, "device" | "scale" | "steps" | "python">,
): readonly string[] {
  const steps = options.steps === null ? [] : ["--steps", String(options.steps)];
  const program = entry.framework === "node" ? process.execPath : options.python;
  return [program, path.join(lab, entry.file), state, "--device", options.device, "--scale", options.scale, ...steps];
}

/**
 * The definition of a pattern's record: the fixed state at a scale, as `leak-lab/stormlog-gate.yml` runs it in the
 * lab's directory. The gate on that file, its nightly refresh and a round of the lab thus share their records. The
 * device is part of the fingerprint.
 */
export function patternDefinition(
  entry: CatalogueEntry,
  { scale, steps }: Pick<LabOptions, "scale" | "steps">,
): string {
  const program = entry.framework === "node" ? "node" : "python3";
  const size = [...(scale === "tiny" ? [] : ["--scale", scale]), ...(steps === null ? [] : ["--steps", String(steps)])];
  return scenarioDefinition({ run: [program, entry.file, "fixed", ...size].join(" ") });
}

/** The round's own store, for the baselines that it measures. */
function ownSpec({ root, directory }: LabOptions): string {
  return `file:${path.relative(root, path.join(directory, "baseline"))}`;
}

/**
 * The gate's request for one state. Both states are one scenario with one definition, so that only the leak differs. A
 * store of other sessions cannot distinguish a leak from a changed machine: there the fixed state runs again before the
 * leaky one fails, as the base commit of a change would. The fixed state has no such base run, because it would be
 * compared with itself.
 */
function stateRequest(
  entry: CatalogueEntry,
  state: LabStateName,
  lab: string,
  options: LabOptions,
  store: string,
): { readonly request: GateRequest; readonly scenario: ScenarioRequest } {
  const fixed = patternCommand(entry, "fixed", lab, options);
  const rerun = state === "leaky" && store !== ownSpec(options);
  const request = gateRequest({
    options: {
      scenario: entry.name,
      bundle: path.join(options.directory, entry.name, state),
      "base-run": rerun ? fixed.map(shellWord).join(" ") : "off",
      // Six runs, six of the base where they are inconclusive, and the one that names the line.
      "max-runs": "13",
      attribute: state === "leaky" ? "auto" : "off",
    },
    command: { kind: "argv", argv: patternCommand(entry, state, lab, options) },
    config: null,
    root: options.root,
    defaultBaselines: [store],
    defaultUnjudged: "fail",
    argv: options.argv,
    env: options.env,
  });
  const [asked] = request.scenarios;
  if (asked === undefined) throw new Error("a request for one command has no scenario");
  const scenario = { ...asked, cwd: lab, definition: patternDefinition(entry, options) };
  return { request: { ...request, scenarios: [scenario] }, scenario };
}

/** Fixed runs of a pattern into the round's own store. */
async function measureBaseline(entry: CatalogueEntry, lab: string, options: LabOptions, ports: GatePorts) {
  const { request, scenario } = stateRequest(entry, "fixed", lab, options, ownSpec(options));
  const store = openFileStore("file:baseline", path.join(options.directory, "baseline"));
  await refreshScenario({ ...request, baselines: [] }, scenario, { runs: options.runs, store }, ports);
}

/** One state, judged; null when it was interrupted. */
async function judgeState(request: GateRequest, ports: GatePorts): Promise<JudgedState | null> {
  const { report, bundleDir, bundleError } = await runGate(request, ports);
  if (bundleError !== null) throw bundleError;
  return ports.interrupt.aborted ? null : { report, bundle: bundleDir };
}

/** The row of a pattern, with the fingerprint of its runs where they have one. */
interface LabRow {
  readonly pattern: LabPattern;
  readonly fingerprint: Fingerprint | null;
}

/** Measure the baseline, and judge the fixed and the leaky state of one pattern; null when interrupted. */
async function runPattern(
  entry: CatalogueEntry,
  lab: string,
  options: LabOptions,
  narrator: LabNarrator,
  ports: GatePorts,
): Promise<LabRow | null> {
  const judged = (state: LabStateName, store: string): Promise<JudgedState | null> => {
    narrator.judging(entry, state);
    return judgeState(stateRequest(entry, state, lab, options, store).request, ports);
  };
  const measured = async (lacks: string | null): Promise<string> => {
    narrator.baseline(entry, options.runs, lacks);
    await measureBaseline(entry, lab, options, ports);
    return ownSpec(options);
  };
  let store = options.baseline ?? (await measured(null));
  // The first run determines the environment, and so whether the given store has a record of it.
  let fixed = await judged("fixed", store);
  if (fixed === null) return null;
  const lacks =
    options.baseline === null || fixed.report.verdict !== "unjudged"
      ? null
      : await lackingRecord(options.baseline, fixed.report, { root: options.root, env: options.env, now: ports.now });
  if (lacks !== null) {
    store = await measured(lacks);
    fixed = await judged("fixed", store);
    if (fixed === null) return null;
  }
  const leaky = await judged("leaky", store);
  if (leaky === null) return null;
  const pattern = measuredPattern(entry, { leaky, fixed }, options.directory, path.join(lab, entry.file));
  return { pattern, fingerprint: known(fixed.report.scenarios[0]?.fingerprint) };
}

/** The fingerprint of a run that never began is empty. */
function known(fingerprint: Fingerprint | undefined): Fingerprint | null {
  return fingerprint === undefined || labEnvironment(fingerprint).backend === null ? null : fingerprint;
}

/** Environment after one more row. A PyTorch pattern that reported its device takes precedence. */
export function environmentAfter(before: Fingerprint, { pattern, fingerprint }: LabRow): Fingerprint {
  if (fingerprint === null) return before;
  const precedes = pattern.framework === "torch" && pattern.outcome !== "broken";
  return before.backend === undefined || precedes ? fingerprint : before;
}

/**
 * The row for a failure while a pattern ran, so that the other patterns keep their results. Null when the round was
 * interrupted, because the failure is then not the pattern's.
 * @throws unknown a failure that is not of this pattern alone
 */
function failedRow(entry: CatalogueEntry, error: unknown, interrupted: boolean): LabRow | null {
  if (!(error instanceof GateError) || error.kind === "usage" || error.kind === "invalid-input") throw error;
  if (interrupted || error.kind === "interrupted") return null;
  const last = lastPrinted(error);
  const reason = last === null ? error.message : `${error.message}: ${last}`;
  return { pattern: unmeasuredPattern(entry, "broken", reason), fingerprint: null };
}

/**
 * A round of the leak lab: each pattern's fixed state becomes the baseline, unless one is given, then the engine of
 * `run` judges the fixed and the leaky state. A pattern that cannot run has a row with the reason, and the others
 * continue.
 * @returns the round's document, which is also `lab.json` in the directory; shorter when interrupted
 * @throws GateError LAB_UNWRITABLE, and those of usage
 */
export async function runLab(options: LabOptions, narrator: LabNarrator, ports: GatePorts): Promise<LabDocument> {
  const { directory } = options;
  try {
    makeDirectories(directory);
  } catch (error) {
    unwritable(directory, error);
  }
  const lab = labDirectory(directory);
  const available = await labAvailability(options.python);
  // One session: a measured baseline is minutes older than the candidates, and of the same machine.
  const session = options.env.STORMLOG_GATE_SESSION || randomId();
  const own = { ...options, env: { ...options.env, STORMLOG_GATE_SESSION: session, PYTHONDONTWRITEBYTECODE: "1" } };
  const patterns: LabPattern[] = [];
  let fingerprint: Fingerprint = {};
  const document = (): LabDocument => ({
    schema: "stormlog.lab/1",
    generated_at_utc: ports.now().toISOString(),
    scale: options.scale,
    ...labEnvironment(fingerprint),
    patterns,
  });
  // Before any bundle is replaced: the document of an earlier round would not match the new bundles.
  await writeDocument(directory, document());
  for (const [index, entry] of options.patterns.entries()) {
    if (ports.interrupt.aborted) break;
    narrator.begins(entry, index + 1, options.patterns.length);
    const reason = available.reason(entry);
    if (reason !== null) patterns.push(unmeasuredPattern(entry, "skipped", reason));
    else {
      const ran = await runPattern(entry, lab, own, narrator, ports).catch((error: unknown) =>
        failedRow(entry, error, ports.interrupt.aborted),
      );
      if (ran === null) break;
      fingerprint = environmentAfter(fingerprint, ran);
      patterns.push(ran.pattern);
    }
    const last = patterns.at(-1);
    if (last !== undefined) narrator.ended(last);
    await writeDocument(directory, document());
  }
  return document();
}

/** Atomically: an interrupted round leaves its rows so far. */
async function writeDocument(directory: string, document: LabDocument): Promise<void> {
  const file = path.join(directory, LAB_FILE);
  try {
    await writeAtomically(file, `${JSON.stringify(document, null, 2)}\n`);
  } catch (error) {
    unwritable(directory, error);
  }
}

/** Patterns with an unexpected outcome; skipped ones when named or nothing was judged. @param named empty = all */
export function surprises(
  document: LabDocument,
  catalogue: readonly CatalogueEntry[],
  named: readonly string[],
): readonly LabPattern[] {
  const judged = document.patterns.some(({ outcome }) => outcome !== "skipped" && outcome !== "broken");
  return document.patterns.filter(({ name, outcome }) => {
    if (outcome === "skipped") return !judged || named.includes(name);
    const expected = catalogue.find((entry) => entry.name === name)?.expected ?? "caught";
    return outcome !== expected && !(expected === "not-visible" && outcome === "warned");
  });
}

/**
 * Why a given store cannot judge a pattern in the environment of its first run: it has no record of the pattern, a
 * record of another environment only, or too few runs. Null for any other cause: a store that is absent or damaged is
 * an error, which a round must not hide by measuring its own baseline.
 * @param report of the pattern's fixed state, judged by that store
 * @throws GateError as `loadFirstBaseline`
 */
async function lackingRecord(spec: string, report: GateReport, context: LoadContext): Promise<string | null> {
  const [scenario] = report.scenarios;
  if (scenario === undefined) return null;
  const answer = await loadFirstBaseline([spec], scenario.scenario, scenario.fingerprint, context);
  if (answer.kind === "absent") {
    return !answer.missing && answer.nextStep === NextStep.record ? answer.reason : null;
  }
  const differing = mismatches(compareFingerprints(answer.measurements.fingerprint, scenario.fingerprint));
  if (differing.length > 0) return `${spec} has records of another environment only (${describeMismatches(differing)})`;
  const { runs } = answer.summary;
  const needed = DEFAULT_POLICY.minBaselineRuns;
  return runs < needed ? `${spec} has ${runs} runs of it and needs ${needed}` : null;
}
