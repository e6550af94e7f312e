import type { Frame } from "./frames.ts";
import type { LiveEntry, LiveSample } from "./line-growth.ts";

/** What was seen of the autograd graphs that hang on a retainer: in how many of them, by kind. */
export interface GraphEvidence {
  /** Tensors with a graph that is no part of another's. */
  readonly roots: number;
  /** Of the roots, tensors of one element: losses. */
  readonly scalars: number;
  /** Graphs a backward pass went through: their nodes live, what they saved does not. */
  readonly freed: number;
  /** Graphs that still hold what they saved for a backward pass. */
  readonly saving: number;
  /** Graphs that end in a tensor that is no parameter of a model. */
  readonly leaves: number;
  /** Graphs that end in parameters of a model. */
  readonly parameters: number;
}

/** What keeps memory alive: a container that grows, or a tensor by its graph. */
export interface Retainer {
  /** Type of the container ("list", "dict", …); "graph" for a tensor with a graph, "gradient" when that is a parameter's. */
  readonly container: string;
  /** Variable, global or attribute it is known by; null when unknown. */
  readonly name: string | null;
  /** Function the variable is local to, or class of the attribute's object; null for a global. */
  readonly owner: string | null;
  /** Elements; null for a graph. */
  readonly length: number | null;
  /** Stack of the container's last growth, or of the making of the graph's tensor; innermost first, empty when unknown. */
  readonly stack: readonly Frame[];
  readonly graphs: GraphEvidence | null;
}

/** An allocation stack with what is known of how its memory was made and what keeps it. */
export interface HeldEntry extends LiveEntry {
  /** Operator of the framework that made it ("aten.clone.default"). */
  readonly operator?: string;
  /** Whether autograd recorded the operator. */
  readonly grad?: boolean;
  /** Whether it is of the lower precision of an autocast scope. */
  readonly autocast?: boolean;
  /** Part of the step ("forward", "backward", "optimizer") that made what it is a copy of. */
  readonly copiedFrom?: string;
  readonly retainer?: Retainer;
}

export interface HeldSample extends LiveSample {
  readonly entries: readonly HeldEntry[];
}

/** "the list `losses`", "the list `hidden_cache` of DeviceTensorRetention", "the tensor `total`". */
export function retainerText(retainer: Retainer): string {
  const kind =
    retainer.container === "graph" ? "tensor" : retainer.container === "gradient" ? "gradient" : retainer.container;
  if (retainer.name === null) return retainer.container === "gradient" ? "the gradient of a parameter" : `a ${kind}`;
  const owner = retainer.owner === null ? "" : ` of ${retainer.owner}`;
  return `the ${kind} \`${retainer.name}\`${owner}`;
}
