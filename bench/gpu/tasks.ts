import { type Evidence, type JsonObject, type Outcome, saveEvidence } from "./evidence.ts";

/** Thrown by a measurement that this machine cannot do, however often it is tried. */
class Impossible extends Error {}

export interface Task {
  readonly name: string;
  /** Maximum seconds, roughly; the measurement is not started with less time left. */
  readonly seconds: number;
  /** Tasks of one chain follow each other; several chains may run at the same time. */
  readonly chain?: string;
  run(): Promise<JsonObject>;
}

export interface Schedule {
  readonly evidence: Evidence;
  readonly directory: string;
  readonly tasks: readonly Task[];
  /** `performance.now()` at which the call has to be over. */
  readonly deadline: number;
  /** How many chains run at the same time, after the tasks without one. */
  readonly atOnce: number;
  summarise(evidence: Evidence): JsonObject;
  say(line: string): void;
}

const settled = (one: Outcome | undefined): boolean => one !== undefined && one.status !== "failed";

/**
 * Runs the missing measurements in order while there is time, and saves the document after each. A failed measurement
 * does not prevent the others.
 */
export async function runTasks(schedule: Schedule): Promise<void> {
  const { evidence, directory, tasks, deadline, summarise, say } = schedule;
  evidence.planned = tasks.map(({ name }) => name);
  const before = evidence.seconds;
  const began = performance.now();
  const save = (): void => {
    evidence.complete = tasks.every(({ name }) => settled(evidence.measurements[name]));
    evidence.seconds = before + (performance.now() - began) / 1e3;
    evidence.summary = summarise(evidence);
    saveEvidence(directory, evidence);
  };
  save();
  const attempt = async (task: Task): Promise<void> => {
    if (settled(evidence.measurements[task.name])) return;
    const left = (deadline - performance.now()) / 1e3;
    if (left < task.seconds) {
      say(`${task.name}: left for later, ${left.toFixed(0)} s are too few for it`);
      return;
    }
    const from = performance.now();
    const beside = task.chain !== undefined && schedule.atOnce > 1 ? { at_once: schedule.atOnce } : {};
    const end = () => ({ ended: new Date().toISOString(), seconds: (performance.now() - from) / 1e3, ...beside });
    let outcome: Outcome;
    try {
      const result = await task.run();
      outcome = { status: "measured", ...end(), result };
    } catch (error) {
      const reason = (error instanceof Error ? error.message : String(error)).slice(-2000);
      outcome = { status: error instanceof Impossible ? "impossible" : "failed", ...end(), reason };
    }
    evidence.measurements[task.name] = outcome;
    save();
    const why = outcome.status === "measured" ? "" : ` (${outcome.reason.split("\n").at(-1)})`;
    say(`${task.name}: ${outcome.status} in ${outcome.seconds.toFixed(1)} s${why}`);
  };
  const alone = tasks.filter(({ chain }) => chain === undefined);
  for (const task of alone) await attempt(task);
  const chains = [...new Set(tasks.flatMap(({ chain }) => chain ?? []))];
  const follow = async (): Promise<void> => {
    for (let next = chains.shift(); next !== undefined; next = chains.shift()) {
      for (const task of tasks) if (task.chain === next) await attempt(task);
    }
  };
  await Promise.all(Array.from({ length: schedule.atOnce }, follow));
}
