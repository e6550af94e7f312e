import path from "node:path";
import * as v from "valibot";
import { packageRoot } from "../../core/package-root.ts";
import type { HttpLoad } from "../../telemetry/recording/service.ts";
import { launch } from "../launch/launch.ts";
import { OutputTee } from "../launch/output-tee.ts";
import { ProcessTree } from "../launch/process-tree.ts";
import type { CommandEnd, LaunchRequest } from "../launch/start-in-session.ts";
import { endLeftovers } from "../launch/stop-tree.ts";

/** Where the commands beside a service run: as the service does, behind the same wall. */
export interface Beside extends Omit<LaunchRequest, "argv"> {
  /** `NAME=value` of their environment, which no process of the service has. */
  readonly marker: string;
  /** Ends them. */
  readonly signal: AbortSignal;
}

/** How a command beside the service ended, with the end of its output; `aborted` when it was ended. */
export interface BesideEnd {
  readonly end: CommandEnd | { readonly kind: "aborted" };
  readonly output: string;
}

/** Characters kept of an output: the reports of load generators stand at its end. */
const MAX_OUTPUT = 64 * 1024;

/** Run a command beside the service, outside of what is sampled. @throws GateError LAUNCH_FAILED, COMMAND_INVALID */
export async function runBeside(
  argv: readonly string[],
  beside: Beside,
  onLine: (line: string) => void = () => {},
): Promise<BesideEnd> {
  const launched = await launch({ argv, cwd: beside.cwd, env: beside.env, wall: beside.wall });
  let output = "";
  let rest = "";
  const keep = (): ((chunk: Uint8Array) => string) => {
    const decoder = new TextDecoder();
    return (chunk) => {
      const text = decoder.decode(chunk, { stream: true });
      output = (output + text).slice(-MAX_OUTPUT);
      return text;
    };
  };
  const [take, takeErrors] = [keep(), keep()];
  const tees = [
    new OutputTee(
      launched.stdout,
      (chunk) => {
        const lines = (rest + take(chunk)).split("\n");
        rest = (lines.pop() ?? "").slice(-MAX_OUTPUT);
        for (const line of lines) onLine(line);
      },
      null,
    ),
    new OutputTee(launched.stderr, takeErrors, null),
  ];
  const { signal } = beside;
  let abort = (): void => {};
  const aborted = new Promise<{ readonly kind: "aborted" }>((resolve) => {
    abort = () => resolve({ kind: "aborted" });
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) abort();
  });
  launched.send("g");
  const end = await Promise.race([launched.ended, aborted]);
  signal.removeEventListener("abort", abort);
  await endLeftovers(launched, new ProcessTree(launched.rootPid, launched.walled ? null : beside.marker));
  await Promise.all(tees.map((tee) => tee.finish()));
  return { end, output };
}

/** The arguments with which the gate's own generator sends this many requests. */
export const generatorArgv = (requests: number, load: HttpLoad): readonly string[] => [
  process.execPath,
  path.join(packageRoot(), "dist", "load.js"),
  String(requests),
  JSON.stringify(load),
];

const Progress = v.object({
  requests: v.pipe(v.number(), v.integer(), v.minValue(0)),
  failed: v.pipe(v.number(), v.integer(), v.minValue(0)),
  failures: v.array(v.string()),
  seconds: v.number(),
});
export type LoadProgress = v.InferOutput<typeof Progress>;

/** A line of the gate's own generator; null for any other. */
export function progressOf(line: string): LoadProgress | null {
  try {
    const parsed = v.safeParse(Progress, JSON.parse(line));
    return parsed.success ? parsed.output : null;
  } catch {
    return null;
  }
}
