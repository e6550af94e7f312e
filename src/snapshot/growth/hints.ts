import type { Frame } from "../model/frames.ts";
import { type GraphEvidence, type HeldEntry, type Retainer, retainerText } from "./retainer.ts";

/** A known leak pattern. */
type HintCode =
  | "duplicated-optimizers"
  | "missing-zero-grad"
  | "gradient-graph"
  | "detached-graph-fragments"
  | "loss-kept-as-tensor"
  | "autocast-scope"
  | "outputs-without-no-grad"
  | "retained-graph"
  | "kept-activations"
  | "growing-container";

/** Likely cause of a growing line. Contains names from the program: escape it where it is printed. */
export interface Hint {
  readonly code: HintCode;
  readonly sentence: string;
  /** Observations that led to the pattern. */
  readonly evidence: readonly string[];
  /** Usual fixes, the first choice first. */
  readonly remediation: readonly string[];
}

/** One allocation stack of a growing line and its share of the line's growth. */
export interface Contribution {
  readonly entry: HeldEntry;
  /** Bytes from the first sample to the last; above 0. */
  readonly growthBytes: number;
}

export interface HintEvidence {
  readonly contributions: readonly Contribution[];
  /** Optimizers alive in the last sample minus those in the first; null when not counted. */
  readonly optimizersGrown: number | null;
  /** Gradients that accumulated over several steps and were never zeroed; null when not counted. */
  readonly gradientsNeverZeroed: number | null;
}

/** A line has a pattern when more than this share of its growth shows it. */
const MAX = 0.5;

const slashes = (file: string): string => file.replaceAll("\\", "/");
const isOptimizer = ({ file }: Frame): boolean => slashes(file).includes("/torch/optim/");
const isEngine = ({ file, function: name }: Frame): boolean =>
  /\/torch\/(?:_tensor|autograd\/(?:__init__|graph))\.py$/.test(slashes(file)) &&
  ["backward", "grad", "_engine_run_backward"].includes(name);
const isModuleCall = ({ file }: Frame): boolean => slashes(file).endsWith("/torch/nn/modules/module.py");
const isTorch = ({ file }: Frame): boolean => /(?:^|\/)torch\//.test(slashes(file));

const isJavaScript = ({ stack }: { readonly stack: readonly Frame[] }): boolean =>
  stack.some(({ file }) => /\.[cm]?[jt]sx?$/.test(file));

/** Part of a training step that a stack belongs to. */
function phaseOf(stack: readonly Frame[]): "optimizer" | "backward" | "forward" {
  if (stack.some(isOptimizer)) return "optimizer";
  return stack.some(isEngine) ? "backward" : "forward";
}

/** The function that a module of the framework called outside of its `forward`, which is a hook; null for none. */
function hookOf(stack: readonly Frame[]): Frame | null {
  // Hooks of the backward pass are called by torch/utils/hooks.py.
  const caller = (frame: Frame): boolean =>
    isModuleCall(frame) || slashes(frame.file).endsWith("/torch/utils/hooks.py");
  const at = stack.findIndex(caller);
  const hook = at < 1 ? undefined : stack[at - 1];
  if (hook === undefined || isTorch(hook) || hook.function === "forward") return null;
  return hook;
}

class GrowthFacts {
  readonly total: number;
  readonly evidence: HintEvidence;
  readonly retainer: Retainer | null;

  constructor(evidence: HintEvidence) {
    this.evidence = evidence;
    this.total = evidence.contributions.reduce((sum, { growthBytes }) => sum + growthBytes, 0);
    this.retainer = this.#mainRetainer();
  }

  /** Whether more than half of the growth satisfies a predicate. */
  mostly(predicate: (entry: HeldEntry) => boolean): boolean {
    const own = this.evidence.contributions.reduce(
      (sum, { entry, growthBytes }) => sum + (predicate(entry) ? growthBytes : 0),
      0,
    );
    return own > MAX * this.total;
  }

  /** Graphs of the retainer of most of the growth; null without graphs. */
  get graphs(): GraphEvidence | null {
    const graphs = this.retainer?.graphs ?? null;
    return graphs === null || graphs.roots === 0 ? null : graphs;
  }

  get isTensors(): boolean {
    return this.mostly(isTensorMemory);
  }

  get kept(): string {
    return this.retainer === null ? "the retainer is unknown" : `retained by ${retainerText(this.retainer)}`;
  }

  #mainRetainer(): Retainer | null {
    const weights = new Map<Retainer, number>();
    for (const { entry, growthBytes } of this.evidence.contributions) {
      if (entry.retainer !== undefined) weights.set(entry.retainer, (weights.get(entry.retainer) ?? 0) + growthBytes);
    }
    const heaviest = [...weights].reduce<readonly [Retainer, number] | null>(
      (best, one) => (best === null || one[1] > best[1] ? one : best),
      null,
    );
    return heaviest !== null && heaviest[1] > MAX * this.total ? heaviest[0] : null;
  }
}

