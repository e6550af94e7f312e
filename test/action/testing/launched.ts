import { Job } from "./job.ts";
import { runStepFile, type StepResult } from "./mini-runner.ts";

/** A step to run: its job's environment, and its inputs. */
export interface Launch {
  readonly apiUrl: string;
  readonly resultsUrl: string | null;
  readonly pullRequest: number;
  readonly token: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly inputs?: Readonly<Record<string, string>>;
  readonly clock?: number;
}

export interface Launched {
  readonly result: StepResult;
  readonly job: Job;
}

/**
 * Starts steps side by side, a few at a time: most of a failure's time is waiting, and a test that waited for one
 * after the other would take minutes.
 */
export class Launcher {
  readonly #node: string;
  readonly #script: string;
  readonly #jobs: Job[] = [];
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(node: string, script: string, atOnce: number) {
    this.#node = node;
    this.#script = script;
    this.#free = atOnce;
  }

  async run(launch: Launch): Promise<Launched> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free -= 1;
    const head = "a".repeat(40);
    const job = new Job(launch.apiUrl, launch.resultsUrl).pullRequest(launch.pullRequest, head);
    this.#jobs.push(job);
    try {
      const result = await runStepFile({
        node: this.#node,
        script: this.#script,
        cwd: job.directory,
        env: { ...job.env, ...launch.env },
        inputs: { token: launch.token, run: "fail", ...launch.inputs },
        ...(launch.clock === undefined ? {} : { clock: launch.clock }),
      });
      return { result, job };
    } finally {
      this.#release();
    }
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }

  remove(): void {
    for (const job of this.#jobs) job.remove();
  }
}
