import { scenarioDirectory } from "../../baseline/identity.ts";
import { storeOf } from "../../baseline/load.ts";
import { earlierRuns, MIN_EPOCH_RUNS, selectRuns } from "../../baseline/record.ts";
import { MAX_RECORD_BYTES, serializeRecord } from "../../baseline/record-size.ts";
import type { BaselineStore, StoredRecord } from "../../baseline/store.ts";
import type { GateRequest } from "../../config/gate-request.ts";
import { integer } from "../../config/options.ts";
import { DEFAULTS } from "../../config/run-options.ts";
import { GateError, usageError } from "../../core/errors.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { oneLine, plural } from "../../core/text.ts";
import { acceptBundles } from "../../gate/accept.ts";
import { acceptedLevels } from "../../gate/accepted-levels.ts";
import { refreshScenario } from "../../gate/refresh.ts";
import { formatSize } from "../../telemetry/recording/metrics.ts";
import { DEFAULT_POLICY } from "../../verdict/model/defaults.ts";
import { actionOf, type Invocation } from "../console/command.ts";
import { configOf, requestOf, rootOf } from "../console/gate-request.ts";
import { nextCommands } from "../console/next-commands.ts";
import { consolePorts, interruptSignal } from "../console/ports.ts";
import { programArgv } from "../console/program.ts";

/** The named store, else the first one of the config file that can be written, else `file:baselines`. */
export function chosenStore(invocation: Invocation): BaselineStore {
  const named = invocation.lists.baseline?.[0];
  const configured = named === undefined ? [configOf(invocation, true)?.baseline ?? []].flat() : [];
  const writable = configured.find((spec) => /^(file|ref):/.test(spec));
  return storeOf(named ?? writable ?? DEFAULTS.baseline, rootOf(invocation));
}

/** Outside text on one line. */
function one(text: string): string {
  return escapeTerminal(oneLine(text));
}

function line({ name, record }: StoredRecord): string {
  const runs = selectRuns(record, null);
  const sessions = new Set(runs.map(({ session }) => session)).size;
  const newest = runs.at(-1)?.time ?? "never";
  return `${one(name)}  scenario "${one(record.scenario)}"  ${plural(runs.length, "run")}, ${plural(sessions, "session")}, newest ${one(newest)}, epoch ${record.epochs.length}`;
}

/** What comes after a refresh: the missing runs, or the gate. */
function followingStep(invocation: Invocation, records: readonly StoredRecord[]): string {
  const least = DEFAULT_POLICY.minBaselineRuns;
  const fewest = Math.min(...records.map(({ record }) => selectRuns(record, null).length));
  const { runs: _, ...text } = invocation.text;
  const commands = nextCommands({ ...invocation, text }, DEFAULTS.bundle, programArgv());
  if (fewest >= least) return one(`Next: ${commands.run}`);
  const more = commands.refresh.replace("baseline refresh", `baseline refresh --runs ${least - fewest}`);
  return one(`A verdict needs ${least} runs. The missing ${least - fewest}: ${more}`);
}

const runsOf = ({ text }: Invocation): number => integer("runs", text.runs ?? String(MIN_EPOCH_RUNS), 1, 100);

/** What to measure: the command or the scenarios of the config file, without any baseline. */
function measuringRequest(invocation: Invocation): GateRequest {
  const lists = { ...invocation.lists, baseline: [] };
  return requestOf({ ...invocation, lists }, { baselines: [], unjudged: "pass" });
}

/** What cannot be read cannot be added to: that is said before anything is measured. */
async function checkRecords(store: BaselineStore, { scenarios }: GateRequest): Promise<void> {
  const { skipped } = await store.list();
  const own = scenarios.map(({ name }) => `${scenarioDirectory(name)}/`);
  const damaged = skipped.find(
    // Of a newer version it may be another environment's.
    (reason) => own.some((directory) => reason.startsWith(directory)) && !reason.includes("INPUT_SCHEMA_VERSION"),
  );
  if (damaged === undefined) return;
  throw new GateError("BASELINE_STORE_UNWRITABLE", `a record of ${store.name} is damaged: ${damaged}`, {
    where: store.name,
    hint: "Remove that record, or restore it from git, and refresh again. `baseline verify` lists all damaged records.",
  });
}

async function refresh(invocation: Invocation): Promise<number> {
  const { console } = invocation;
  const runs = runsOf(invocation);
  const store = chosenStore(invocation);
  const request = measuringRequest(invocation);
  await checkRecords(store, request);
  const interrupt = interruptSignal();
  const records: StoredRecord[] = [];
  const unmeasured: GateError[] = [];
  for (const scenario of request.scenarios) {
    const ports = consolePorts(console, interrupt, true);
    const stored = await refreshScenario(request, scenario, { runs, store }, ports);
    if (invocation.flags.composition) {
      const { refreshPeak } = await import("../../gate/refresh-peak.ts");
      await refreshPeak(request, scenario, { stored, store }, ports).catch((error: unknown) => {
        const isOfScenario =
          error instanceof GateError && error.code === "COMPOSITION_UNMEASURED" && error.kind === "error";
        if (!isOfScenario) throw error;
        unmeasured.push(error);
      });
    }
    records.push(stored);
  }
  // Scenarios whose programs cannot be sampled leave the others theirs.
  if (unmeasured.length === records.length && unmeasured[0] !== undefined) throw unmeasured[0];
  for (const { message } of unmeasured) console.print(`note: ${one(message)}`);
  for (const record of records) console.print(`${one(store.name)}/${line(record)}`);
  console.print(followingStep(invocation, records));
  console.document(records);
  return ExitCode.pass;
}

