import { type Evidence, type JsonObject, type Outcome, saveEvidence } from "./evidence.ts";

/** Thrown by a measurement that this machine cannot do, however often it is tried. */
export class Impossible extends Error {}

export interface Task {
  readonly name: string;
  /** Maximum seconds, roughly; the measurement is not started with less time left. */
  readonly seconds: number;
  run(): Promise<JsonObject>;
}

export interface Schedule {
  readonly evidence: Evidence;
  readonly directory: string;
  readonly tasks: readonly Task[];
  /** `performance.now()` at which the call has to be over. */
  readonly deadline: number;
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
  for (const task of tasks) {
    if (settled(evidence.measurements[task.name])) continue;
    const left = (deadline - performance.now()) / 1e3;
    if (left < task.seconds) {
      say(`${task.name}: left for later, ${left.toFixed(0)} s are too few for it`);
      continue;
    }
    const from = performance.now();
    const end = () => ({ ended: new Date().toISOString(), seconds: (performance.now() - from) / 1e3 });
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
  }
}
