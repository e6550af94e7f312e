import { describe, expect, it } from "vitest";
import { type Frame, lineKey, userFrames } from "../model/frames.ts";
import { sourceOf } from "../pickle/window.ts";
import { readSnapshot } from "../read.ts";
import { type Plain, pickled, tuple } from "../testing/pickle-writer.ts";
import { ownersOf } from "./owners.ts";
import { survivorsByLine } from "./survivors.ts";

const TORCH = "/env/lib/python3.12/site-packages/torch";
const at = (filename: string, line: number, name: string) => ({ filename, line, name });
const main = (line: number) => at("/repo/train.py", line, "main");
const MODULE = at(`${TORCH}/nn/modules/module.py`, 1833, "_call_impl");
const LAYER = [at("/repo/model.py", 27, "forward"), MODULE, main(34)];
const SCORES = [at("/repo/model.py", 26, "forward"), MODULE, main(34)];
const WEIGHT = [at(`${TORCH}/nn/modules/module.py`, 900, "convert"), main(30)];
const BACKWARD = [at(`${TORCH}/autograd/__init__.py`, 300, "backward"), main(35)];
const LEAK = [main(48)];

/** A program's allocations and releases, one after the other. */
class Program {
  readonly #trace: Plain[] = [];
  readonly #live = new Map<number, { frames: readonly Plain[]; size: number }>();
  #next = 1;

  alloc(frames: readonly Plain[], size: number): number {
    const address = this.#next++ * 2 ** 20;
    this.#live.set(address, { frames, size });
    this.#note("alloc", address, size, frames);
    return address;
  }

  free(address: number): void {
    const { frames, size } = this.#live.get(address)!;
    this.#live.delete(address);
    for (const action of ["free_requested", "free_completed"]) this.#note(action, address, size, frames);
  }

  #note(action: string, addr: number, size: number, frames: readonly Plain[]): void {
    this.#trace.push({ action, addr, size, stream: 0, time_us: 1000 * this.#trace.length, frames: [...frames] });
  }

  /** Activations of a forward pass, with temporary memory of each layer. */
  forward(layers: number): readonly number[] {
    return Array.from({ length: layers }, () => {
      const [scores, kept] = [this.alloc(SCORES, 4000), this.alloc(LAYER, 1000)];
      this.free(scores);
      return kept;
    });
  }

  backward(activations: readonly number[]): void {
    for (const one of activations) {
      const gradient = this.alloc(BACKWARD, 500);
      this.free(one);
      this.free(gradient);
    }
  }

  /** The trend of each line, and whether the trace shows one at all. */
  trends(): { readonly conclusive: boolean; readonly lines: Readonly<Record<string, string | null>> } {
    const blocks = [...this.#live].map(([address, { frames, size }]) => {
      return { address, size, requested_size: size, state: "active_allocated", frames: [...frames] };
    });
    const segment = { device: 0, address: 0, total_size: 2 ** 40, stream: 0, segment_pool_id: tuple(0, 0), blocks };
    const snapshot = readSnapshot(sourceOf(pickled({ segments: [segment], device_traces: [this.#trace] })), "s");
    const owners = ownersOf(snapshot.stacks, userFrames({ root: "/repo" }));
    const trace = snapshot.traces[0]!;
    const window = { from: 0, to: trace.length, before: null };
    const { conclusive, lines } = survivorsByLine(snapshot, owners, trace, window, new Float64Array());
    const named = [...lines].map(([line, { trend }]) => [nameOf(owners.lines[line]!.frame), trend]);
    return { conclusive, lines: Object.fromEntries(named) };
  }
}

const nameOf = (frame: Frame): string => lineKey({ ...frame, function: "" }).replaceAll("\0", ":");

describe("what survives in the trace of one snapshot", () => {
  it("one forward pass shows no trend, however many layers add to the same line", () => {
    const program = new Program();
    program.forward(48);
    const { conclusive, lines } = program.trends();
    expect(conclusive).toBe(false);
    expect(Object.values(lines).filter((trend) => trend === "grows")).toEqual([]);
  });

  it("the weights of a model that is loaded show no trend", () => {
    const program = new Program();
    for (let weight = 0; weight < 100; weight++) program.alloc(WEIGHT, 1000);
    expect(program.trends().conclusive).toBe(false);
  });

  it("a line that adds in each of several training steps grows, though a forward pass is under way", () => {
    const program = new Program();
    for (let step = 0; step < 12; step++) {
      const activations = program.forward(8);
      program.alloc(LEAK, 6000);
      program.backward(activations);
    }
    program.forward(8);
    const { conclusive, lines } = program.trends();
    expect(conclusive).toBe(true);
    const growing = Object.entries(lines).flatMap(([line, trend]) => (trend === "grows" ? [line] : []));
    expect(growing).toEqual([expect.stringContaining("train.py:48")]);
  });

  it("a line that adds in each call of a model without gradients grows", () => {
    const program = new Program();
    for (let call = 0; call < 20; call++) {
      const outputs = program.forward(8);
      program.alloc(LEAK, 100);
      for (const one of outputs) program.free(one);
    }
    const { conclusive, lines } = program.trends();
    expect(conclusive).toBe(true);
    expect(Object.entries(lines).find(([, trend]) => trend === "grows")?.[0]).toContain("train.py:48");
  });
});
