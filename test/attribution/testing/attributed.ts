import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { attributionEvidence } from "../../../src/attribution/run/attribution-evidence.ts";
import { type AttributionTimes, attributionEnvironment } from "../../../src/attribution/run/attribution-plan.ts";
import { packageRoot } from "../../../src/core/package-root.ts";
import { probeEnvironment } from "../../../src/measure/environment/probe-environment.ts";
import { PUT_ASIDE_PRELOAD } from "../../../src/measure/environment/scrub-environment.ts";
import { type Attribution, attribute, type ProcessEvidence } from "../../../src/snapshot/growth/attribution.ts";
import { userFrames } from "../../../src/snapshot/model/frames.ts";

/** Debian's Python, whose PyTorch is the one that CI installs; another Python can be selected. */
export const PYTHON = process.env.STORMLOG_TEST_TORCH_PYTHON ?? "/usr/bin/python3";
export const hasTorch = existsSync(PYTHON) && spawnSync(PYTHON, ["-c", "import torch"]).status === 0;

const glibc = (process.report.getReport() as { header?: { glibcVersionRuntime?: string } }).header?.glibcVersionRuntime;
const [, minor = "0"] = /^2[.](\d+)/.exec(glibc ?? "") ?? [];
/** Whether the preloaded library finds stacks here: it needs `_dl_find_object`. */
export const isSampled = process.platform === "linux" && Number(minor) >= 35;

export const FIXTURES = fileURLToPath(new URL("../fixtures", import.meta.url));
export const STAND_INS = fileURLToPath(new URL("../stand-ins", import.meta.url));

export interface Attributed {
  readonly attribution: Attribution;
  readonly processes: readonly ProcessEvidence[];
  readonly notes: readonly string[];
  /** The run's directory, until the test ends. */
  readonly directory: string;
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Options {
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** End the command once this many snapshots are written, each at `fromStep` or later where that is given. */
  readonly endAfterMoments?: number;
  readonly fromStep?: number;
}

/** A command that ended in a run directory, which is there until the test ends. */
interface Ended {
  readonly directory: string;
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Run a command as an attribution run with these variables does. */
export async function inRunDirectory(
  command: readonly [string, ...string[]],
  wanted: Readonly<Record<string, string>>,
  options: Options = {},
): Promise<Ended> {
  const directory = mkdtempSync(path.join(tmpdir(), "gate-attribution-test-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const probe = path.join(directory, "probe");
  mkdirSync(probe);
  // The probes count the run's time from it.
  writeFileSync(path.join(directory, "recording.json"), "{}");
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && !/^(?:STORMLOG_GATE_|PYTHON|NODE_OPTIONS|VITEST)/.test(entry[0]),
    ),
  );
  const { env: own } = probeEnvironment({ ...inherited, ...options.env, ...wanted }, probe, true);
  const env = {
    ...own,
    // As the launcher sets it for the command.
    ...(own[PUT_ASIDE_PRELOAD] === undefined ? {} : { LD_PRELOAD: own[PUT_ASIDE_PRELOAD] }),
    PYTHONDONTWRITEBYTECODE: "1",
    // Two cores are shared with other tests.
    OMP_NUM_THREADS: "1",
  };
  const [executable, ...args] = command;
  const child = spawn(executable, args, { cwd: directory, env, stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => {
    clearInterval(watch);
    child.kill("SIGKILL");
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), options.timeoutMs ?? 120_000);
  const document = wanted.STORMLOG_GATE_ATTRIBUTE === "peak" ? /\.native\.\d+\.json$/ : /\.lines\.\d+.*\.json$/;
  const stepOf = (name: string): string | undefined =>
    /"step": ?(\d+)/.exec(readFileSync(path.join(probe, name), "utf8"))?.[1];
  const isCounted = (name: string): boolean =>
    document.test(name) && (options.fromStep === undefined || Number(stepOf(name) ?? -1) >= options.fromStep);
  const written = (): number => readdirSync(probe).filter(isCounted).length;
  const watch = setInterval(() => {
    if (written() >= (options.endAfterMoments ?? Number.POSITIVE_INFINITY)) child.kill("SIGKILL");
  }, 100);
  const texts = [child.stdout, child.stderr].map(async (stream) => {
    const parts: Buffer[] = [];
    for await (const part of stream) parts.push(part as Buffer);
    return Buffer.concat(parts).toString();
  });
  const code = await new Promise<number | null>((resolve, reject) => child.on("error", reject).on("close", resolve));
  clearTimeout(timer);
  clearInterval(watch);
  const [stdout = "", stderr = ""] = await Promise.all(texts);
  return { directory, code, stdout, stderr };
}

/** Run a command with attribution on, and read what its processes wrote down as the gate does. */
export async function attributed(
  command: readonly [string, ...string[]],
  moments: AttributionTimes,
  options: Options = {},
): Promise<Attributed> {
  const node = path.join(packageRoot(), "probe", "node", "attribute.cjs");
  const ended = await inRunDirectory(command, attributionEnvironment(moments, node, undefined), options);
  const isUserFrame = userFrames({ root: packageRoot(), exclude: [path.join(packageRoot(), "probe")] });
  const { processes, notes } = attributionEvidence(ended.directory, isUserFrame);
  return { attribution: attribute(processes, { isUserFrame }), processes, notes, ...ended };
}

/** First and last line of the part of a fixture between "leak begins" and "leak ends". */
export function leakyBlock(file: string): { readonly first: number; readonly last: number } {
  const lines = readFileSync(file, "utf8").split("\n");
  const at = (words: string): number => lines.findIndex((line) => line.includes(words)) + 1;
  return { first: at("leak begins"), last: at("leak ends") };
}
