import { existsSync } from "node:fs";
import path from "node:path";
import { parseMeasurements, skippedMetrics } from "../analysis/parse-measurements.ts";
import { GateError, invalidInput } from "../core/errors.ts";
import { type JsonProblem, NOT_A_FILE, readJson } from "../core/files.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import { type AbsentBaseline, absent, type BaselineAnswer, found, NextStep, noneOf } from "./answer.ts";
import { type LoadContext, normalizeDefinition, readStore, type ScenarioQuery, selectBaseline } from "./from-store.ts";
import { scenarioDirectory } from "./identity.ts";
import { parseBaselineRecord, selectRuns } from "./record.ts";
import { type BaselineSpec, parseBaselineSpec, type StoreOpeners } from "./spec.ts";
import type { BaselineStore } from "./store.ts";

const refused =
  (file: string) =>
  (problem: JsonProblem): GateError => {
    if (problem.kind === "too-large")
      return invalidInput("INPUT_TOO_LARGE", `the baseline ${file} has ${problem.bytes} bytes`, file);
    if (problem.kind === "absent" || problem.kind === "unreadable") {
      const { code: cause } = problem.cause;
      const refused = cause === NOT_A_FILE ? "INPUT_NOT_A_FILE" : "INPUT_NO_PERMISSION";
      const code = cause === "ENOENT" ? "INPUT_NOT_FOUND" : refused;
      return invalidInput(code, `the baseline ${file} cannot be read: ${problem.cause.message}`, file);
    }
    const code = problem.kind === "empty" ? "INPUT_EMPTY" : "INPUT_TRUNCATED";
    return invalidInput(code, `the baseline ${file} is not complete JSON`, file);
  };

/** A baseline that the user names directly must be usable: any problem is an error, not a reason to look elsewhere. */
function fromFile(source: string, file: string): BaselineAnswer {
  const json = readJson(file, refused(file));
  const schema = (json as { schema?: unknown } | null)?.schema;
  if (typeof schema === "string" && schema.startsWith("stormlog.baseline/")) {
    const record = parseBaselineRecord(json, file);
    return found(source, record, selectRuns(record, null), null, []);
  }
  const measurements = parseMeasurements(json, file);
  const sessions = new Set(measurements.runs.map(({ session }) => session)).size;
  const commit = measurements.runs.at(-1)?.commit ?? null;
  return {
    kind: "found",
    measurements,
    envelopes: [],
    summary: { source, runs: measurements.runs.length, sessions, newest_iso: null, commit },
    warnings: skippedMetrics(`the baseline in ${source}`, measurements),
  };
}

/** A bundle of several scenarios has one file for each beside its runs, one of a single scenario only the top one. */
function bundleFile(directory: string, scenario: string): string {
  const own = path.join(directory, "runs", scenarioDirectory(scenario), "measurements.json");
  return existsSync(own) ? own : path.join(directory, "measurements.json");
}

/** Baselines that were read once: what happens to their files afterwards does not change the answers. */
export interface LoadedBaselines {
  /**
   * The first spec with a usable baseline. Without one, the reasons of all of them are combined.
   * @throws GateError for a file named directly that was corrupt, of a newer schema or absent (exit 5)
   */
  find(wanted: ScenarioQuery, fingerprint: Fingerprint): BaselineAnswer;
}

type BaselineReader = (wanted: ScenarioQuery, fingerprint: Fingerprint) => BaselineAnswer;

/** The answers of one spec. An error is kept until a scenario asks, because an earlier spec may have a baseline. */
async function hold(spec: BaselineSpec, scenarios: readonly string[], context: LoadContext): Promise<BaselineReader> {
  try {
    if (spec.kind === "store") {
      const held = await readStore(spec.store, scenarios, context);
      return (wanted, fingerprint) => selectBaseline(held, wanted, fingerprint, context);
    }
  } catch (error) {
    return () => {
      throw error;
    };
  }
  const answers = new Map(scenarios.map((name) => [name, heldFile(spec, name)]));
  return (wanted, fingerprint) => {
    const answer = (answers.get(wanted.name) ?? heldFile(spec, wanted.name))();
    if (answer.kind === "absent") return answer;
    const { fingerprint: theirs, ...measurements } = answer.measurements;
    if (theirs === null) return answer;
    return {
      ...answer,
      measurements: { ...measurements, fingerprint: normalizeDefinition(theirs, fingerprint, wanted) },
    };
  };
}

function heldFile(spec: Exclude<BaselineSpec, { kind: "store" }>, scenario: string): () => BaselineAnswer {
  try {
    const file = spec.kind === "bundle" ? bundleFile(spec.directory, scenario) : spec.file;
    const answer = fromFile(spec.text, file);
    return () => answer;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function firstFound(held: Iterable<BaselineReader>, wanted: ScenarioQuery, fingerprint: Fingerprint): BaselineAnswer {
  const answers: AbsentBaseline[] = [];
  for (const find of held) {
    const answer = find(wanted, fingerprint);
    if (answer.kind === "found")
      return { ...answer, warnings: [...answers.flatMap(({ warnings }) => warnings), ...answer.warnings] };
    answers.push(answer);
  }
  return answers.length === 0 ? absent("no baseline was given", NextStep.record) : noneOf(answers);
}

/**
 * Reads the baselines of some scenarios once.
 * @throws GateError for a bad spec (exit 2)
 */
export async function loadBaselines(
  specs: readonly string[],
  scenarios: readonly string[],
  context: LoadContext,
): Promise<LoadedBaselines> {
  const parsed = specs.map((text) => parseBaselineSpec(text, context.root, context));
  const held: BaselineReader[] = [];
  for (const spec of parsed) held.push(await hold(spec, scenarios, context));
  return {
    find(wanted, fingerprint) {
      const own = firstFound(held, wanted, fingerprint);
      if (own.kind === "found" || wanted.formerName === undefined) return own;
      const former = firstFound(held, { ...wanted, name: wanted.formerName }, fingerprint);
      return former.kind === "found" ? former : own;
    },
  };
}

/** The baseline of one scenario, from the first spec that has one; errors as {@link LoadedBaselines}. */
export async function loadFirstBaseline(
  specs: readonly string[],
  scenario: string,
  fingerprint: Fingerprint,
  context: LoadContext,
): Promise<BaselineAnswer> {
  const held = await loadBaselines(specs, [scenario], context);
  return held.find({ name: scenario }, fingerprint);
}

/** Stores that `refresh` and `accept` can write. @throws GateError BASELINE_SPEC_INVALID (usage) */
export function storeOf(text: string, root: string, openers: StoreOpeners = {}): BaselineStore {
  const spec = parseBaselineSpec(text, root, openers);
  if (spec.kind === "store" && spec.store.kind !== "artifact") return spec.store;
  throw new GateError("BASELINE_SPEC_INVALID", `"${text}" is not a writable store`, {
    kind: "usage",
    hint: "Use file:DIR or ref:NAME.",
  });
}
