import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { probeEnvironment } from "../../../src/measure/environment/probe-environment.ts";
import { probeLines } from "../../../src/telemetry/recording/probe-record.ts";
import { ProbeRing, type RingHeader, type RingRecord } from "./probe-ring.ts";
import type { Python } from "./pythons.ts";

export const FIXTURES = fileURLToPath(new URL("../fixtures", import.meta.url));
export const STAND_INS = fileURLToPath(new URL("../stand-ins", import.meta.url));

/** A directory that is deleted after the test. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(path.join(tmpdir(), "gate-probe-test-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** What a probe left of one process image. */
export interface Left {
  readonly name: string;
  readonly pid: number;
  readonly header: RingHeader;
  readonly localRank: number;
  readonly records: readonly RingRecord[];
  readonly lost: number;
  /** Empty without an info file. */
  readonly info: ReadonlyMap<string, string>;
  readonly ooms: readonly ReadonlyMap<string, string>[];
}

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly directory: string;
  readonly left: readonly Left[];
}

export interface Options {
  readonly env?: Readonly<Record<string, string>>;
  /** Entries after the probe's in PYTHONPATH. */
  readonly pythonPath?: readonly string[];
  readonly flags?: readonly string[];
  readonly cwd?: string;
  /** Where the probe is to leave its files, instead of a new directory. */
  readonly directory?: string;
  readonly timeoutMs?: number;
  /** Called with the process once it runs, for instance to kill it. */
  readonly during?: (child: ChildProcess, directory: string) => Promise<void>;
}

/** Loads the scripts of Node as well. */
const ANY = { command: { kind: "argv", argv: [] }, cwd: "/nowhere" } as const;

/** The environment of a measured command, made by the product's code. */
function measuredEnvironment(directory: string, { env = {}, pythonPath = [] }: Options): Record<string, string> {
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !/^(STORMLOG_GATE_|PYTHON)/.test(entry[0]),
    ),
  );
  const user = pythonPath.length > 0 ? { PYTHONPATH: pythonPath.join(path.delimiter) } : {};
  // The tree that is tested stays as it is.
  return {
    ...probeEnvironment({ ...inherited, ...user, ...env }, directory, false, ANY).env,
    PYTHONDONTWRITEBYTECODE: "1",
  };
}

/** Run a Python as a measured command does, and read what its probes left. */
export async function probed(python: Python, args: readonly string[], options: Options = {}): Promise<Ended> {
  const directory = options.directory ?? path.join(temporaryDirectory(), "probe");
  if (options.directory === undefined) mkdirSync(directory);
  const child = spawn(python.executable, [...(options.flags ?? []), ...args], {
    cwd: options.cwd ?? temporaryDirectory(),
    env: measuredEnvironment(directory, options),
    timeout: options.timeoutMs ?? 60_000,
    killSignal: "SIGKILL",
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [out, err]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on("data", (chunk: Buffer) => out.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => err.push(chunk));
  const ended = new Promise<{ code: number | null; signal: NodeJS.Signals | null }>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => resolve({ code, signal }));
  });
  await options.during?.(child, directory);
  const { code, signal } = await ended;
  return {
    code,
    signal,
    stdout: Buffer.concat(out).toString(),
    stderr: Buffer.concat(err).toString(),
    directory,
    left: readLeft(directory),
  };
}

/** The same for a program given as text; it runs as a script, as users' programs do. */
export function probedScript(python: Python, script: string, options: Options = {}): Promise<Ended> {
  const file = path.join(temporaryDirectory(), "script.py");
  writeFileSync(file, script);
  return probed(python, [file], options);
}

/**
 * Python: `recorded(n)` returns once the probe of this process has written n more records, which may take
 * longer on a busy machine than any time that a script could sleep.
 */
export const RECORDED = `
import glob, os, time
def head():
    rings = glob.glob("%s/%d.*.probe" % (os.environ["STORMLOG_GATE_PROBE_DIR"], os.getpid()))
    return max([int.from_bytes(open(ring, "rb").read(32)[24:], "little") for ring in rings], default=0)
def recorded(more):
    until = head() + more
    while head() < until: time.sleep(0.01)
`;

/**
 * Python: a reading costs 10 µs of the probe's budget, as with warm caches of the processor; a cold one costs up to
 * 0.7 ms, and on a busy host anything.
 */
