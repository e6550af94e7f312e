import type { Frame } from "./frames.ts";
import { type GraphEvidence, type HeldEntry, type Retainer, retainerText } from "./retainer.ts";

/** A known way to leak. */
export type HintCode =
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

/** What a growing line is likely to be, in plain language. Names in it come from the program: escape it where it is printed. */
export interface Hint {
  readonly code: HintCode;
  readonly sentence: string;
  /** What was seen, from which the pattern was chosen. */
  readonly evidence: readonly string[];
  /** What is usually done about it, the first choice first. */
  readonly remediation: readonly string[];
}

/** One allocation stack of a growing line and how much of the line's growth is its. */
export interface Contribution {
  readonly entry: HeldEntry;
  /** Bytes from the first moment to the last; above 0. */
  readonly growthBytes: number;
}

export interface HintEvidence {
  readonly contributions: readonly Contribution[];
  /** Optimizers alive at the last moment less those at the first; null when not counted. */
  readonly optimizersGrown: number | null;
  /** Gradients that were added to over several steps and never set to zero; null when not counted. */
  readonly gradientsNeverZeroed: number | null;
}

/** A pattern is told of a line when more than this share of its growth shows it. */
const MAX = 0.5;

const slashes = (file: string): string => file.replaceAll("\\", "/");
const isOptimizer = ({ file }: Frame): boolean => slashes(file).includes("/torch/optim/");
const isEngine = ({ file, function: name }: Frame): boolean =>
  /\/torch\/(?:_tensor|autograd\/(?:__init__|graph))\.py$/.test(slashes(file)) &&
  ["backward", "grad", "_engine_run_backward"].includes(name);
const isModuleCall = ({ file }: Frame): boolean => slashes(file).endsWith("/torch/nn/modules/module.py");
const isTorch = ({ file }: Frame): boolean => /(?:^|\/)torch\//.test(slashes(file));

const isJavaScript = ({ stack }: Retainer): boolean => stack.some(({ file }) => /\.[cm]?[jt]sx?$/.test(file));

/** Part of a training step that a stack belongs to. */
function phaseOf(stack: readonly Frame[]): "optimizer" | "backward" | "forward" {
  if (stack.some(isOptimizer)) return "optimizer";
  return stack.some(isEngine) ? "backward" : "forward";
}

/** The function that a module of the framework called outside of its `forward`: a hook; null when the stack has none. */
function hookOf(stack: readonly Frame[]): Frame | null {
  // Hooks of the backward pass are called by torch/utils/hooks.py.
  const caller = (frame: Frame): boolean =>
    isModuleCall(frame) || slashes(frame.file).endsWith("/torch/utils/hooks.py");
  const at = stack.findIndex(caller);
  const hook = at < 1 ? undefined : stack[at - 1];
  if (hook === undefined || isTorch(hook) || hook.function === "forward") return null;
  return hook;
}

class Seen {
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

  /** Graphs of the retainer of most of the growth; null where there are none. */
  get graphs(): GraphEvidence | null {
    const graphs = this.retainer?.graphs ?? null;
    return graphs === null || graphs.roots === 0 ? null : graphs;
  }

  get isTensors(): boolean {
    return this.mostly(isTensorMemory);
  }

