import { setTimeout as sleep } from "node:timers/promises";
import { oneLine } from "../../core/text.ts";
import { formatDuration, MIB } from "../../core/units.ts";
import {
  type HttpLoad,
  MAX_CYCLES,
  PORT_PLACE,
  type RecordedService,
  type ServicePlan,
} from "../../telemetry/recording/service.ts";
import { argvOf } from "../session/request.ts";
import { type LoadReport, readReport } from "./load-report.ts";
import { becomesReady } from "./ready.ts";
import { type Beside, type BesideEnd, generatorArgv, type LoadProgress, progressOf, runBeside } from "./run-load.ts";

/** What a driven service is seen by. */
export interface DrivenService {
  readonly beside: Beside;
  /** On the recording's clock. */
  readonly elapsedNs: () => number;
  /** What the service holds now, bytes. */
  readonly heldBytes: () => number | null;
  /** The end of its output. */
  readonly printed: () => string;
  /** The number of requests so far has become known. */
  readonly reached: (requests: number) => void;
  /** A rest is over: the record so far. */
  readonly rested: (record: Omit<RecordedService, "port">) => void;
  /** Whether the levels held at rest decide, so that no further cycle is needed. */
  readonly isDecided: (levels: readonly number[]) => boolean;
}

type Problem = NonNullable<RecordedService["problem"]>;

/** Seconds in which a service must take requests: models are loaded and code is compiled before. */
const MAX_START_S = 120;
/** The warm-up sends this many requests, then twice as many, …, up to those of a cycle. */
const FIRST_REQUESTS = 10;
/**
 * A service that gains this much in two such blocks one after the other, the second not larger than the first, is
 * measured in cycles of that size: with more requests it would be out of memory before the answer.
 */
const MAX_BLOCK_BYTES = 24 * MIB;
/**
 * A larger share of failed requests measures how errors are answered. At this one a failed request would have to leave
 * a hundred times as much as another to double what is seen. One alone may be of a service that has only just started.
 */
const MAX_FAILED_SHARE = 0.01;
const MAX_FAILED_ALONE = 1;
const MAX_FAILURES = 3;
/** Requests of a cycle where their number is not given; fewer, where so many take longer than this. */
const MAX_USUAL_REQUESTS = 2000;
const MAX_CYCLE_S = 10;
/** Hours of load are refused once the speed is known, from this time of warm-up on. */
const MAX_LOAD_S = 2 * 3600;
const MIN_TIMED_S = 1;

/** A plan with the port in its place. */
export function planAt(plan: ServicePlan, port: number): ServicePlan {
  // Texts of the configuration: quotes and backslashes of a port's digits need no escape.
  return JSON.parse(JSON.stringify(plan).replaceAll(PORT_PLACE, String(port)));
}

const sum = (a: number | null, b: number | null): number | null => (a === null || b === null ? null : a + b);

function lastLines(output: string): string {
  const lines = output.trim().split("\n").slice(-3);
  return lines.map((line) => line.trim()).join(" / ");
}

const hasErrors = ({ requests, failed }: Pick<LoadReport, "requests" | "failed">): boolean =>
  failed !== null && requests !== null && failed > Math.max(MAX_FAILED_ALONE, MAX_FAILED_SHARE * requests);

class LoadProblem extends Error {
  readonly problem: Problem;

  constructor(code: string, message: string, hint: string | null = null) {
    super(message);
    this.problem = { code, message, hint };
  }
}

/** How a command beside the service failed; null when it did not, or was ended. */
function failureOf(end: BesideEnd["end"]): string | null {
  switch (end.kind) {
    case "aborted":
      return null;
    case "exited":
      return end.code === 0 ? null : `exited with status ${end.code}`;
    case "signaled":
      return `was ended by ${end.signal}`;
    case "exec-failed":
      return `cannot be started (${end.errno})`;
    case "lost":
      return "was lost";
  }
}

/** Puts a started service under load, cycle after cycle, until the decision can be made or something is wrong. */
export async function driveService(plan: ServicePlan, service: DrivenService): Promise<Omit<RecordedService, "port">> {
  const drive = new Drive(plan, service);
  try {
    await drive.run();
    return drive.record();
  } catch (error) {
    if (!(error instanceof LoadProblem)) throw error;
    return { ...drive.record(), problem: error.problem };
  }
}

class Drive {
  readonly #plan: ServicePlan;
  readonly #service: DrivenService;
  readonly #rests: RecordedService["rests"][number][] = [];
  readonly #levels: number[] = [];
  readonly #failures: string[] = [];
  #requests: number | null = 0;
  #failed: number | null = 0;
  /** Since the last rest. */
  #loadS = 0;

  constructor(plan: ServicePlan, service: DrivenService) {
    this.#plan = plan;
    this.#service = service;
  }

  record(): Omit<RecordedService, "port"> {
    return { rests: this.#rests, requests: this.#requests, failed: this.#failed, failures: this.#failures };
  }

  async run(): Promise<void> {
    const { load, cycles } = this.#plan;
    await this.#start();
    const requests = load.kind === "http" ? await this.#warmUp(load.http, load.requests) : 0;
    if (load.kind === "command") await this.#load(requests);
    await this.#rest();
    for (let done = 0; done < (cycles ?? MAX_CYCLES); done++) {
      if (cycles === null && this.#service.isDecided(this.#levels)) return;
      await this.#load(requests);
      await this.#rest();
    }
  }

  get #isOver(): boolean {
    return this.#service.beside.signal.aborted;
  }

