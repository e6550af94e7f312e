import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import "./from-sources.ts";
import { readRunDirectory } from "../../../src/telemetry/read-run-directory.ts";
import type { Recording, RecordingInfo } from "../../../src/telemetry/recording/model.ts";
import type { RecordedDevice } from "../../../src/telemetry/recording/recorded-device.ts";
import { cli } from "../../e2e/cli.ts";
import { STAND_INS } from "../../probe/testing/probed.ts";
import { ownDirectory } from "./directory.ts";
import { fakeNvml } from "./fake-nvml.ts";

const FIXTURES = fileURLToPath(new URL("../fixtures", import.meta.url));
export const MIB = 1024 ** 2;
export const GIB = 1024 ** 3;

/**
 * A short training loop on the stand-in of PyTorch: about 2.8 s, of which the first 1.4 s are context, libraries and
 * communicator. It holds all of its memory for more than a second, so that a sampler that has to wait still reads it.
 */
export const TRAIN: readonly string[] = ["python3", path.join(FIXTURES, "train.py"), "45", "20", "0"];

/** The same with more steps, of 20 ms each. */
export const trainSteps = (steps: number): string[] => TRAIN.map((word, i) => (i === 2 ? String(steps) : word));

/** Maximum memory of that loop: context, libraries and communicator of the stand-in, and the allocator's segments. */
export const TRAIN_OUTSIDE_ALLOCATOR = (300 + 100 + 150) * MIB;
export const TRAIN_RESERVED = 80 * MIB;
export const TRAIN_HELD = TRAIN_OUTSIDE_ALLOCATOR + TRAIN_RESERVED;

/** The driver's reserve on a GPU of {@link ONE_GPU}. */
export const DRIVER_USED = 500 * MIB;

/** One GPU of 80 GiB with a driver's reserve. */
export const ONE_GPU: readonly string[] = [
  "devices 1",
  "driver 580.65.06",
  "model 0 NVIDIA H100 80GB HBM3",
  "uuid 0 GPU-aaaaaaaa-0000-0000-0000-000000000001",
  `at 0 0 ${DRIVER_USED} ${300 * MIB} ${80 * GIB}`,
];

/** The same machine with a driver of another version. */
export const withDriver = (version: string): string[] =>
  ONE_GPU.map((line) => (line.startsWith("driver ") ? `driver ${version}` : line));

export interface Finding {
  readonly classification: string;
  readonly severity: string;
  readonly device: string | null;
  readonly description: string;
  readonly remediation: readonly string[];
  readonly evidence: Readonly<Record<string, unknown>>;
}

/** What a person has of a run on a machine with the fake library: the exit code, the texts, the documents. */
export interface Seen {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly info: RecordingInfo;
  readonly recording: Recording;
  readonly findings: readonly Finding[];
  readonly summary: string;
  /** How often each function of the library was called by the gate. */
  readonly calls: ReadonlyMap<string, number>;
}

/** Calls of the process that read memory most often: the gate; others only look at the library once. */
function callsOf(file: string): Map<string, number> {
  const byPid = new Map<string, Map<string, number>>();
  let text = "";
  try {
    text = readFileSync(file, "utf8");
  } catch {
    // A library that was never shut down has written nothing.
  }
  for (const line of text.split("\n")) {
    const [pid, name, count] = line.split(" ");
    if (pid === undefined || name === undefined || count === undefined) continue;
    const calls = byPid.get(pid) ?? new Map<string, number>();
    calls.set(name, (calls.get(name) ?? 0) + Number(count));
    byPid.set(pid, calls);
  }
  const all = (calls: Map<string, number>): number => [...calls.values()].reduce((sum, count) => sum + count, 0);
  return [...byPid.values()].sort((a, b) => all(b) - all(a))[0] ?? new Map();
}

interface Settings {
  readonly without?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly options?: readonly string[];
  /** Program to run the gate under. */
  readonly under?: readonly string[];
}

/**
 * Lists of processes are read seldom: 200 times as long passes as the last one took. Where the machine was so busy that
 * there was but the first, a run reports nothing about lists.
 */
const sawLists = ({ info }: Seen): boolean =>
  (info.devices ?? []).every((device) => !device.capabilities.includes("processes") || device.process_lists > 1);

/** Gate a command on a machine as the scenario has it: from the command line, by the sources of this tree. */
export async function seen(...request: Parameters<typeof gated>): Promise<Seen> {
  for (let attempt = 1; ; attempt += 1) {
    const one = await gated(...request);
    if (sawLists(one) || attempt === 3) return one;
  }
}

