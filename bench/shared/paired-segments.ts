import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { median } from "simple-statistics";
import { type Interval, ratioInterval } from "./intervals.ts";

/** A program that answers each number of steps on its input with their wall and CPU seconds. */
type Argv = readonly [string, ...string[]];

/** [wall, CPU] seconds. */
type Cost = readonly [number, number];

export interface Training {
  readonly pairs: number;
  readonly segments: number;
  readonly steps: number;
  /** Of a segment without the probe. */
  readonly seconds: number;
  readonly wall: Interval & { readonly ratio: number };
  readonly cpu: Interval & { readonly ratio: number };
}

/** A process that works on request. It is stopped in between, with its threads. */
class Trainer {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #answers: AsyncIterator<string>;

  constructor([program, ...args]: Argv, env: NodeJS.ProcessEnv) {
    this.#child = spawn(program, args, { env, stdio: "pipe" });
    this.#child.stderr.pipe(process.stderr);
    this.#answers = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  async train(steps: number): Promise<Cost> {
    this.#child.kill("SIGCONT");
    this.#child.stdin.write(`${steps}\n`);
    const { value, done } = await this.#answers.next();
    if (done) throw new Error("the measured loop ended early");
    this.#child.kill("SIGSTOP");
    const [wall, cpu] = value.split(" ").map(Number);
    return [wall!, cpu!];
  }

  async end(): Promise<void> {
    this.#child.kill("SIGCONT");
    this.#child.stdin.end();
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, "exit");
  }
}

/**
 * The ratios of one process with the probe to one without, whose short segments take turns: other load affects
 * both.
 */
async function onePair(argv: Argv, envs: readonly NodeJS.ProcessEnv[], steps: number, segments: number) {
  const trainers = envs.map((env) => new Trainer(argv, env));
  const [probe, bare] = trainers as [Trainer, Trainer];
  try {
    // PyTorch's own start, Adam's state, and what the probe loads at first.
    for (const trainer of trainers) await trainer.train(3 * steps);
    const taken: { readonly probe: Cost; readonly bare: Cost }[] = [];
    for (let segment = 0; segment < segments; segment++) {
      const first = segment % 2 === 0 ? probe : bare;
      const [a, b] = [await first.train(steps), await (first === probe ? bare : probe).train(steps)];
      taken.push(first === probe ? { probe: a, bare: b } : { probe: b, bare: a });
    }
    const ratio = (at: 0 | 1): number => Math.exp(median(taken.map((one) => Math.log(one.probe[at] / one.bare[at]))));
    return { wall: ratio(0), cpu: ratio(1), seconds: median(taken.map((one) => one.bare[0])) };
  } finally {
    await Promise.all(trainers.map((trainer) => trainer.end()));
  }
}

/** The time of a program with something loaded against its time without. @param envs with it, without */
export async function training(
  argv: Argv,
  envs: readonly [NodeJS.ProcessEnv, NodeJS.ProcessEnv],
  { pairs, steps, segments }: { readonly pairs: number; readonly steps: number; readonly segments: number },
): Promise<Training> {
  const found = [];
  for (let pair = 0; pair < pairs; pair++) found.push(await onePair(argv, envs, steps, segments));
  const of = (ratios: readonly number[]) => ratioInterval(ratios.map((ratio) => [ratio, 1] as const));
  return {
    pairs,
    segments,
    steps,
    seconds: median(found.map(({ seconds }) => seconds)),
    wall: of(found.map(({ wall }) => wall)),
    cpu: of(found.map(({ cpu }) => cpu)),
  };
}
