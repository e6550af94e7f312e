import { plural } from "../../core/text.ts";
import { formatDuration } from "../../core/units.ts";
import { formatSize, METRIC, metricLabel } from "../../telemetry/recording/metrics.ts";
import type { Check, Judgement } from "../../verdict/model/judgement.ts";
import type { GatePorts } from "../ports/ports.ts";

/** Limits of one invocation, for candidate, confirmation and base runs together. */
interface CostLimits {
  readonly maxRuns: number;
  readonly maxMinutes: number | null;
}

/** Counts runs and time of one scenario against its limits. */
export class Cost {
  readonly #limits: CostLimits;
  readonly #startedMs: number;
  #runs = 0;
  #longestS = 0;

  constructor(limits: CostLimits, nowMs: number) {
    this.#limits = limits;
    this.#startedMs = nowMs;
  }

  get runs(): number {
    return this.#runs;
  }

  add(): void {
    this.#runs += 1;
  }

  /** Records how long a run took, with its analysis. */
  took(seconds: number): void {
    this.#longestS = Math.max(this.#longestS, seconds);
  }

  /**
   * "run 2 of at most 6, at most 13 s": the next run of one kind, of which the rule asks for `most`, if each takes as
   * long as the longest so far.
   */
  forecast(made: number, most: number, nowMs: number): string {
    const left = Math.max(1, Math.min(most - made, this.#limits.maxRuns - this.#runs));
    const seconds = Math.min(left * this.#longestS, this.remainingS(nowMs) ?? Number.POSITIVE_INFINITY);
    const whole = formatDuration(Math.max(1, Math.ceil(seconds))).replace(".0 s", " s");
    return `run ${made + 1} of at most ${made + left}, at most ${whole}`;
  }

  minutes(nowMs: number): number {
    return (nowMs - this.#startedMs) / 60_000;
  }

  /** Maximum duration of another run, seconds; null = no limit, as for the first run, which a verdict needs. */
  remainingS(nowMs: number): number | null {
    const { maxMinutes } = this.#limits;
    if (maxMinutes === null || this.#runs === 0) return null;
    // With no time left a run could not even begin.
    return Math.max(1, (maxMinutes - this.minutes(nowMs)) * 60);
  }

  /**
   * Why no further run is allowed, or null when one is. The first run is always allowed.
   * @param beside the run is made beside the verdict, so that only its time is limited
   */
  exhausted(nowMs: number, beside = false): string | null {
    if (this.#runs === 0) return null;
    if (!beside && this.#runs >= this.#limits.maxRuns)
      return `the limit of ${plural(this.#limits.maxRuns, "run")} is reached`;
    const limit = this.#limits.maxMinutes;
    // Another run may take as long as the longest: do not start one that cannot end in time.
    if (limit !== null && this.minutes(nowMs) + this.#longestS / 60 > limit)
      return `the limit of ${limit} minutes is reached`;
    return null;
  }
}

/** The abort reason of the Action's `timeout-minutes`; every other reason is a cancellation. */
export const OUT_OF_TIME = "timeout-minutes";

/** Whether the gate was cancelled, so that its verdict is not wanted any more. */
export function cancelled(interrupt: AbortSignal): boolean {
  return interrupt.aborted && interrupt.reason !== OUT_OF_TIME;
}

/** Whether the gate ends because its time is over: unlike after a cancellation, verdicts so far are kept. */
export function outOfTime(interrupt: AbortSignal): boolean {
  return interrupt.aborted && interrupt.reason === OUT_OF_TIME;
}

/** Reports what happens next: a line in a log, and on a terminal a status that the next one replaces. */
export function announce(ports: Pick<GatePorts, "log" | "progress">, line: string): void {
  if (ports.progress === null) ports.log(line);
  else ports.progress(line);
}

const named = ({ rank, metric, aspect }: Check): string =>
  `${rank > 0 ? `rank ${rank} ` : ""}${metricLabel(metric)} ${aspect}`;

/** "allocated peak 36.9 MiB is over the limit of 12.0 MiB": the first breach that fails, or that needs runs to warn. */
export function breachText({ checks }: Judgement): string | null {
  const failed = checks.filter(({ gating, verdict }) => gating && verdict === "fail");
  const breaches = failed.length > 0 ? failed : checks.filter((one) => !one.gating && one.needs_more_runs > 0);
  for (const check of breaches) {
    const { candidate_bytes: value, threshold_bytes: limit } = check;
    if (value === null || limit === null) continue;
    return `${named(check)} ${formatSize(check.metric, value)} is over the limit of ${formatSize(check.metric, limit)}`;
  }
  const [first] = breaches;
  return first === undefined
    ? null
    : first.kind === "class"
      ? METRIC[first.metric].isLeftBehind
        ? "files in RAM outlive the command"
        : `${metricLabel(first.metric)} leaks`
      : `${named(first)} fails`;
}
