import { describe, expect, it } from "vitest";
import { userFrames } from "../model/frames.ts";
import { sourceOf } from "../pickle/window.ts";
import { readSnapshot } from "../read.ts";
import { type Plain, pickled, tuple } from "../testing/pickle-writer.ts";
import { ownersOf } from "./owners.ts";
import { peakCompositions } from "./peak-composition.ts";

const MIB = 2 ** 20;
const TORCH = "/env/lib/python3.12/site-packages/torch";
const at = (filename: string, line: number, name: string) => ({ filename, line, name });
const main = (line: number) => at("/repo/train.py", line, "<module>");
const MODULE = at(`${TORCH}/nn/modules/module.py`, 1833, "_call_impl");
const FORWARD = [at("/repo/model.py", 27, "forward"), MODULE, main(34)];
const BACKWARD = [at(`${TORCH}/autograd/__init__.py`, 300, "backward"), main(35)];
const CHECKPOINT = [...FORWARD.slice(0, 2), at(`${TORCH}/autograd/function.py`, 320, "apply")];
const INPUT = [main(33)];
/** Stacks as PyTorch records them by default: what it called in C++ below Python, and the start of the thread above. */
const unwound = at("??", 0, "torch::unwind::unwind()");
const inMain = (frames: readonly Plain[]) => [
  unwound,
  at("??", 0, "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(signed char, unsigned long)"),
  ...frames,
  at("../sysdeps/x86_64/start.S", 0, "_start"),
];
const inEngine = (frames: readonly Plain[]) => [
  unwound,
  ...frames,
  at("??", 0, "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)"),
  at("thread48.o", 0, "execute_native_thread_routine"),
  at("./misc/../sysdeps/unix/sysv/linux/x86_64/clone3.S", 81, "__clone3"),
];

type Entry = readonly [action: "alloc" | "free", block: number, frames?: readonly Plain[], mib?: number];

/** As PyTorch records with `context="alloc"`: a release has the stack of its allocation. */
function composition(entries: readonly Entry[]) {
  const made = new Map<number, { frames: readonly Plain[]; size: number }>();
  const trace = entries.flatMap(([action, block, frames = [], mib = 1]): Plain[] => {
    if (action === "alloc") made.set(block, { frames, size: mib * MIB });
    const own = made.get(block)!;
    const entry = { addr: block * 2 ** 30, size: own.size, stream: 0, frames: [...own.frames] };
    if (action === "alloc") return [{ action, ...entry }];
    return [
      { action: "free_requested", ...entry },
      { action: "free_completed", ...entry },
    ];
  });
  const segment = { device: 0, address: 0, total_size: 2 ** 40, stream: 0, segment_pool_id: tuple(0, 0), blocks: [] };
  const bytes = pickled({ segments: [segment], device_traces: [trace] });
  const snapshot = readSnapshot(sourceOf(bytes), "s");
  const [found] = peakCompositions(snapshot, ownersOf(snapshot.stacks, userFrames({ root: "/repo" })));
  return found!.parts.map(({ frame, phase, category, bytes: size }) => {
    return [`${frame.file}:${frame.line}`, phase, category, size / MIB];
  });
}

describe("what a device's peak consists of", () => {
  const asIs = (frames: readonly Plain[]) => frames;
  it.each([
    ["has no stacks", asIs, asIs],
    ["has native stacks alone", inMain, inEngine],
  ])("names the backward pass by the call that began it, though its thread %s", (_, here, there) => {
    const parts = composition([
      ["alloc", 1, here(INPUT), 2],
      ["alloc", 2, here(FORWARD), 8],
      ["alloc", 3, here(BACKWARD)],
      ["alloc", 4, there([]), 4],
      ["alloc", 5, there([]), 16],
      // The peak. A checkpoint is computed in the engine's thread, and does not end the pass.
      ["free", 5],
      ["alloc", 6, there(CHECKPOINT)],
      ["free", 6],
      ["alloc", 7, there([])],
      ["free", 2],
      ["free", 1],
      ["alloc", 8, there([])],
      ["free", 3],
      ["alloc", 9, here(INPUT)],
      ["free", 4],
      // The next step: the backward pass is over.
      ["alloc", 10, here(FORWARD)],
      ["free", 10],
    ]);
    expect(parts).toEqual(
      expect.arrayContaining([
        ["/repo/train.py:33", null, "activations", 2],
        ["/repo/model.py:27", "forward", "activations", 8],
        ["/repo/train.py:35", "backward", "temporary", 16],
        ["/repo/train.py:35", "backward", "gradients", 5],
      ]),
    );
    expect(parts).toHaveLength(4);
  });

  it("names the backward pass itself where the history has no call of it, and no frame of C++", () => {
    expect(composition([["alloc", 1, inEngine([]), 8]])).toEqual([["<backward pass>:0", "backward", "gradients", 8]]);
    expect(composition([["alloc", 1, inMain(FORWARD.slice(1, 2)), 8]])).toEqual([
      [`${TORCH}/nn/modules/module.py:1833`, "forward", null, 8],
    ]);
  });

  it("leaves memory without a stack and without a backward pass unnamed", () => {
    expect(
      composition([
        ["alloc", 1, FORWARD, 8],
        ["alloc", 2, [], 4],
      ]),
    ).toEqual([
      ["/repo/model.py:27", "forward", null, 8],
      ["<no stack>:0", null, null, 4],
    ]);
  });
});
