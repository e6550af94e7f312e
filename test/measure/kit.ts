import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import type { GateError } from "../../src/core/errors.ts";
import { measure } from "../../src/measure/measure.ts";
import type { MeasureRequest } from "../../src/measure/session/request.ts";
import { allPids, readStat } from "../../src/sampler/proc.ts";
import type { RecordingInfo } from "../../src/telemetry/recording/model.ts";

/** A parent that is deleted after the test. */
export function temporaryDirectory(): string {
  const parent = mkdtempSync(path.join(tmpdir(), "stormlog-gate-test-"));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  return parent;
}

export interface Measured {
  readonly info: RecordingInfo;
  readonly integrityError: GateError | null;
  readonly directory: string;
  readonly stdout: string;
  readonly stderr: string;
}

/** Measure a command with everything else at its default. */
export async function measured(argv: readonly string[], overrides: Partial<MeasureRequest> = {}): Promise<Measured> {
  const parent = temporaryDirectory();
  const directory = path.join(parent, "run", "1");
  const out: Uint8Array[] = [];
  const err: Uint8Array[] = [];
  const { info, integrityError } = await measure({
    scenario: "test",
    run: 1,
    session: "s",
    commit: null,
    command: { kind: "argv", argv },
    cwd: parent,
    env: process.env,
    extraEnv: {},
    directory,
    timeoutS: null,
    hostPeriodNs: 5e6,
    devicePeriodNs: 20e6,
    cpuBudget: null,
    stdout: (chunk) => out.push(chunk),
    stderr: (chunk) => err.push(chunk),
    interrupt: new AbortController().signal,
    scenarioDefinition: null,
    probe: "auto",
    ...overrides,
  });
  return {
    info,
    integrityError,
    directory,
    stdout: Buffer.concat(out).toString(),
    stderr: Buffer.concat(err).toString(),
  };
}

/** A Node script as a command line. */
export const node = (script: string, ...args: string[]): string[] => [process.execPath, "-e", script, ...args];

/** Living processes, by a marker in their command line. It is unique to a test, since tests run in parallel. */
export function livingWith(word: string): number[] {
  return allPids().filter((pid) => {
    if (pid === process.pid || !commandLine(pid).includes(word)) return false;
    const state = readStat(pid)?.state;
    return state !== undefined && state !== "Z" && state !== "X";
  });
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

/** Python: write the pid to a file, end the first thread alone, and stay. Such a process shows as a zombie. */
export const WITHOUT_FIRST_THREAD = `
import ctypes, os, platform, sys, threading, time
threading.Thread(target=lambda: time.sleep(600)).start()
with open(sys.argv[1], "w") as file: file.write(str(os.getpid()))
ctypes.CDLL(None).syscall(60 if platform.machine() == "x86_64" else 93, 0)
`;

/** Whether any thread of a process lives. */
export function anyThreadLives(pid: number): boolean {
  const stat = readStat(pid);
  return stat !== null && (stat.state !== "Z" || stat.threads > 1);
}

let words = 0;
/** A marker that no other process of this machine has on its command line. */
export const uniqueWord = (): string => `slgtest${process.pid}x${words++}`;
