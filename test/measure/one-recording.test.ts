import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import type { GateRequest, ScenarioRequest } from "../../src/config/gate-request.ts";
import type { GatePorts } from "../../src/gate/ports/ports.ts";
import { oneRun } from "../../src/gate/run/one-run.ts";
import { parseRecordChunks } from "../../src/telemetry/reading/record-file.ts";
import { RECORDING_FILE } from "../../src/telemetry/recording/run-files.ts";
import { parseRecordingInfo } from "../../src/telemetry/recording/run-info.ts";

const counted = vi.hoisted(() => ({ written: [] as string[], read: [] as string[] }));

vi.mock("node:fs", async (original) => {
  const real = await original<typeof import("node:fs")>();
  const renameSync: typeof real.renameSync = (from, to) => {
    if (String(to).endsWith("recording.json")) counted.written.push(readFile(String(from)));
    real.renameSync(from, to);
  };
  const readFile = (file: string): string => real.readFileSync(file, "utf8");
  const readFileSync = ((file: string, ...rest: [never]) => {
    if (String(file).endsWith("recording.json")) counted.read.push(file);
    return real.readFileSync(file, ...rest);
  }) as typeof real.readFileSync;
  return { ...real, renameSync, readFileSync, default: { ...real, renameSync, readFileSync } };
});

vi.mock("../../src/telemetry/reading/record-file.ts", async (original) => {
  const real = await original<typeof import("../../src/telemetry/reading/record-file.ts")>();
  return { ...real, parseRecordChunks: vi.fn(real.parseRecordChunks) };
});

test("a run parses its record file once, writes recording.json before it, at its start and end, and never reads it back", async () => {
  const root = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const command = { kind: "argv", argv: ["sleep", "0.2"] } as const;
  const scenario = { name: "train", command, cwd: root, env: {}, timeoutS: null, horizon: null, definition: null };
  const request = {
    env: { PATH: process.env.PATH },
    hostPeriodNs: 5e6,
    devicePeriodNs: 2e7,
    cpuBudget: null,
    gatingPhases: [],
  };
  const directory = path.join(root, "run");
  const run = await oneRun(
    {
      ...request,
      stream: null,
      probe: "auto",
      warningPercent: 80,
      criticalPercent: 95,
      debug: false,
    } as unknown as GateRequest,
    scenario as unknown as ScenarioRequest,
    { role: "candidate", number: 1, directory, command, cwd: root, session: "s", commit: null },
    { stdout: null, stderr: null, progress: null, interrupt: new AbortController().signal } as GatePorts,
  );
  expect(vi.mocked(parseRecordChunks)).toHaveBeenCalledTimes(1);
  expect(counted.read).toEqual([]);
  expect(counted.written.map((text) => JSON.parse(text).exit.kind)).toEqual(["running", "running", "exited"]);
  expect(JSON.parse(counted.written[1] ?? "").identity.pid).toBeGreaterThan(1);
  const file = path.join(directory, RECORDING_FILE);
  expect(JSON.parse(JSON.stringify(run.info))).toEqual(parseRecordingInfo(readFileSync(file, "utf8"), file));
  expect(run.info.peaks).toEqual(run.recording?.peaks);
});
