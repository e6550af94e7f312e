/**
 * How long after a command's end the verdict is printed, and the files are complete, for a run at default rates.
 * Usage: npm run bench:ending [-- --json] [--publish] [--seconds S] [--rounds N]. Exits 1 when a limit is missed.
 */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { packageRoot } from "../../src/core/package-root.ts";
import type { Figure } from "../shared/figures.ts";
import { medianInterval } from "../shared/intervals.ts";
import { conclude, PUBLISH_OPTIONS } from "../shared/publish.ts";

/** Milliseconds from the command's end to the printed verdict, and from there to the gate's exit. */
const LIMIT_VERDICT_MS = 150;
const LIMIT_FILES_MS = 1000;
/** What the first line of a verdict contains. */
const VERDICT = /\b(PASS|WARN|FAIL|UNJUDGED)\b/;

const { values } = parseArgs({
  options: { ...PUBLISH_OPTIONS, seconds: { type: "string", default: "60" }, rounds: { type: "string", default: "5" } },
});

interface Ending {
  readonly verdictMs: number;
  readonly filesMs: number;
  readonly picturesMs: number;
}

const own = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const directory = mkdtempSync(path.join(tmpdir(), "gate-ending-bench-"));
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(STORMLOG_|CI$|GITHUB_)/.test(name)));
const now = (): number => performance.timeOrigin + performance.now();

async function one(): Promise<Ending> {
  const [bundle, ended] = [path.join(directory, "bundle"), path.join(directory, "ended")];
  const script = `"$0" "$1" ${Number(values.seconds)}; date +%s%N > "$2"`;
  const command = ["sh", "-c", script, process.execPath, own("minute.cjs"), ended];
  const args = [path.join(packageRoot(), "dist/cli.js"), "run", "--bundle", bundle, "--", ...command];
  const gate = spawn(process.execPath, args, { cwd: directory, env, stdio: ["ignore", "pipe", "inherit"] });
  let verdictAt = Number.NaN;
  gate.stdout.on("data", (chunk: Buffer) => {
    if (Number.isNaN(verdictAt) && VERDICT.test(chunk.toString())) verdictAt = now();
  });
  await once(gate, "exit");
  const exitAt = now();
  const endedAt = Number(readFileSync(ended, "utf8")) / 1e6;
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", "tsx", own("bare-pictures.ts"), bundle], {
    cwd: packageRoot(),
  });
  return { verdictMs: verdictAt - endedAt, filesMs: exitAt - verdictAt, picturesMs: Number(stdout) };
}

try {
  const taken: Ending[] = [];
  for (let round = 0; round < Number(values.rounds); round++) taken.push(await one());
  const figure = (name: string, of: (ending: Ending) => number, limit: number | null): Figure => {
    const { median, ...interval } = medianInterval(taken.map(of));
    return { name, value: median, interval, limit, unit: "ms" };
  };
  const results = [
    figure("from the command's end to the printed verdict", ({ verdictMs }) => verdictMs, LIMIT_VERDICT_MS),
    figure("from the verdict to the last file", ({ filesMs }) => filesMs, LIMIT_FILES_MS),
    figure("a bare render of the same two pictures", ({ picturesMs }) => picturesMs, null),
  ];
  const title = `The end of a run of ${values.seconds} s, ${values.rounds} runs`;
  process.exitCode = conclude({ bench: "ending", title, results }, values);
} finally {
  rmSync(directory, { recursive: true, force: true });
}
