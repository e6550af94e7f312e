import { describe, expect, it } from "vitest";
import type { Frame } from "../model/frames.ts";
import { type Contribution, type HintEvidence, hintFor } from "./hints.ts";
import type { GraphEvidence, HeldEntry, Retainer } from "./retainer.ts";

const TORCH = "/usr/lib/python3/dist-packages/torch";
const at = (file: string, name: string, line = 7): Frame => ({ file, line, function: name });
const TRAIN = at("/repo/train.py", "train");
const CALL = at(`${TORCH}/nn/modules/module.py`, "_call_impl");
const LAYER = [at(`${TORCH}/nn/functional.py`, "relu"), CALL, TRAIN];
const BACKWARD = [at(`${TORCH}/autograd/__init__.py`, "backward"), TRAIN];
const STEP = [at(`${TORCH}/optim/adam.py`, "_init_group"), TRAIN];

const NO_GRAPHS: GraphEvidence = { roots: 0, scalars: 0, freed: 0, saving: 0, leaves: 0, parameters: 0 };
const graphs = (some: Partial<GraphEvidence>): GraphEvidence => ({ ...NO_GRAPHS, ...some });
const retainer = (some: Partial<Retainer> = {}): Retainer => ({
  container: "list",
  name: "kept",
  owner: null,
  length: 40,
  stack: [TRAIN],
  graphs: null,
  ...some,
});
const part = (entry: Partial<HeldEntry>, growthBytes = 1000): Contribution => ({
  entry: { bytes: growthBytes, count: 1, kind: "tensor", stack: LAYER, ...entry },
  growthBytes,
});
const codeOf = (contributions: readonly Contribution[], facts: Partial<HintEvidence> = {}) =>
  hintFor({ contributions, optimizersGrown: null, gradientsNeverZeroed: null, ...facts })?.code ?? null;

