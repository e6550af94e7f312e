/**
 * What other tools cost and report on the same programs in the same run: time against the bare program, error of the
 * peak for 1 GiB that is held for 20 ms and for 64 short children, bytes that they leave. Usage: npm run bench:peers
 * [-- --json] [--publish] [--rounds N] [--only PART-OF-NAME]. Installs the packages into a directory that it removes;
 * where the registry cannot be reached, they are skipped. It has no limits: it compares. Children that were forked
 * share pages of their parent, which a sum over processes counts in each of them.
 */

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { median } from "simple-statistics";
import { type Result, shownNumber } from "../shared/figures.ts";
import { ratioInterval } from "../shared/intervals.ts";
import { conclude, PUBLISH_OPTIONS } from "../shared/publish.ts";
import { type Tool, tools } from "./tools.ts";

const PACKAGES = ["psrecord", "memory-profiler", "memray", "pytest-memray", "traceml-ai", "stormlog"];
const INSTALL_TIMEOUT_MS = 300_000;
const RUN_TIMEOUT_MS = 120_000;
const MIB = 2 ** 20;

const { values } = parseArgs({
  options: { ...PUBLISH_OPTIONS, rounds: { type: "string", default: "5" }, only: { type: "string", default: "" } },
});

const directory = mkdtempSync(path.join(tmpdir(), "gate-peers-bench-"));
const own = (name: string): string => fileURLToPath(new URL(`programs/${name}.py`, import.meta.url));
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(STORMLOG_|PYTHON|CI$)/.test(name)));

/** Directory of the installed programs, and why packages are missing. */
function install(): { readonly bin: string; readonly missing: string | null } {
  const venv = path.join(directory, "venv");
  const bin = path.join(venv, "bin");
  if (spawnSync("python3", ["-m", "venv", venv]).status !== 0) return { bin: "", missing: "python3 makes no venv" };
  const { status, stderr } = spawnSync(path.join(bin, "pip"), ["install", "--quiet", ...PACKAGES], {
    encoding: "utf8",
    timeout: INSTALL_TIMEOUT_MS,
  });
  return {
    bin,
    missing: status === 0 ? null : `the packages cannot be installed (${stderr.trim().split("\n").at(-1)})`,
  };
}

function bytesBelow(place: string): number {
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(path.join(entry.parentPath, entry.name)).size, 0);
}

interface Run {
  readonly seconds: number;
  readonly peak: number | null;
  readonly bytes: number;
}

function run({ argv, env: more, peak }: Tool, program: string): Run {
  const work = path.join(directory, "work");
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work);
  const [file = "", ...args] = argv(program, work);
  const began = performance.now();
  const { status, stdout, stderr } = spawnSync(file, args, {
    cwd: work,
    env: { ...env, ...more?.(program) },
    encoding: "utf8",
    timeout: RUN_TIMEOUT_MS,
  });
  const seconds = (performance.now() - began) / 1e3;
  if (status !== 0) throw new Error(`${[file, ...args].join(" ")} ended with ${status}: ${stderr.slice(-300)}`);
  return { seconds, bytes: bytesBelow(work), peak: peak({ directory: work, text: stdout + stderr }) };
}

/** What the tool reports less what the program held, in percent of it; the interpreter has 8 MiB of its own. */
function error(tool: Tool, program: string, held: number, rounds: number): string {
  const peaks = Array.from({ length: rounds }, () => run(tool, program).peak);
  const known = peaks.filter((peak): peak is number => peak !== null);
  if (known.length === 0) return "none reported";
  const truth = held + 8 * MIB;
  const percent = known.map((peak) => (100 * (peak - truth)) / truth);
  const shown = (value: number): string => `${value > 0 ? "+" : ""}${shownNumber(value)} %`;
  return `${shown(median(percent))} (${shown(Math.min(...percent))} to ${shown(Math.max(...percent))})`;
}

function compare(tool: Tool, bare: Tool, rounds: number): Result {
  try {
    const pairs: (readonly [number, number])[] = [];
    let bytes = 0;
    for (let round = 0; round < rounds; round++) {
      const ours = (): Run => run(tool, own("work"));
      const first = Math.random() < 0.5 ? ours() : null;
      const nothing = run(bare, own("work"));
      const taken = first ?? ours();
      bytes = taken.bytes;
      pairs.push([taken.seconds, nothing.seconds]);
    }
    const { ratio, ...interval } = ratioInterval(pairs);
    const more = {
      "peak of 1 GiB for 20 ms": error(tool, own("spike"), 1024 * MIB, rounds),
      "peak of 64 children": error(tool, own("children"), 512 * MIB, rounds),
      leaves: `${shownNumber(bytes / 1e3)} kB`,
    };
    return { name: tool.name, value: ratio, interval, limit: null, unit: "", more };
  } catch (cause) {
    return { name: tool.name, skipped: cause instanceof Error ? (cause.message.split("\n")[0] ?? "") : String(cause) };
  }
}

try {
  const { bin, missing } = install();
  const rounds = Number(values.rounds);
  const bare: Tool = { name: "bare", argv: (program) => [path.join(bin, "python"), program], peak: () => null };
  const results: Result[] = [];
  for (const tool of tools(bin)) {
    if (!tool.name.includes(values.only)) continue;
    const [program = ""] = tool.argv(own("work"), directory);
    if (existsSync(program)) results.push(compare(tool, bare, rounds));
    else results.push({ name: tool.name, skipped: missing ?? `${program} is not installed` });
    if (!values.json) console.error(`${tool.name} done`);
  }
  const title = `Other tools on the same programs: time against the bare program, ${rounds} rounds`;
  process.exitCode = conclude({ bench: "peers", title, results }, values);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
