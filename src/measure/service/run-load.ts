import path from "node:path";
import * as v from "valibot";
import { packageRoot } from "../../core/package-root.ts";
import type { HttpLoad } from "../../telemetry/recording/service.ts";
import { launch } from "../launch/launch.ts";
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
  for (const stream of [launched.stdout, launched.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (text: string) => {
      output = (output + text).slice(-MAX_OUTPUT);
      if (stream !== launched.stdout) return;
      const lines = (rest + text).split("\n");
      rest = (lines.pop() ?? "").slice(-MAX_OUTPUT);
      for (const line of lines) onLine(line);
    });
  }
  const closed = Promise.all(
    [launched.stdout, launched.stderr].map((stream) => new Promise((resolve) => stream.once("close", resolve))),
  );
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
  for (const stream of [launched.stdout, launched.stderr]) stream.once("end", () => stream.destroy());
  // All writers have ended, so the rest arrives at once.
  await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, 500).unref())]);
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