describe("hintFor", () => {
  it.each<[string, string, readonly Contribution[], Partial<HintEvidence>]>([
    ["duplicated-optimizers", "state of new optimizers", [part({ stack: STEP })], { optimizersGrown: 30 }],
    [
      "duplicated-optimizers",
      "optimizer state in a list, where nothing is counted",
      [part({ stack: STEP, retainer: retainer() })],
      {},
    ],
    [
      "missing-zero-grad",
      "copies of gradients that are never zeroed",
      [part({ copiedFrom: "backward", stack: [TRAIN], retainer: retainer() })],
      { gradientsNeverZeroed: 6 },
    ],
    ["gradient-graph", "graphs that hang on gradients", [part({ retainer: retainer({ container: "gradient" }) })], {}],
    [
      "autocast-scope",
      "tensors of lower precision made in an autocast scope",
      [part({ autocast: true, retainer: retainer({ graphs: graphs({ roots: 9, freed: 9 }) }) })],
      {},
    ],
    [
      "detached-graph-fragments",
      "graphs that end in tensors that are not parameters",
      [part({ retainer: retainer({ graphs: graphs({ roots: 9, leaves: 9, saving: 9 }) }) })],
      {},
    ],
    [
      "loss-kept-as-tensor",
      "graphs of single numbers, though they were run backward",
      [part({ kind: "graph", retainer: retainer({ graphs: graphs({ roots: 9, scalars: 9, freed: 9 }) }) })],
      {},
    ],
    [
      "loss-kept-as-tensor",
      "one number that grows a graph",
      [part({ kind: "graph", retainer: retainer({ container: "graph", graphs: graphs({ roots: 1, scalars: 1 }) }) })],
      {},
    ],
    [
      "outputs-without-no-grad",
      "outputs with graphs without a backward pass",
      [part({ retainer: retainer({ graphs: graphs({ roots: 9, saving: 9 }) }) })],
      {},
    ],
    [
      "retained-graph",
      "a tensor that is carried over with its graph",
      [part({ retainer: retainer({ container: "graph", name: "state", graphs: graphs({ roots: 1, saving: 1 }) }) })],
      {},
    ],
    ["kept-activations", "tensors without graphs in a list", [part({ retainer: retainer() })], {}],
    ["kept-activations", "blocks of a device in a list", [part({ kind: "block", retainer: retainer() })], {}],
    ["kept-activations", "tensors of a device", [part({ kind: "tensor:mps", retainer: retainer() })], {}],
    [
      "growing-container",
      "Python objects in a dict",
      [part({ kind: "python", retainer: retainer({ container: "dict" }) })],
      {},
    ],
  ])("hintFor gives %s for %s", (code, _what, contributions, facts) => {
    expect(codeOf(contributions, facts)).toBe(code);
  });

  it.each<[string, readonly Contribution[], Partial<HintEvidence>]>([
    ["Python memory without a known retainer", [part({ kind: "python", stack: [TRAIN] })], {}],
    ["a tensor made outside of layers without a known retainer", [part({ stack: [TRAIN] })], {}],
    ["a line without growth", [part({}, 0)], {}],
    ["blocks of a device that layers allocate, without a known retainer", [part({ kind: "block" })], {}],
    ["optimizer state on a device, without a count or a retainer", [part({ stack: STEP })], {}],
    [
      "gradients that are never zeroed, without a known retainer",
      [part({ stack: BACKWARD })],
      { gradientsNeverZeroed: 6 },
    ],
    ["gradients that are zeroed", [part({ stack: BACKWARD })], { gradientsNeverZeroed: 0 }],
  ])("gives no hint for %s", (_what, contributions, facts) => {
    expect(codeOf(contributions, facts)).toBeNull();
  });

  it.each([
    ["JavaScript, by the retainer", "map", "/repo/serve.mjs", "/repo/serve.mjs", "WeakMap"],
    ["JavaScript, by the line where nothing is known of the retainer", "map", null, "/repo/serve.ts", "WeakMap"],
    ["a JavaScript array", "array", "/repo/serve.mjs", "/repo/serve.mjs", "last elements, or"],
    ["Python", "dict", "/repo/train.py", "/repo/train.py", "functools.lru_cache"],
    ["a Python list", "list", "/repo/train.py", "/repo/train.py", "collections.deque"],
  ])("advises on a growing container in the terms of %s", (_what, container, retainedAt, file, expected) => {
    const kept = retainer({ container, stack: retainedAt === null ? [] : [at(retainedAt, "keep")] });
    const contributions = [part({ kind: "object", stack: [at(file, "handle")], retainer: kept })];
    const hint = hintFor({ contributions, optimizersGrown: null, gradientsNeverZeroed: null });
    expect(hint?.code).toBe("growing-container");
    expect(hint?.remediation[0]).toContain(expected);
  });

  it("hintFor does not name several optimizers when there is one", () => {
    expect(codeOf([part({ stack: STEP })], { optimizersGrown: 0 })).toBeNull();
  });

  it("chooses the pattern of most of the growth", () => {
    const mostly = [part({ autocast: true, retainer: retainer() }, 100), part({ retainer: retainer() }, 900)];
    expect(codeOf(mostly)).toBe("kept-activations");
  });

  it("recognises a hook by its caller, not by names of files or variables", () => {
    const hook = retainer({ stack: [at("/repo/forward.py", "keep_output"), CALL, TRAIN] });
    const forward = retainer({ stack: [at("/repo/hooks.py", "forward"), CALL, TRAIN] });
    const hooked = hintFor({
      contributions: [part({ retainer: hook })],
      optimizersGrown: null,
      gradientsNeverZeroed: null,
    });
    expect(hooked?.sentence).toContain("The hook `keep_output`");
    expect(hooked?.remediation[0]).toContain("handle.remove()");
    expect(
      hintFor({ contributions: [part({ retainer: forward })], optimizersGrown: null, gradientsNeverZeroed: null })
        ?.sentence,
    ).not.toContain("hook");
  });

  it("gives evidence and remediation for every pattern", () => {
    const hint = hintFor({
      contributions: [part({ retainer: retainer({ owner: "Recorder", graphs: graphs({ roots: 4, scalars: 4 }) }) })],
      optimizersGrown: null,
      gradientsNeverZeroed: null,
    });
    expect(hint?.evidence).toEqual([
      "4 of 4 retained graphs begin in a scalar, after a backward pass freed their saved tensors",
      "retained by the list `kept` of Recorder",
    ]);
    expect(hint?.remediation[0]).toBe("Keep `loss.item()`.");
  });
});