export const CHEAP = `import itertools, sys, time
while not hasattr(sys.modules.get("_stormlog_probe.reading"), "thread_time_ns"): time.sleep(0.001)
sys.modules["_stormlog_probe.reading"].thread_time_ns = itertools.count(0, 10_000).__next__
`;

/** The arguments of a Python that runs this file so. */
export const cheaply = (file: string, ...args: readonly string[]): readonly string[] => [
  "-c",
  `${CHEAP}import runpy\nsys.argv = sys.argv[1:]\nrunpy.run_path(sys.argv[0], run_name="__main__")`,
  file,
  ...args,
];

/** The same while processes still write: a ring that is just being made is not there yet. */
export function readSoFar(directory: string): Left[] {
  try {
    return readLeft(directory);
  } catch {
    return [];
  }
}

/** Everything in a probe's directory, in the order of pids. */
function readLeft(directory: string): Left[] {
  return namesIn(directory)
    .filter((name) => name.endsWith(".probe"))
    .sort((a, b) => a.localeCompare(b, "en", { numeric: true }))
    .map((name) => readOne(directory, name.slice(0, -".probe".length)));
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

function readOne(directory: string, base: string): Left {
  const file = path.join(directory, `${base}.probe`);
  const ring = ProbeRing.open(file, 0);
  if (ring === null) throw new Error(`${file} is not a regular file`);
  try {
    const records: RingRecord[] = [];
    // A record that cannot be had is given up after some looks.
    for (let looks = 0; looks < 8; looks++) ring.drain(looks * 1e9, 1e6, (record) => records.push(record));
    if (ring.header === null) throw new Error(`${file} is not a ring`);
    const names = namesIn(directory);
    const ooms = names.filter((name) => name.startsWith(`${base}.oom.`) && /\.oom\.\d+$/.test(name)).sort();
    return {
      name: base,
      pid: Number(base.split(".")[0]),
      header: ring.header,
      localRank: readFileSync(file).readInt32LE(52),
      records,
      lost: ring.lost,
      info: names.includes(`${base}.info`) ? lines(directory, `${base}.info`) : new Map(),
      ooms: ooms.map((name) => lines(directory, name)),
    };
  } finally {
    ring.close();
  }
}

const lines = (directory: string, name: string): ReadonlyMap<string, string> =>
  probeLines(readFileSync(path.join(directory, name), "utf8"));

/** The only process that left something. */
export function only({ left, stderr }: Ended): Left {
  const [one, ...others] = left;
  if (one === undefined || others.length > 0) throw new Error(`${left.length} rings were left; stderr: ${stderr}`);
  return one;
}

export const HEAP = 1;
/** Not a kind of the ring: records of HEAP that count Python's own allocator, which {@link recordsOf} separates. */
export const PYTHON_HEAP = 1001;
const PYTHON_INDEX = 1;
export const [CUDA, TENSORFLOW, JAX] = [2, 5, 6];
/** Nor this: the pools of CUDA's allocator. */
export const CUDA_POOLS = 1002;
/** Added to the index of a device whose pools a record counts. */
export const POOLS_FROM = 256;
export const [TIMER, STEP, OOM, END, EXPLICIT] = [1, 2, 3, 4, 5];

function kindOf({ deviceKind, deviceIndex }: RingRecord): number {
  if (deviceKind === HEAP && deviceIndex === PYTHON_INDEX) return PYTHON_HEAP;
  return deviceKind === CUDA && deviceIndex >= POOLS_FROM ? CUDA_POOLS : deviceKind;
}

export const recordsOf = (left: Left, kind: number, reason?: number): readonly RingRecord[] =>
  left.records.filter((record) => kindOf(record) === kind && (reason === undefined || record.reason === reason));

/** (step, value `k`) of the readings at steps. */
export const atSteps = (left: Left, kind: number, k: number): readonly (readonly [number, number])[] =>
  recordsOf(left, kind, STEP).flatMap(({ values }) => {
    const [step, value] = [values[7] ?? null, values[k] ?? null];
    return step === null || value === null ? [] : [[step, value] as const];
  });

/** Least squares. */
export function slope(points: readonly (readonly [number, number])[]): number {
  const n = points.length;
  const [meanX, meanY] = [0, 1].map((at) => points.reduce((sum, point) => sum + (point[at] ?? 0), 0) / n);
  let [over, under] = [0, 0];
  for (const [x, y] of points) {
    over += (x - (meanX ?? 0)) * (y - (meanY ?? 0));
    under += (x - (meanX ?? 0)) ** 2;
  }
  return over / under;
}
