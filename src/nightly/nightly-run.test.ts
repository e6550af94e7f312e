import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { OOM } from "../analysis/findings/oom-findings.ts";
import { openFileStore } from "../baseline/file-store.ts";
import { addRuns, emptyRecord } from "../baseline/record-changes.ts";
import { gateRequest } from "../config/options.ts";
import { MIB } from "../core/units.ts";
import type { ScenarioReport } from "../report/model/gate-report.ts";
import {
  sampleAnalysis,
  sampleRecordingInfo,
  sampleReport,
  sampleScenario,
  sampleSeriesAnalysis,
} from "../report/testing/sample-report.ts";
import { DONE } from "../verdict/model/judgement.ts";
import { storeMeasured } from "./nightly-run.ts";

const NAME = "train-mlp";
const LEVEL = 1000 * MIB;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(path.join(tmpdir(), "nightly-run-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** A scenario whose judgement has no failed check, whatever its runs measured. */
function claimedPass(bytes: readonly number[], findings: readonly string[] = [], session = "measured"): ScenarioReport {
  const [sample] = sampleAnalysis().findings;
  const runs = bytes.map((peak_bytes, at) => ({
    role: "candidate" as const,
    directory: `runs/${NAME}/${at + 1}`,
    info: sampleRecordingInfo({ run: at + 1, session }),
    analysis: sampleAnalysis({
      series: [sampleSeriesAnalysis({ peak_bytes, growth_bytes: 0, slope_bytes_per_step: 0, class: "plateau" })],
      findings: sample === undefined ? [] : findings.map((classification) => ({ ...sample, classification })),
    }),
  }));
  const judgement = { verdict: "pass", next: DONE, confirmed: false, checks: [], fingerprint: [], reason: "" } as const;
  return sampleScenario("pass", { runs, judgement });
}

async function stored(scenario: ScenarioReport, earlierRuns = 12) {
  const store = openFileStore("file:baselines", directory);
  const request = gateRequest({
    options: {},
    command: { kind: "argv", argv: ["true"] },
    config: null,
    root: directory,
    defaultBaselines: [],
    defaultUnjudged: "warn",
    argv: [],
    env: {},
  });
  const scenarios = request.scenarios.map((one) => ({ ...one, name: NAME }));
  const earlier = Array.from({ length: earlierRuns }, (_, at) => ({
    measured: {
      session: `night-${at >> 1}`,
      commit: null,
      series: [
        {
          ...{ rank: 0, device: "cuda:0", metric: "allocated" as const, class: "plateau" as const },
          ...{ peak_bytes: LEVEL + (at % 3) * MIB, growth_bytes: 0 },
        },
      ],
    },
    timeIso: "2026-11-18T02:14:07Z",
    approved: true,
  }));
  await store.update(NAME, scenario.fingerprint, (current) =>
    addRuns(current ?? emptyRecord(NAME, { ...scenario.fingerprint }), earlier),
  );
  const nightly = await storeMeasured(
    { ...request, scenarios },
    { report: sampleReport("pass", { scenarios: [scenario] }), envelopes: new Map() },
    { store, spec: "file:baselines", runs: "auto", accept: null, accepted: async () => null, warn: () => {} },
    new Date("2026-11-20T09:41:12Z"),
  );
  const [record] = (await store.list(NAME)).records;
  const added = record?.record.epochs.at(-1)?.runs.filter(({ session }) => session === "measured") ?? [];
  return { outcome: nightly.scenarios[0]?.sessionOutcome, approved: added.map(({ approved }) => approved) };
}

describe("a session that another job measured and judged", () => {
  it("joins the baseline when its own numbers are within it", async () => {
    expect(await stored(claimedPass([LEVEL, LEVEL + MIB]))).toEqual({
      outcome: { kind: "approved" },
      approved: [true, true],
    });
  });

  it("begins a baseline, but not with a run that ran out of memory", async () => {
    expect((await stored(claimedPass([LEVEL]), 0)).outcome).toEqual({ kind: "seed" });
    rmSync(directory, { recursive: true });
    expect((await stored(claimedPass([LEVEL], [OOM]), 0)).outcome).toEqual({ kind: "held", why: "hold-breach" });
  });

  it.each<[string, ScenarioReport]>([
    ["exceed the baseline", claimedPass([LEVEL + 400 * MIB, LEVEL + 400 * MIB, LEVEL + 400 * MIB])],
    ["ran out of memory", claimedPass([LEVEL, LEVEL], [OOM])],
  ])("a session is held, whatever its judgement claims, when its runs %s", async (_, scenario) => {
    const { outcome, approved } = await stored(scenario);
    expect(outcome).toEqual({ kind: "held", why: "hold-breach" });
    expect(approved).not.toContain(true);
    expect(approved).toHaveLength(scenario.runs.length);
  });

  it("a session is refused with the name of a stored session, unless it is that session", async () => {
    const other = claimedPass([LEVEL + 400 * MIB], [], "night-0");
    await expect(stored(other)).rejects.toMatchObject({ code: "SESSION_REFUSED", exitCode: 5 });
    for (const _again of [1, 2])
      expect((await stored(claimedPass([LEVEL, LEVEL + MIB]))).outcome).toEqual({ kind: "approved" });
  });
});
