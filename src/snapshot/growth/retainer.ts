import type { Frame } from "../model/frames.ts";
import type { LiveEntry, LiveSample } from "./line-growth.ts";

/** Counts of the autograd graphs of a retainer, by kind. */
export interface GraphEvidence {
  /** Tensors whose graph is not part of another tensor's. */
  readonly roots: number;
  /** Roots with one element: losses. */
  readonly scalars: number;
  /** Graphs after a backward pass: the nodes are alive, the saved tensors are freed. */
  readonly freed: number;
  /** Graphs with tensors saved for a backward pass. */
  readonly saving: number;
  /** Graphs that end in a tensor that is not a parameter of a model. */
  readonly leaves: number;
  /** Graphs that end in parameters of a model. */
  readonly parameters: number;
}

/** What retains memory: a container that grows, or a tensor with its graph. */
export interface Retainer {
  /** Type of the container ("list", "dict", …); "graph" of a tensor, "gradient" of a parameter. */
  readonly container: string;
  /** Name of the variable, global or attribute; null when unknown. */
  readonly name: string | null;
  /** Function of the local variable, or class of the attribute's object; null for a global. */
  readonly owner: string | null;
  /** Elements; null for a graph. */
  readonly length: number | null;
  /** Stack of the container's last growth, or of the tensor's creation; innermost first, empty when unknown. */
  readonly stack: readonly Frame[];
  readonly graphs: GraphEvidence | null;
}

/** An allocation stack with the origin and the retainer of its memory. */
export interface HeldEntry extends LiveEntry {
  /** Operator of the framework that created it ("aten.clone.default"). */
  readonly operator?: string;
  /** Whether autograd recorded the operator. */
  readonly grad?: boolean;
  /** Whether it has the lower precision of an autocast scope. */
  readonly autocast?: boolean;
  /** Part of the step ("forward", "backward", "optimizer") that created the original of the copy. */
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