  async #start(): Promise<void> {
    const { signal } = this.#service.beside;
    const limit = AbortSignal.any([signal, AbortSignal.timeout(MAX_START_S * 1000)]);
    const isReady = await becomesReady(this.#plan.ready, this.#service.printed, limit);
    if (isReady || signal.aborted) return;
    const { ready } = this.#plan;
    const sign = { url: "answer at", port: "take connections at port", line: "print" }[ready.kind];
    const what = ready.kind === "url" ? ready.url : ready.kind === "port" ? ready.port : `"${ready.text}"`;
    throw new LoadProblem(
      "SERVICE_NOT_READY",
      `the service did not ${sign} ${what} within ${MAX_START_S} s of its start`,
      "Its output is in output.log of the run's directory. `ready` in the scenario says what is waited for.",
    );
  }

  /** @returns the requests of a cycle */
  async #warmUp(http: HttpLoad, given: number | null): Promise<number> {
    const requests = given ?? MAX_USUAL_REQUESTS;
    let wasLarge: number | null = null;
    for (let size = Math.min(FIRST_REQUESTS, requests); !this.#isOver; ) {
      const held = this.#service.heldBytes();
      const beforeS = this.#loadS;
      await this.#load(size);
      const after = this.#service.heldBytes();
      const isLarge = held !== null && after !== null && after - held > MAX_BLOCK_BYTES;
      if (isLarge && wasLarge === size) return size;
      if (size === requests || (given === null && 2 * (this.#loadS - beforeS) > MAX_CYCLE_S)) return size;
      if (given !== null) this.#refuseHours(requests, http);
      wasLarge = isLarge ? size : null;
      // One that has grown much is sent once more: a first request loads code and data, and workers may still start.
      if (isLarge) await this.#pause();
      else size = Math.min(2 * size, requests);
    }
    return requests;
  }

  #refuseHours(requests: number, { concurrency }: HttpLoad): void {
    const tookS = this.#loadS;
    const sent = this.#requests ?? 0;
    if (tookS < MIN_TIMED_S || sent < FIRST_REQUESTS) return;
    const all = requests * (this.#plan.cycles ?? MAX_CYCLES);
    const wouldS = (all * tookS) / sent;
    if (wouldS <= MAX_LOAD_S) return;
    throw new LoadProblem(
      "SERVICE_TOO_SLOW",
      `at ${(sent / tookS).toPrecision(2)} requests a second, ${all} requests would take ${formatDuration(wouldS)}`,
      `Write a smaller \`requests\` into the scenario's service, or a higher \`concurrency\` (${concurrency} now).`,
    );
  }

  /** The load of one cycle; this many requests, where the gate's own generator sends them. */
  async #load(requests: number): Promise<void> {
    if (this.#isOver) return;
    const { load } = this.#plan;
    const before = this.#requests;
    if (load.kind === "command") {
      const beganNs = this.#service.elapsedNs();
      const ended = await runBeside(argvOf(load.command), this.#service.beside);
      const seconds = (this.#service.elapsedNs() - beganNs) / 1e9;
      this.#checkEnd(ended, "the load", "SERVICE_LOAD_FAILED");
      this.#take({ ...readReport(ended.output, load.pattern), failures: [lastLines(ended.output)], seconds });
      return;
    }
    let last: LoadProgress | null = null;
    const argv = generatorArgv(requests, load.http);
    const ended = await runBeside(argv, this.#service.beside, (line) => {
      last = progressOf(line) ?? last;
      if (last !== null && before !== null) this.#service.reached(before + last.requests);
    });
    if (this.#isOver) return;
    this.#checkEnd(ended, "the load generator", "SERVICE_LOAD_FAILED");
    const report: LoadProgress | null = last;
    if (report === null) throw new LoadProblem("SERVICE_LOAD_FAILED", "the load generator reported nothing");
    this.#take(report);
  }

  #take(report: LoadReport): void {
    const { requests, failed } = report;
    this.#requests = sum(this.#requests, requests);
    if (this.#requests !== null) this.#service.reached(this.#requests);
    this.#failed = sum(this.#failed, failed);
    this.#loadS += report.seconds;
    const failures = (failed ?? 0) > 0 ? report.failures.map(oneLine) : [];
    this.#failures.push(...failures.slice(0, MAX_FAILURES - this.#failures.length));
    const all = { requests: this.#requests, failed: this.#failed };
    const judged = [report, all].find((one) => hasErrors(one));
    if (judged === undefined) return;
    throw new LoadProblem(
      "SERVICE_ERRORS",
      `${judged.failed} of ${judged.requests} requests failed: ${this.#failures.join("; ")}`,
      "What errors leave in memory is not what requests leave: mend the request of `load`, or the service.",
    );
  }

  #checkEnd({ end, output }: BesideEnd, what: string, code: string): void {
    const how = failureOf(end);
    if (how === null) return;
    const said = lastLines(output);
    throw new LoadProblem(code, oneLine(`${what} ${how}${said && `: ${said}`}`));
  }

  async #pause(): Promise<void> {
    await sleep(this.#plan.restS * 1000, null, { signal: this.#service.beside.signal }).catch(() => null);
  }

  /** Without load: what is held now is what a cycle leaves. */
  async #rest(): Promise<void> {
    const { reset } = this.#plan;
    if (this.#isOver) return;
    if (reset !== null)
      this.#checkEnd(await runBeside(argvOf(reset), this.#service.beside), "`reset`", "SERVICE_RESET_FAILED");
    const beganNs = this.#service.elapsedNs();
    await this.#pause();
    if (this.#isOver) return;
    this.#rests.push({
      at_ns: [beganNs, this.#service.elapsedNs()],
      requests: this.#requests,
      load_s: Number(this.#loadS.toFixed(3)),
    });
    this.#loadS = 0;
    this.#service.rested(this.record());
    const held = this.#service.heldBytes();
    if (held !== null) this.#levels.push(held);
  }
}
