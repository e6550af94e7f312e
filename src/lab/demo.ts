import { existsSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { openFileStore } from "../baseline/file-store.ts";
import { gateRequest } from "../config/options.ts";
import { codeOf, GateError, usageError } from "../core/errors.ts";
import { makeDirectories } from "../core/files.ts";
import { packageRoot } from "../core/package-root.ts";
import type { Environment } from "../core/process/environment.ts";
import type { GatePorts } from "../gate/ports/ports.ts";
import { refreshScenario } from "../gate/refresh.ts";
import { runGate } from "../gate/run-gate.ts";
import { randomId } from "../measure/session/session.ts";
import type { GateReport } from "../report/model/gate-report.ts";

/** The three changes that the demo judges, in their order. */
export const DEMO_STATES = ["clean", "leaky", "fixed"] as const;
export type DemoState = (typeof DEMO_STATES)[number];

/** Callbacks for the progress of a demo. */
export interface DemoNarrator {
  readonly baseline: (runs: number) => void;
  readonly judging: (state: DemoState) => void;
  readonly judged: (state: DemoState, report: GateReport, bundle: string) => void;
}

const BASELINE_RUNS = 5;
/** Marks a directory of a demo, which the next demo may replace. */
const MARKER = ".stormlog-demo";

/** The demo's workload, a file of the package. */
export function demoWorkload(): string {
  return path.join(packageRoot(), "leak-lab", "demo", "workload.mjs");
}

async function freshDirectory(directory: string): Promise<void> {
  if (existsSync(directory) && !existsSync(path.join(directory, MARKER))) {
    throw usageError(
      "DEMO_FOLDER_TAKEN",
      `${directory} exists and was not made by a demo`,
      "Run the demo in another directory.",
    );
  }
  try {
    await rm(directory, { recursive: true, force: true });
    makeDirectories(directory);
    await writeFile(path.join(directory, MARKER), "");
  } catch (error) {
    const code = codeOf(error) ?? String(error);
    throw new GateError("DEMO_FOLDER_UNWRITABLE", `the demo's directory cannot be written (${code})`, {
      where: directory,
      hint: "Run the demo in a directory that this user may write.",
    });
  }
}

/**
 * Measure five clean runs as the baseline, then judge a clean, a leaky and a fixed change with the engine of `run`.
 * Only the order is scripted.
 * @returns the three reports; fewer when interrupted
 * @throws GateError DEMO_FOLDER_TAKEN (usage), DEMO_FOLDER_UNWRITABLE, and those of the gate
 */
export async function runDemo(
  directory: string,
  argv: readonly string[],
  env: Environment,
  narrator: DemoNarrator,
  ports: GatePorts,
): Promise<Partial<Record<DemoState, GateReport>>> {
  await freshDirectory(directory);
  // One session: the baseline is measured minutes before the candidates, on the same machine.
  const session = { ...env, STORMLOG_GATE_SESSION: env.STORMLOG_GATE_SESSION || randomId() };
  // As a user would give it beside the demo's directory, so that the printed commands work there.
  const baseline = `file:${path.basename(directory)}/baseline`;
  const request = (state: DemoState) =>
    gateRequest({
      options: { scenario: "demo", bundle: path.join(directory, state), "base-run": "off" },
      command: { kind: "argv", argv: [process.execPath, demoWorkload(), state] },
      config: null,
      root: path.dirname(directory),
      defaultBaselines: [baseline],
      defaultUnjudged: "fail",
      argv,
      env: session,
    });
  const clean = request("clean");
  const scenario = clean.scenarios[0];
  if (scenario === undefined) throw new Error("the demo has no scenario");
  narrator.baseline(BASELINE_RUNS);
  const store = openFileStore(baseline, path.join(directory, "baseline"));
  await refreshScenario(clean, scenario, { runs: BASELINE_RUNS, store }, ports);
  const reports: Partial<Record<DemoState, GateReport>> = {};
  for (const state of DEMO_STATES) {
    if (ports.interrupt.aborted) break;
    narrator.judging(state);
    const { report, bundleDir, bundleError } = await runGate(request(state), ports);
    if (bundleError !== null) throw bundleError;
    reports[state] = report;
    narrator.judged(state, report, bundleDir);
  }
  return reports;
}