async function list(invocation: Invocation, details: boolean): Promise<number> {
  const { console, positionals } = invocation;
  const store = chosenStore(invocation);
  const { exists, records, skipped } = await store.list();
  const shown =
    positionals[1] === undefined
      ? records
      : records.filter(({ name, record }) => [name, record.scenario].includes(positionals[1] as string));
  if (!exists)
    console.print(
      `The baseline store ${one(store.name)} does not exist. \`stormlog-gate baseline refresh -- CMD\` creates it.`,
    );
  else if (shown.length === 0) {
    const which = positionals[1] === undefined ? "" : ` of "${one(positionals[1])}"`;
    console.print(`${one(store.name)} has no usable record${which}.`);
  }
  for (const stored of shown) {
    console.print(line(stored));
    if (!details) continue;
    for (const [field, value] of Object.entries(stored.record.fingerprint)) {
      console.print(`  ${one(field)}: ${one(String(value ?? "unknown"))}`);
    }
    const epoch = stored.record.epochs.at(-1);
    for (const run of selectRuns(stored.record, null)) {
      const values = run.values.flatMap((value, index) => {
        const key = epoch?.series[index];
        return value === null || key === undefined
          ? []
          : [`${key[2]} ${value[0] === null ? "unknown" : formatSize(key[2], value[0])} ${value[4] ?? ""}`];
      });
      console.print(`  ${one(run.time)}  ${one(run.commit?.slice(0, 12) ?? "no commit   ")}  ${values.join(", ")}`);
    }
  }
  for (const reason of skipped) console.print(`skipped: ${escapeTerminal(reason)}`);
  console.document(shown);
  return ExitCode.pass;
}

/** Check that every record is readable, at its right path and within the size limit. */
async function verify(invocation: Invocation): Promise<number> {
  const { console } = invocation;
  const store = chosenStore(invocation);
  const { exists, records, skipped } = await store.list();
  const large = records
    .filter(({ record }) => Buffer.byteLength(serializeRecord(record)) > MAX_RECORD_BYTES)
    .map(({ name }) => `${name} is larger than ${MAX_RECORD_BYTES} bytes`);
  const problems = [...(exists ? [] : [`the store ${store.name} does not exist`]), ...skipped, ...large];
  for (const problem of problems) console.print(`problem: ${escapeTerminal(problem)}`);
  console.print(`${plural(records.length, "record")}, ${plural(problems.length, "problem")}`);
  console.document({ records: records.length, problems });
  return problems.length === 0 ? ExitCode.pass : ExitCode.invalidInput;
}

/** Accept bundles, and name the command that adds the runs which the new level lacks. */
async function accept(invocation: Invocation): Promise<number> {
  const { console, positionals, text, rest } = invocation;
  if (text.runs !== undefined || rest !== null) {
    const hint = "`baseline refresh --runs N -- CMD` adds runs to the accepted level.";
    throw usageError("OPTION_INVALID", "`baseline accept` measures nothing", hint);
  }
  const bundles = positionals.length > 1 ? positionals.slice(1) : [DEFAULTS.bundle];
  const accepted = await acceptBundles(bundles, text.reason ?? "accepted", chosenStore(invocation), text.scenario);
  for (const stored of accepted) {
    const missing = MIN_EPOCH_RUNS - selectRuns(stored.record, null).length;
    console.print(line(stored));
    for (const level of acceptedLevels(stored.record)) console.print(`  ${one(level)}`);
    if (missing > 0) console.print(missingText(invocation, stored, missing));
  }
  console.document(accepted);
  return ExitCode.pass;
}

/** How an accepted level of too few runs is judged, and the command that adds the missing ones. */
function missingText(invocation: Invocation, { record }: StoredRecord, missing: number): string {
  const earlier = earlierRuns(record, selectRuns(record, null), null).length;
  const judged = earlier === 0 ? "it is not judged" : `it is judged with the spread of the ${earlier} runs before it`;
  const { scenario: _, ...text } = invocation.text;
  const about = { scenario: one(record.scenario) };
  const { refresh } = nextCommands({ ...invocation, text }, DEFAULTS.bundle, programArgv(), about);
  return `  Until this level has ${MIN_EPOCH_RUNS} runs, ${judged}. To add them: ${refresh} --runs ${missing} -- CMD`;
}

const ACTIONS = {
  refresh,
  accept,
  list: (invocation: Invocation) => list(invocation, false),
  show: (invocation: Invocation) => list(invocation, true),
  verify,
} as const;
export type BaselineAction = keyof typeof ACTIONS;

export async function baseline(invocation: Invocation): Promise<number> {
  const action = actionOf("baseline", ACTIONS, invocation.positionals[0]);
  const [, name, more] = invocation.positionals;
  const takesName = action === "list" || action === "show";
  const extra = action === "accept" ? undefined : takesName ? more : name;
  if (extra !== undefined) {
    const hint = action === "refresh" ? "--scenario NAME names the scenario of a command." : undefined;
    throw usageError("ARGUMENT_UNEXPECTED", `"${extra}" is unexpected`, hint);
  }
  return ACTIONS[action](invocation);
}
