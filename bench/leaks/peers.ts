import { spawnSync } from "node:child_process";
import path from "node:path";
import * as v from "valibot";
import { oneLine } from "../../src/core/text.ts";
import { type Project, sourceOf } from "./environments.ts";
import { matchLine, type Result, type Tool } from "./outcome.ts";
import { callsOf, type Pair, type Size } from "./pairs.ts";

const TIMEOUT_MS = 300_000;
const PythonSchema = v.object({ red: v.boolean(), line: v.nullable(v.string()) });
const NodeSchema = v.object({ before: v.number(), after: v.number() });

interface Answer {
  readonly red: boolean;
  readonly line: string | null;
}

/** The innermost line of Python in the first location that pytest-memray reports, or null where no test leaked. */
export function memrayLine(output: string): Answer {
  const [, first = ""] = /allocated here:\s+([\s\S]*?)(?:\n\s*- |\n\s*\n|$)/.exec(output) ?? [];
  const [, line] = /:([^:\n]+\.py:\d+)/.exec(first) ?? [];
  return { red: /allowed to leak/.test(output), line: line ?? null };
}

/** What a tool prints, as its answer, or null where it did not finish. */
function answerOf(pair: Pair, tool: Tool, status: number | null, stdout: string): Answer | null {
  // One test failed: it leaks, or it has an error of its own.
  if (tool === "pytest-memray")
    return status === 0 || (status === 1 && /allowed to leak/.test(stdout)) ? memrayLine(stdout) : null;
  if (status !== 0) return null;
  const printed: unknown = JSON.parse(stdout.trim().split("\n").at(-1) ?? "");
  if (pair.runtime === "python") return v.parse(PythonSchema, printed);
  const { before, after } = v.parse(NodeSchema, printed);
  return { red: after > 1.1 * before, line: null };
}

/** One judgement of a project by another tool, of as many calls as the gate's. */
export function judgeByPeer(pair: Pair, project: Project, tool: Tool, size: Size, tools: string): Result {
  const calls = String(callsOf(pair, size));
  const python =
    tool === "pytest-memray"
      ? [
          "-m",
          "pytest",
          "-q",
          "-p",
          "no:cacheprovider",
          "--memray",
          "--trace-python-allocators",
          "--stacks=20",
          "test_leaks.py",
        ]
      : ["peers.py", tool, calls];
  const args = pair.runtime === "python" ? python : ["pace.cjs", calls, "rss"];
  const began = performance.now();
  const { status, stdout, stderr } = spawnSync(project.interpreter, args, {
    cwd: project.directory,
    encoding: "utf8",
    timeout: TIMEOUT_MS,
    maxBuffer: 2 ** 26,
    env: { ...process.env, PYTHONPATH: tools, PYTHONDONTWRITEBYTECODE: "1", BENCH_CALLS: calls },
  });
  const answer = answerOf(pair, tool, status, stdout);
  if (answer === null)
    return {
      kind: "skipped",
      why: `${tool} ended with ${status ?? "a signal"}: ${oneLine((stderr || stdout).slice(-200))}`,
    };
  const line =
    answer.line === null ? null : path.posix.relative(project.directory, path.resolve(project.directory, answer.line));
  return {
    kind: "judged",
    red: answer.red,
    answer: answer.red ? `red${line === null ? "" : `, ${line}`}` : "green",
    line,
    match: matchLine(line, sourceOf(pair), pair),
    package_named: false,
    growth_bytes: null,
    minutes: (performance.now() - began) / 60_000,
  };
}

/** The tool judges programs of this runtime. */
export const judges = (tool: Tool, { runtime }: Pair): boolean =>
  runtime === "python" || ["gate", "gate-baseline", "rss"].includes(tool);