function isTensorMemory({ kind }: HeldEntry): boolean {
  return kind === "graph" || kind === "block" || kind === "tensor" || kind.startsWith("tensor:");
}

type HintRule = (seen: GrowthFacts) => Hint | null;

const duplicatedOptimizers: HintRule = (seen) => {
  const made = seen.mostly(({ stack }) => phaseOf(stack) === "optimizer");
  const { optimizersGrown } = seen.evidence;
  if (!made || (optimizersGrown === null ? seen.retainer === null : optimizersGrown < 1)) return null;
  const more =
    optimizersGrown === null ? [] : [`${optimizersGrown} more optimizers are alive at the end than at the beginning`];
  return {
    code: "duplicated-optimizers",
    sentence: "New optimizers are created repeatedly, and the state of the old ones (moment buffers) stays alive.",
    evidence: ["an optimizer's step allocates the memory, which happens once per optimizer", ...more, seen.kept],
    remediation: [
      "Create the optimizer once, before the loop.",
      "If a new optimizer is intended, drop all references to the old one (schedulers, lists, closures).",
    ],
  };
};

const gradientGraph: HintRule = (seen) => {
  if (seen.retainer?.container !== "gradient") return null;
  return {
    code: "gradient-graph",
    sentence:
      "The gradients have a graph (`create_graph=True`), so the next step's gradients retain every step's graph.",
    evidence: ["a parameter's gradient has an autograd graph", seen.kept],
    remediation: [
      "Set gradients to None after every step (`optimizer.zero_grad(set_to_none=True)`).",
      "Use `torch.autograd.grad` for the derivative that needs a graph, and `backward()` without a graph for the step.",
    ],
  };
};

const missingZeroGrad: HintRule = (seen) => {
  const never = seen.evidence.gradientsNeverZeroed ?? 0;
  const ofGradients = seen.mostly(
    ({ stack, copiedFrom }) => copiedFrom === "backward" || phaseOf(stack) === "backward",
  );
  if (seen.retainer === null || never === 0 || !ofGradients) return null;
  return {
    code: "missing-zero-grad",
    sentence: "Gradients are never zeroed: they accumulate over all steps, and copies of them are retained.",
    evidence: [
      `${never} gradients accumulated over several optimizer steps without being zeroed`,
      "the memory contains gradients or copies of gradients",
      seen.kept,
    ],
    remediation: [
      "Call `optimizer.zero_grad(set_to_none=True)` before every backward pass.",
      "Log a scalar per gradient (`grad.norm().item()`), not the gradient.",
    ],
  };
};

const detachedFragments: HintRule = (seen) => {
  const { graphs } = seen;
  if (graphs === null || graphs.leaves <= MAX * graphs.roots) return null;
  return {
    code: "detached-graph-fragments",
    sentence: "Detached tensors require gradients again and become the roots of small graphs that are never freed.",
    evidence: [
      `${graphs.leaves} of ${graphs.roots} retained graphs end in a tensor that is not a parameter`,
      seen.kept,
    ],
    remediation: [
      "Do not call `requires_grad_(True)` on a detached output that is only inspected.",
      "`detach()` cuts the graph but frees nothing: drop the tensor, or keep a scalar of it.",
    ],
  };
};

const lossAsTensor: HintRule = (seen) => {
  const { graphs } = seen;
  if (graphs === null || graphs.scalars <= MAX * graphs.roots) return null;
  const held =
    graphs.saving > 0
      ? "with all tensors saved for a backward pass"
      : "after a backward pass freed their saved tensors";
  return {
    code: "loss-kept-as-tensor",
    sentence: "A loss is retained as a tensor of a few bytes, and with it the whole graph of its step.",
    evidence: [`${graphs.scalars} of ${graphs.roots} retained graphs begin in a scalar, ${held}`, seen.kept],
    remediation: ["Keep `loss.item()`.", "If the loss must stay on the device, keep `loss.detach()`."],
  };
};

const autocastScope: HintRule = (seen) => {
  if (seen.retainer === null || !seen.mostly(({ autocast }) => autocast === true)) return null;
  return {
    code: "autocast-scope",
    sentence: "Intermediate results of an autocast scope are retained in every step.",
    evidence: ["the tensors were created in lower precision inside an autocast scope", seen.kept],
    remediation: [
      "Keep no tensors that are computed inside the scope, or a bounded number of them (`deque(maxlen=…)`).",
      "Put the whole forward pass and the loss into one scope, and store results only after leaving it.",
    ],
  };
};

