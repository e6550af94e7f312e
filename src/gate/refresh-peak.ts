import { rm } from "node:fs/promises";
import path from "node:path";
import { peakEnvironment } from "../attribution/peak/explain-peak.ts";
import { peakOfRun } from "../attribution/peak/peak-of-run.ts";
import { storedPeak } from "../attribution/peak/stored-peak.ts";
import type { BaselineStore, StoredRecord } from "../baseline/store.ts";
import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import { GateError } from "../core/errors.ts";
import { temporaryDirectory } from "../core/temporary-directory.ts";
import { viewRepository } from "../git/repository-view.ts";
import type { RaisedWall } from "../measure/launch/wall.ts";
import type { Metric } from "../telemetry/recording/metrics.ts";
import type { GatePorts } from "./ports/ports.ts";
import { failureHint, type RefreshedRecord } from "./refresh.ts";
import { oneRun } from "./run/one-run.ts";
import { wallAround } from "./run/wall-around.ts";

/** The series that gates: the allocator of a device, else the heap, else the memory of the host. */
function gatingSeries({ record }: StoredRecord): { readonly device: string; readonly metric: Metric } {
  const series = record.epochs.at(-1)?.series ?? [];
  const allocated = series.filter(([, , metric]) => metric === "allocated").map(([, device]) => device);
  const device = allocated.find((one) => one !== "host") ?? allocated[0];
  return device === undefined ? { device: "host", metric: "host" } : { device, metric: "allocated" };
}

/**
 * Run a scenario once more and store what its peak consists of beside its record, for when no base run is possible.
 * @throws GateError COMPOSITION_UNMEASURED, and those of the store
 */
export async function refreshPeak(
  request: GateRequest,
  scenario: ScenarioRequest,
  { stored, store }: { readonly stored: RefreshedRecord; readonly store: BaselineStore },
  ports: GatePorts,
): Promise<void> {
  if (store.keepPeak === undefined) {
    throw new GateError("COMPOSITION_UNMEASURED", `${store.name} cannot keep what a peak consists of`, {
      kind: "usage",
      hint: "Use a store of files or a ref, such as file:baselines.",
    });
  }
  await store.keepPeak(stored.name, await measurePeak(request, scenario, stored, ports));
}

/**
 * What the peak of a scenario consists of, by one more run, as it is stored beside its record.
 * @throws GateError COMPOSITION_UNMEASURED
 */
export async function measurePeak(
  request: GateRequest,
  scenario: ScenarioRequest,
  stored: RefreshedRecord,
  ports: GatePorts,
): Promise<string> {
  const opened = stored.record.epochs.at(-1)?.opened ?? "";
  const { device, metric } = gatingSeries(stored);
  const parent = await temporaryDirectory("stormlog-gate-composition-");
  let wall: RaisedWall | undefined;
  try {
    wall = await wallAround({ ...request, scenarios: [scenario] }, [parent]);
    const { command, cwd } = scenario;
    const directory = path.join(parent, "1");
    const env = peakEnvironment(
      // Seconds, for runs whose length is unknown.
      { command, metric, durationS: stored.durationS ?? 60 },
      { ...request.env, ...scenario.env },
    );
    const plan = {
      role: "attribution",
      number: 1,
      directory,
      command,
      cwd,
      session: "",
      commit: null,
      env,
      wall,
    } as const;
    const finished = await oneRun(request, scenario, plan, ports);
    const { ending } = finished;
    const notes: string[] = [];
    const { top: root } = (await viewRepository(cwd)).checkout;
    const warn = (note: string): void => void notes.push(note);
    const found = ending.kind === "ok" ? await peakOfRun(finished, { device, metric, root, other: root, warn }) : null;
    if (found === null || found.parts.length === 0) {
      const hasFailed = ending.kind === "failed";
      const reason = hasFailed ? ending.message : (notes[0] ?? "no process reported it");
      throw new GateError(
        "COMPOSITION_UNMEASURED",
        `${scenario.name}: the runs are stored, but not what the peak consists of: ${reason}`,
        {
          hint: hasFailed
            ? failureHint(directory, ending.hint)
            : "Refresh without --composition where the program cannot be sampled.",
        },
      );
    }
    return storedPeak(found, { opened, device, metric });
  } finally {
    wall?.lower();
    await rm(parent, { recursive: true, force: true });
  }
}
