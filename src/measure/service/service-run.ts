import { closeSync, constants, openSync, writeSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Command } from "../../core/process/command.ts";
import type { Environment } from "../../core/process/environment.ts";
import type { Sampler } from "../../sampler/sampler.ts";
import type { ExitState } from "../../telemetry/recording/model.ts";
import { PROBE_FOLDER } from "../../telemetry/recording/run-files.ts";
import { PORT_PLACE, type RecordedService, type ServicePlan } from "../../telemetry/recording/service.ts";
import { STEP_FILE } from "../environment/probe-environment.ts";
import { MARKER_VARIABLE, scrubEnvironment } from "../environment/scrub-environment.ts";
import type { ProcessTree } from "../launch/process-tree.ts";
import type { Launched, Wall } from "../launch/start-in-session.ts";
import { emptied } from "../launch/stop-tree.ts";
import type { ServiceRequest } from "../session/request.ts";
import { randomId } from "../session/session.ts";
import { collectorLimits } from "./collector-limits.ts";
import { driveService, planAt } from "./drive-service.ts";
import { freePort } from "./ready.ts";

/** Characters of output in which a line is looked for that says that the service is ready. */
const MAX_PRINTED = 256 * 1024;

/** A service that drains its connections before it stops is given this long. */
const MAX_STOP_MS = 10_000;

/** The end of a process is reported within this time of its last answer. */
const DEATH_MS = 500;

/** The file that probes and sampler read steps from; null in a run without. Never through a link. */
function openStepFile(directory: string): number | null {
  try {
    return openSync(path.join(directory, PROBE_FOLDER, STEP_FILE), constants.O_WRONLY | constants.O_NOFOLLOW);
  } catch {
    return null;
  }
}

/** The service of one run: its port, its load, its end. */
export class ServiceRun {
  readonly #plan: ServicePlan;
  readonly #isDecided: ServiceRequest["isDecided"];
  readonly #port: number | null;
  readonly #command: Command;
  readonly #over = new AbortController();
  readonly #stepFd: number | null;
  #driven: Promise<void> | undefined;
  #record: RecordedService;
  #printed = "";

  private constructor({ plan, isDecided }: ServiceRequest, command: Command, port: number | null, directory: string) {
    this.#command = command;
    this.#stepFd = openStepFile(directory);
    this.#plan = port === null ? plan : planAt(plan, port);
    this.#isDecided = isDecided;
    this.#port = port;
    this.#record = { port, rests: [], requests: null, failed: null, failures: [] };
  }

  /**
   * Before the service runs, which may write what stands in its probes' directory.
   * @param command of the service: one of its words, or of the plan's, may stand for a port
   * @param directory of the run
   */
  static async of(request: ServiceRequest, command: Command, directory: string): Promise<ServiceRun> {
    const hasPort = JSON.stringify([request.plan, command]).includes(PORT_PLACE);
    return new ServiceRun(request, command, hasPort ? await freePort() : null, directory);
  }

  /** The arguments with the port in its place. */
  argv(argv: readonly string[]): readonly string[] {
    return argv.map((word) => word.replaceAll(PORT_PLACE, String(this.#port)));
  }

  /** What is known by now. */
  get record(): RecordedService {
    return this.#record;
  }

  /** Takes output of the service, until the line is in it that says that the service is ready. */
  print(chunk: Uint8Array): void {
    const { ready } = this.#plan;
    if (ready.kind !== "line" || this.#printed.includes(ready.text)) return;
    this.#printed = (this.#printed + Buffer.from(chunk).toString("utf8")).slice(-MAX_PRINTED);
  }

  /**
   * Resolves when the load is over and the service is to be stopped; rejects when a load cannot be started.
   * @param caller the gate's environment  @param extra variables of the scenario
   */
  drive(
    { cwd, wall }: { readonly cwd: string; readonly wall: Wall | null },
    caller: Environment,
    extra: Readonly<Record<string, string>>,
    sampler: Pick<Sampler, "live" | "monotonicStartNs">,
  ): Promise<ExitState> {
    const id = randomId();
    const { env } = scrubEnvironment(caller, extra, id);
    const driven = driveService(this.#plan, {
      beside: { cwd, wall, env, marker: `${MARKER_VARIABLE}=${id}`, signal: this.#over.signal },
      elapsedNs: () => Number(process.hrtime.bigint() - sampler.monotonicStartNs),
      heldBytes: () => sampler.live().hostBytes,
      printed: () => this.#printed,
      reached: (requests) => {
        try {
          // A larger number covers the one before it.
          if (this.#stepFd !== null) writeSync(this.#stepFd, String(requests), 0);
        } catch {
          // On a full disk: the rests have the numbers.
        }
      },
      rested: (record) => {
        this.#record = { port: this.#port, ...record };
      },
      isDecided: this.#isDecided,
    });
    this.#driven = driven.then(async (record) => {
      this.#record = { port: this.#port, ...record, limits: collectorLimits(this.#command, env) };
      // A service that has died is what went wrong, not its load.
      if (record.problem !== undefined) await sleep(DEATH_MS, null, { ref: false });
    });
    return this.#driven.then(() => ({ kind: "stopped", signal: this.#plan.stop }));
  }

  /** Ends the load, and waits until it has ended. */
  async finish(): Promise<RecordedService> {
    this.#over.abort();
    await this.#driven?.catch(() => {});
    if (this.#stepFd !== null) closeSync(this.#stepFd);
    return this.#record;
  }

  /** Asks all processes of the service to end. @returns a note when they had to be killed, else null */
  async stop(launched: Launched, tree: ProcessTree): Promise<string | null> {
    launched.send(this.#plan.stop === "SIGINT" ? "i" : "t");
    if (await emptied(tree, MAX_STOP_MS)) return null;
    launched.send("k");
    return `the service did not end within ${MAX_STOP_MS / 1000} s of ${this.#plan.stop} and was killed`;
  }
}