const withoutNoGrad: HintRule = (seen) => {
  const { graphs } = seen;
  if (graphs === null || graphs.saving <= MAX * graphs.roots || graphs.freed > 0) return null;
  if (seen.retainer?.container === "graph") return null;
  return {
    code: "outputs-without-no-grad",
    sentence:
      "Outputs of a forward pass are retained with their graph. Each one retains all activations of its pass for a backward pass that never runs.",
    evidence: [
      `${graphs.saving} of ${graphs.roots} retained graphs still have their saved tensors, and none had a backward pass`,
      seen.kept,
    ],
    remediation: [
      "Run validation, logging and inspection under `torch.no_grad()` (or `torch.inference_mode()`).",
      "Keep scalars (`.item()`) or a bounded number of `output.detach().cpu()`.",
    ],
  };
};

const retainedGraph: HintRule = (seen) => {
  const { graphs } = seen;
  if (graphs === null) return null;
  return {
    code: "retained-graph",
    sentence:
      "A tensor is carried over to the next step with its autograd graph, which retains the graphs of all earlier steps.",
    evidence: [
      graphs.saving > 0
        ? "the graph still has its tensors saved for a backward pass, as with `retain_graph=True`"
        : "the nodes of graphs stay alive after their backward pass",
      seen.kept,
    ],
    remediation: [
      "Detach the tensor that is carried from step to step (`state = state.detach()`).",
      "Remove `retain_graph=True`: it usually hides the error that this leak causes.",
    ],
  };
};

const keptActivations: HintRule = (seen) => {
  if (!seen.isTensors || seen.retainer === null) return null;
  const hook = hookOf(seen.retainer.stack);
  const inForward = seen.mostly(({ stack }) => phaseOf(stack) === "forward" && stack.some(isModuleCall));
  return {
    code: "kept-activations",
    sentence:
      hook === null
        ? "Tensors of every step are retained and never released. `detach()` and `clone()` do not move them off the device."
        : `The hook \`${hook.function}\` retains the tensors that pass through it. \`detach()\` cuts the graph but keeps the tensor on its device.`,
    evidence: [
      ...(hook === null ? [] : ["a module calls the function outside of its forward pass, as a hook"]),
      ...(inForward ? ["layers of a model allocate the memory"] : []),
      seen.kept,
    ],
    remediation: [
      ...(hook === null ? [] : ["Remove the hook when it is no longer needed (`handle.remove()`)."]),
      "Keep a bounded number of tensors (`collections.deque(maxlen=…)`), or only scalars (`.mean().item()`).",
      "If the tensors are needed, move them off the device (`.cpu()`) and write them to disk.",
    ],
  };
};

const growingContainer: HintRule = (seen) => {
  if (seen.retainer === null) return null;
  const what = retainerText(seen.retainer);
  return {
    code: "growing-container",
    sentence: `${what.charAt(0).toUpperCase()}${what.slice(1)} grows from step to step and is never emptied.`,
    evidence: [
      seen.kept,
      ...(seen.retainer.length === null ? [] : [`it had ${seen.retainer.length} elements at the end`]),
    ],
    remediation: [sizeLimit(seen.retainer, isJavaScript(seen.retainer) || seen.mostly(isJavaScript))],
  };
};

/** How a container of this kind is kept small in its language. */
function sizeLimit({ container }: Retainer, javaScript: boolean): string {
  const isSequence = ["list", "deque", "array"].includes(container);
  if (javaScript) {
    return isSequence
      ? "Keep only its last elements, or empty it when a step is done."
      : "Limit its size (a bounded cache, or a `WeakMap` if the keys may be collected), or delete entries that are no longer needed.";
  }
  return isSequence
    ? "Keep only its last elements (`collections.deque(maxlen=…)`), or empty it when a step is done."
    : "Limit its size (`functools.lru_cache(maxsize=…)` for a cache), or empty it when a step is done.";
}

/** Most specific pattern first. The first that applies is reported. */
const RULES: readonly HintRule[] = [
  duplicatedOptimizers,
  gradientGraph,
  missingZeroGrad,
  autocastScope,
  detachedFragments,
  lossAsTensor,
  withoutNoGrad,
  retainedGraph,
  keptActivations,
  growingContainer,
];

/** Leak pattern of a growing line, from framework frames, the operator, the retainer and its graphs; null without. */
export function hintFor(evidence: HintEvidence): Hint | null {
  const seen = new GrowthFacts(evidence);
  if (seen.total <= 0) return null;
  for (const rule of RULES) {
    const hint = rule(seen);
    if (hint !== null) return hint;
  }
  return null;
}