  get kept(): string {
    return this.retainer === null ? "what keeps it is unknown" : `${retainerText(this.retainer)} keeps it`;
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

type Rule = (seen: Seen) => Hint | null;

const duplicatedOptimizers: Rule = (seen) => {
  const made = seen.mostly(({ stack }) => phaseOf(stack) === "optimizer");
  const { optimizersGrown } = seen.evidence;
  if (!made || (optimizersGrown !== null && optimizersGrown < 1)) return null;
  const more =
    optimizersGrown === null ? [] : [`${optimizersGrown} more optimizers live at the end than at the beginning`];
  return {
    code: "duplicated-optimizers",
    sentence: "New optimizers are made again and again, and the state of the old ones (moment buffers) stays alive.",
    evidence: ["the memory is allocated by an optimizer's step, which does so once per optimizer", ...more, seen.kept],
    remediation: [
      "Make the optimizer once, before the loop.",
      "Where a new one is meant, drop the old one and everything that refers to it (schedulers, lists, closures).",
    ],
  };
};

const gradientGraph: Rule = (seen) => {
  if (seen.retainer?.container !== "gradient") return null;
  return {
    code: "gradient-graph",
    sentence:
      "The gradients themselves have a graph (`create_graph=True`), so every step's graph hangs on the next step's gradients.",
    evidence: ["a parameter's gradient has an autograd graph", seen.kept],
    remediation: [
      "Set gradients to None after every step (`optimizer.zero_grad(set_to_none=True)`).",
      "Use `torch.autograd.grad` for the derivative that needs a graph, and plain `backward()` for the step.",
    ],
  };
};

const missingZeroGrad: Rule = (seen) => {
  const never = seen.evidence.gradientsNeverZeroed ?? 0;
  const ofGradients = seen.mostly(
    ({ stack, copiedFrom }) => copiedFrom === "backward" || phaseOf(stack) === "backward",
  );
  if (never === 0 || !ofGradients) return null;
  return {
    code: "missing-zero-grad",
    sentence: "Gradients are never set to zero: they accumulate over all steps, and copies of them are kept.",
    evidence: [
      `${never} gradients were added to over several optimizer steps without being zeroed`,
      "the memory holds gradients or copies of gradients",
      seen.kept,
    ],
    remediation: [
      "Call `optimizer.zero_grad(set_to_none=True)` before every backward pass.",
      "Log a number per gradient (`grad.norm().item()`), not the gradient.",
    ],
  };
};

const detachedFragments: Rule = (seen) => {
  const { graphs } = seen;
  if (graphs === null || graphs.leaves <= MAX * graphs.roots) return null;
  return {
    code: "detached-graph-fragments",
    sentence:
      "Detached tensors are made to require gradients again and become the roots of small graphs that nobody frees.",
    evidence: [`${graphs.leaves} of ${graphs.roots} kept graphs end in a tensor that is no parameter`, seen.kept],
    remediation: [
      "Do not call `requires_grad_(True)` on a detached output that is only looked at.",
      "`detach()` cuts the graph, it frees nothing: drop the tensor, or keep a number of it.",
    ],
  };
};

const lossAsTensor: Rule = (seen) => {
  const { graphs } = seen;
  if (graphs === null || graphs.scalars <= MAX * graphs.roots) return null;
  const held = graphs.saving > 0 ? "with everything saved for a backward pass" : "though a backward pass went through";
  return {
    code: "loss-kept-as-tensor",
    sentence: "A loss is kept as a tensor: a few bytes, and behind it the whole graph of its step.",
    evidence: [`${graphs.scalars} of ${graphs.roots} kept graphs begin in a single number, ${held}`, seen.kept],
    remediation: ["Keep `loss.item()`.", "Where it must stay on the device, keep `loss.detach()`."],
  };
};

const autocastScope: Rule = (seen) => {
  if (!seen.mostly(({ autocast }) => autocast === true)) return null;
  return {
    code: "autocast-scope",
    sentence:
      "Intermediate results of an autocast scope are kept: half as large as others, and as many as there are steps.",
    evidence: ["the tensors were made in lower precision inside an autocast scope", seen.kept],
    remediation: [
      "Keep nothing of what is computed inside the scope, or a bounded number of them (`deque(maxlen=…)`).",
      "Put the whole forward pass and the loss into one scope, and leave it before anything is stored.",
    ],
  };
};

const withoutNoGrad: Rule = (seen) => {
  const { graphs } = seen;
  if (graphs === null || graphs.saving <= MAX * graphs.roots || graphs.freed > 0) return null;
  if (seen.retainer?.container === "graph") return null;
  return {
    code: "outputs-without-no-grad",
    sentence:
      "Outputs of a forward pass are kept with their graph: every one of them holds all activations of its pass, for a backward pass that never comes.",
    evidence: [
      `${graphs.saving} of ${graphs.roots} kept graphs still hold what they saved, none was ever run backward`,
      seen.kept,
    ],
    remediation: [
      "Run validation, logging and inspection under `torch.no_grad()` (or `torch.inference_mode()`).",
      "Keep numbers (`.item()`) or `output.detach().cpu()`, and a bounded number of them.",
    ],
  };
};

const retainedGraph: Rule = (seen) => {
  const { graphs } = seen;
  if (graphs === null) return null;
  return {
    code: "retained-graph",
    sentence:
      "A tensor is carried on with its autograd graph, so the graphs of all earlier steps stay alive behind it.",
    evidence: [
      graphs.saving > 0
        ? "the graph still holds what it saved for a backward pass, as with `retain_graph=True`"
        : "the nodes of graphs stay alive after their backward pass",
      seen.kept,
    ],
    remediation: [
      "Detach what is carried from step to step (`state = state.detach()`).",
      "Remove `retain_graph=True`: an error that it hides is usually this one.",
    ],
  };
};

const keptActivations: Rule = (seen) => {
  if (!seen.isTensors) return null;
  const hook = hookOf(seen.retainer?.stack ?? []) ?? hookOf(seen.evidence.contributions[0]?.entry.stack ?? []);
  const inForward = seen.mostly(({ stack }) => phaseOf(stack) === "forward" && stack.some(isModuleCall));
  if (hook === null && seen.retainer === null && !inForward) return null;
  return {
    code: "kept-activations",
    sentence:
      hook === null
        ? "Tensors of every step are kept. `detach()` and `clone()` do not take them off the device, and nothing drops them."
        : `The hook \`${hook.function}\` keeps what passes through it. \`detach()\` cuts the graph, the tensor stays where it is.`,
    evidence: [
      ...(hook === null ? [] : ["a module's call leads to the function outside of its forward pass: a hook"]),
      ...(inForward ? ["the memory is allocated by layers of a model"] : []),
      seen.kept,
    ],
    remediation: [
      "Keep a bounded number of them (`collections.deque(maxlen=…)`), or only numbers (`.mean().item()`).",
      "Where the tensors themselves are needed, move them off the device (`.cpu()`) and write them out.",
      ...(hook === null ? [] : ["Remove the hook's handle when it has seen enough."]),
    ],
  };
};

const growingContainer: Rule = (seen) => {
  if (seen.retainer === null) return null;
  const what = retainerText(seen.retainer);
  return {
    code: "growing-container",
    sentence: `${what.charAt(0).toUpperCase()}${what.slice(1)} grows from step to step and is never emptied.`,
    evidence: [
      seen.kept,
      ...(seen.retainer.length === null ? [] : [`it had ${seen.retainer.length} elements at the end`]),
    ],
    remediation: [
      isJavaScript(seen.retainer)
        ? "Bound it (a cache with a limit, a `WeakMap` where the key may go), or delete what is done with."
        : "Bound it (`collections.deque(maxlen=…)`, `functools.lru_cache(maxsize=…)`), or empty it when a step is done.",
    ],
  };
};

/** From the most telling evidence to the least: the first that fits is told. */
const RULES: readonly Rule[] = [
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

/**
 * The known pattern that a growing line shows, chosen from what was seen of its memory: where in the framework it was made, by
 * which operator, what keeps it, and what hangs on that. Null when nothing fits.
 */
export function hintFor(evidence: HintEvidence): Hint | null {
  const seen = new Seen(evidence);
  if (seen.total <= 0) return null;
  for (const rule of RULES) {
    const hint = rule(seen);
    if (hint !== null) return hint;
  }
  return null;
}
