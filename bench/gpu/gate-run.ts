import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import type { Evidence, JsonObject } from "./evidence.ts";
import { gate, type Machine } from "./machine.ts";
import { keepRecording } from "./recordings.ts";
import { reportFacts } from "./reports.ts";

export interface GateRun {
  readonly evidence: Evidence;
  /** Of the measurement, for a recording that is kept; null keeps none. */
  readonly keep: string | null;
  readonly options: readonly string[];
  readonly command: readonly string[];
  readonly timeoutS: number;
  readonly env?: NodeJS.ProcessEnv;
}

/** Gates a command with `run --json` and summarises the result; `use` reads the bundle before it is deleted. */
export async function gateRun(
  machine: Machine,
  { evidence, keep, options, command, timeoutS, env = machine.env }: GateRun,
  use: (bundle: string) => JsonObject = () => ({}),
): Promise<JsonObject> {
  const bundle = mkdtempSync(path.join(machine.work, "bundle-"));
  try {
    const args = ["run", "--json", "--bundle", bundle, "--base-run", "off", ...options, "--", ...command];
    const ended = await gate(machine, args, { timeoutS, env });
    const report = path.join(bundle, "report.json");
    if (!existsSync(report))
      throw new Error(`the gate ended with ${ended.code} and left no report: ${ended.stderr.slice(-1500)}`);
    const document = JSON.parse(readFileSync(report, "utf8")) as {
      payload?: { scenarios?: { runs?: { directory?: string }[] }[] };
    };
    const directory = document.payload?.scenarios?.[0]?.runs?.[0]?.directory;
    if (keep !== null && directory !== undefined)
      keepRecording(evidence, machine.out, keep, path.join(bundle, directory));
    const said = directory === undefined ? "" : outputOf(path.join(bundle, directory));
    return { exit_code: ended.code, seconds: ended.seconds, said, ...reportFacts(document), ...use(bundle) };
  } finally {
    rmSync(bundle, { recursive: true, force: true });
  }
}

/** The last line that the command printed: its own report. */
function outputOf(directory: string): string {
  const file = path.join(directory, "output.log");
  return existsSync(file) ? (readFileSync(file, "utf8").trim().split("\n").at(-1) ?? "").slice(0, 300) : "";
}