async function gated(
  scenario: readonly string[],
  command: readonly string[] = TRAIN,
  { without = [], env = {}, options = [], under = [] }: Settings = {},
): Promise<Seen> {
  const fake = fakeNvml(scenario, { without });
  const directory = ownDirectory("run");
  const bundle = path.join(directory, "bundle");
  const gate = ["run", "--bundle", bundle, "--baseline", "none", "--unjudged", "pass", "--base-run", "off"];
  const { code, stdout, stderr } = await cli(
    [...gate, "--repeats", "1", "--attribute", "off", ...options, "--", ...command],
    {
      cwd: directory,
      under,
      env: { PYTHONPATH: path.join(STAND_INS, "torch-cuda"), PYTHONDONTWRITEBYTECODE: "1", ...fake.env, ...env },
    },
  );
  const run = path.join(bundle, "runs", "default", "1");
  if (!existsSync(path.join(run, "recording.json"))) throw new Error(`no recording was left (exit ${code}): ${stderr}`);
  const read = (file: string): string => readFileSync(file, "utf8");
  return {
    code,
    stdout,
    stderr,
    info: JSON.parse(read(path.join(run, "recording.json"))),
    recording: (await readRunDirectory(run)).recording,
    findings: JSON.parse(read(path.join(bundle, "report.json"))).payload.scenarios[0].findings,
    summary: read(path.join(bundle, "summary.md")),
    calls: callsOf(path.join(fake.directory, "calls")),
  };
}

/** Known values of a column, with their times in milliseconds. */
export function values(
  { tables }: Recording,
  device: string,
  column: keyof Recording["tables"][number]["columns"],
): { readonly ms: number; readonly bytes: number }[] {
  return tables
    .filter((table) => table.device === device)
    .flatMap(({ columns, timeNs }) =>
      Array.from(columns[column] ?? [], (bytes, i) => ({ ms: (timeNs?.[i] ?? Number.NaN) / 1e6, bytes })),
    )
    .filter(({ bytes }) => !Number.isNaN(bytes))
    .sort((a, b) => a.ms - b.ms);
}

/** The highest value of a column, or null without a known value. */
export function highest(...[recording, device, column]: Parameters<typeof values>): number | null {
  const all = values(recording, device, column).map(({ bytes }) => bytes);
  return all.length === 0 ? null : Math.max(...all);
}

/** The entry of `recording.json` of a device. */
export function deviceOf({ info }: Seen, name: string): RecordedDevice {
  const found = info.devices?.find((device) => device.name === name);
  if (found === undefined) throw new Error(`no ${name} among ${info.devices?.map((each) => each.name)}`);
  return found;
}

/** Memory of the job as process lists report it, which are too rare to catch each step. */
export function expectMostOfHeld(bytes: number | null): void {
  expect(bytes).toBeGreaterThan(TRAIN_HELD / 2);
  expect(bytes).toBeLessThanOrEqual(TRAIN_HELD);
}

export const kindsOf = ({ findings }: Seen): string[] => findings.map(({ classification }) => classification);

/** When the recording has the first event of a kind, milliseconds. */
export function healthMs({ health }: Recording, kind: string): number {
  const found = health?.find((event) => event.kind === kind);
  if (found === undefined) throw new Error(`no ${kind} among ${health?.map((event) => event.kind)}`);
  return found.timeNs / 1e6;
}

/** Times of the host's readings between two times, milliseconds. */
export const hostTimes = (recording: Recording, fromMs: number, toMs: number): number[] =>
  values(recording, "host", "host").flatMap(({ ms }) => (ms > fromMs && ms < toMs ? [ms] : []));

/**
 * The host is sampled between two times, by default to the end. A device that blocks the host's sampler leaves all of
 * that time without a reading, a busy machine a fraction of it.
 */
export function expectHostSampled(recording: Recording, fromMs: number, toMs = Number.POSITIVE_INFINITY): void {
  const times = hostTimes(recording, fromMs, toMs);
  const end = Number.isFinite(toMs) ? toMs : (times.at(-1) ?? fromMs);
  expect(end - fromMs).toBeGreaterThan(1000);
  const gaps = [...times, end].map((ms, i) => ms - (times[i - 1] ?? fromMs));
  expect(Math.max(...gaps)).toBeLessThan((end - fromMs) / 2);
  expect(times.length).toBeGreaterThan(20);
}
