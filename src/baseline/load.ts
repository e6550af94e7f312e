import { existsSync } from "node:fs";
import path from "node:path";
import { parseMeasurements } from "../analysis/parse-measurements.ts";
import { GateError, invalidInput } from "../core/errors.ts";
import { type JsonProblem, readJson } from "../core/files.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import { type AbsentBaseline, absent, type BaselineAnswer, found, NextStep, noneOf } from "./answer.ts";
import { fromStore, type LoadContext } from "./from-store.ts";
import { parseBaselineRecord, selectRuns } from "./record.ts";
import { scenarioDirectory } from "./scenario-name.ts";
import { type BaselineSpec, parseBaselineSpec, type StoreOpeners } from "./spec.ts";
import type { BaselineStore } from "./store.ts";

export type { BaselineAnswer } from "./answer.ts";
export type { LoadContext } from "./from-store.ts";

const refused =
  (file: string) =>
  (problem: JsonProblem): GateError => {
    if (problem.kind === "absent" || problem.kind === "unreadable") {
      const code = problem.cause.code === "ENOENT" ? "INPUT_NOT_FOUND" : "INPUT_NO_PERMISSION";
      return invalidInput(code, `the baseline ${file} cannot be read: ${problem.cause.message}`, file);
    }
    const code = problem.kind === "empty" ? "INPUT_EMPTY" : "INPUT_TRUNCATED";
    return invalidInput(code, `the baseline ${file} is not complete JSON`, file);
  };

/** A baseline that the user names directly must be usable: any problem is an error, not a reason to look elsewhere. */
async function fromFile(source: string, file: string): Promise<BaselineAnswer> {
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
    warnings: [],
  };
}

/** A bundle of several scenarios has one file for each beside its runs, one of a single scenario only the top one. */
function bundleFile(directory: string, scenario: string): string {
  const own = path.join(directory, "runs", scenarioDirectory(scenario), "measurements.json");
  return existsSync(own) ? own : path.join(directory, "measurements.json");
}

async function load(
  spec: BaselineSpec,
  scenario: string,
  fingerprint: Fingerprint,
  context: LoadContext,
): Promise<BaselineAnswer> {
  switch (spec.kind) {
    case "store":
      return fromStore(spec.store, scenario, fingerprint, context);
    case "bundle":
      return fromFile(spec.text, bundleFile(spec.directory, scenario));
    case "file":
      return fromFile(spec.text, spec.file);
    default:
      return spec satisfies never;
  }
}

/**
 * The first spec with a usable baseline. Without one, the reasons of all of them are combined.
 * @throws GateError for a file named directly that is corrupt, of a newer schema or absent (exit 5), and for a bad spec
 *   (exit 2)
 */
export async function loadFirstBaseline(
  specs: readonly string[],
  scenario: string,
  fingerprint: Fingerprint,
  context: LoadContext,
): Promise<BaselineAnswer> {
  if (specs.length === 0) return absent("no baseline was given", NextStep.record);
  const answers: AbsentBaseline[] = [];
  for (const text of specs) {
    const answer = await load(parseBaselineSpec(text, context.root, context), scenario, fingerprint, context);
    if (answer.kind === "found")
      return { ...answer, warnings: [...answers.flatMap(({ warnings }) => warnings), ...answer.warnings] };
    answers.push(answer);
  }
  return noneOf(answers);
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
