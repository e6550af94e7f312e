import { mkdir, rename, writeFile } from "node:fs/promises";
import path from "node:path";
import { openFileStore } from "../baseline/file-store.ts";
import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import { gateRequest, scenarioDefinition } from "../config/options.ts";
import { assertNever, GateError } from "../core/errors.ts";
import { shellWord } from "../core/shell-word.ts";
import type { GatePorts } from "../gate/ports.ts";
import { lastPrinted, refreshScenario } from "../gate/refresh.ts";
import { runGate } from "../gate/run-gate.ts";
import { randomId } from "../measure/session/session.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import { labAvailability } from "./availability.ts";
import { lackingRecord } from "./baseline.ts";
import { type CatalogueEntry, labDirectory } from "./catalogue.ts";
import { labEnvironment } from "./environment.ts";
import { type JudgedState, measuredPattern, unmeasuredPattern } from "./pattern.ts";
import type { LabDocument, LabPattern } from "./report/document.ts";
import { unwritable } from "./unwritable.ts";

export const LAB_STATES = ["leaky", "fixed"] as const;
export type LabStateName = (typeof LAB_STATES)[number];

/** The document's file in the directory of the results. */
export const LAB_FILE = "lab.json";

export interface LabOptions {
  readonly patterns: readonly CatalogueEntry[];
  /** Absolute directory of the results. */
  readonly directory: string;
  /** Absolute directory that a named baseline starts from. */
  readonly root: string;
  readonly device: string;
  readonly scale: string;
  /** Steps instead of the scale's; null = the scale's. */
  readonly steps: number | null;
  readonly python: string;
  /** Fixed runs that become the baseline, where none is given. */
  readonly runs: number;
  /** A store to judge by, where it has a record of this environment; null = measure one first. */
  readonly baseline: string | null;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What the narrator is told. */
export interface LabNarrator {
  readonly begins: (entry: CatalogueEntry, number: number, of: number) => void;
  /** `lacks` says why the given store does not serve this pattern; null where none was given. */
  readonly baseline: (entry: CatalogueEntry, runs: number, lacks: string | null) => void;
  readonly judging: (entry: CatalogueEntry, state: LabStateName) => void;
  readonly ended: (pattern: LabPattern) => void;
}

/** How a state of a pattern is run. */
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
 * What a record of a pattern is of: the fixed state at a scale, as `leak-lab/stormlog-gate.yml` runs it in the lab's
 * directory. So the records of the gate on that file, of its nightly refresh and of a round of the lab are the same
 * ones. The device is the fingerprint's to tell.
 */
export function patternDefinition(
  entry: CatalogueEntry,
  { scale, steps }: Pick<LabOptions, "scale" | "steps">,
): string {
  const program = entry.framework === "node" ? "node" : "python3";
  const size = [...(scale === "tiny" ? [] : ["--scale", scale]), ...(steps === null ? [] : ["--steps", String(steps)])];
  return scenarioDefinition({ run: [program, entry.file, "fixed", ...size].join(" ") });
}

/** The round's own store: what it measures where nothing else serves. */
function ownSpec({ root, directory }: LabOptions): string {
  return `file:${path.relative(root, path.join(directory, "baseline"))}`;
}

/**
 * The gate's request for one state. Both states are one scenario, of one definition: their commands differ, and only
 * what differs between them may be the leak. A store of other sessions cannot tell a leak from a machine that moved:
 * there the fixed state runs again before the leaky one is red, as the base commit of a change would. The fixed state
 * has no such base, it would acquit itself.
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
      baseRun: rerun ? fixed.map(shellWord).join(" ") : "off",
      // Six runs, six of the base where they are inconclusive, and the one that names the line.
      maxRuns: "13",
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

/** What came of a pattern; without the environment where no run told it. */
interface LabRow {
  readonly pattern: LabPattern;
  readonly fingerprint: Fingerprint | null;
}

/** Baseline, fixed and leaky of one pattern; null when it was interrupted. */
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
  // What the environment is, and so whether a given store knows it, the first run tells.
  let fixed = await judged("fixed", store);
  if (fixed === null) return null;
  const lacks =
    options.baseline === null || fixed.report.word !== "unjudged"
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

/** A run that never began has an environment without a word in it. */
function known(fingerprint: Fingerprint | undefined): Fingerprint | null {
  return fingerprint === undefined || labEnvironment(fingerprint).backend === null ? null : fingerprint;
}

/**
 * The environment of a round after one more row. PyTorch names the device that a round is of, so its word counts most;
 * but a program that ended early may not have come so far, and takes nothing away from what is known.
 */
export function environmentAfter(before: Fingerprint, { pattern, fingerprint }: LabRow): Fingerprint {
  if (fingerprint === null) return before;
  const tells = pattern.framework === "torch" && pattern.outcome !== "broken";
  return before.backend === undefined || tells ? fingerprint : before;
}

/**
 * The row for a failure while a pattern ran: a pattern that cannot be measured must not take the others' results with
 * it. Null when the round was interrupted: what fails then says nothing about the pattern.
 * @throws unknown what is no failure of this pattern alone
 */
function failedRow(entry: CatalogueEntry, error: unknown, interrupted: boolean): LabRow | null {
  if (!(error instanceof GateError)) throw error;
  switch (error.kind) {
    case "interrupted":
      return null;
    case "error": {
      if (interrupted) return null;
      const last = lastPrinted(error);
      const reason = last === null ? error.message : `${error.message}: ${last}`;
      return { pattern: unmeasuredPattern(entry, "broken", reason), fingerprint: null };
    }
    case "usage":
    case "invalid-input":
      throw error;
    default:
      return assertNever(error.kind);
  }
}

/**
 * A round of the leak lab: each pattern's fixed state becomes the baseline, unless one is given, then the fixed and the
 * leaky state are judged by the same engine as anybody's. A pattern that cannot be run is a row of its own, and the
 * others go on.
 * @returns the round's document, which also lies in the directory as `lab.json`; shorter when interrupted
 * @throws GateError LAB_UNWRITABLE, and those of usage
 */
export async function runLab(options: LabOptions, narrator: LabNarrator, ports: GatePorts): Promise<LabDocument> {
  const { directory } = options;
  await mkdir(directory, { recursive: true }).catch((error: NodeJS.ErrnoException) => unwritable(directory, error));
  const lab = labDirectory(directory);
  const available = await labAvailability(options.python);
  // One session: without a baseline of its own, one is measured minutes before the candidates, on this very machine.
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
  // Before any evidence is replaced: the document of an earlier round would describe other bundles than those beside
  // it.
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

/** Whole or not at all: a round that is interrupted leaves what it had. */
async function writeDocument(directory: string, document: LabDocument): Promise<void> {
  const file = path.join(directory, LAB_FILE);
  try {
    await writeFile(`${file}.new`, `${JSON.stringify(document, null, 2)}\n`);
    await rename(`${file}.new`, file);
  } catch (error) {
    unwritable(directory, error as NodeJS.ErrnoException);
  }
}

/**
 * Patterns whose outcome is not what the catalogue says of them. One that was skipped is none, unless it was asked for
 * by name, or nothing at all was judged.
 * @param named the names that the round was asked for; empty = all
 */
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
