import * as v from "valibot";
import type { DeepReadonly } from "../../core/json.ts";
import type { LiveEntry, LiveSample } from "./line-growth.ts";

export const whole = v.pipe(v.number(), v.integer(), v.minValue(0));

export const FramesSchema = v.array(v.object({ file: v.string(), line: whole, function: v.string() }));

/** What retains memory: a container that grows, or a tensor with its graph. */
export const RetainerSchema = v.object({
  /** Type of the container ("list", "dict", …); "graph" of a tensor, "gradient" of a parameter. */
  container: v.string(),
  /** Name of the variable, global or attribute; null when unknown. */
  name: v.nullable(v.string()),
  /** Function of the local variable, or class of the attribute's object; null for a global. */
  owner: v.nullable(v.string()),
  /** Elements; null for a graph. */
  length: v.optional(v.nullable(whole), null),
  /** Stack of the container's last growth, or of the tensor's creation; innermost first, empty when unknown. */
  stack: FramesSchema,
  /** Counts of its autograd graphs, by kind. */
  graphs: v.optional(
    v.nullable(
      v.object({
        /** Tensors whose graph is not part of another tensor's. */
        roots: whole,
        /** Roots with one element: losses. */
        scalars: whole,
        /** Graphs after a backward pass: the nodes are alive, the saved tensors are freed. */
        freed: whole,
        /** Graphs with tensors saved for a backward pass. */
        saving: whole,
        /** Graphs that end in a tensor that is not a parameter of a model. */
        leaves: whole,
        /** Graphs that end in parameters of a model. */
        parameters: whole,
      }),
    ),
    null,
  ),
});
export type Retainer = DeepReadonly<v.InferOutput<typeof RetainerSchema>>;
export type GraphEvidence = NonNullable<Retainer["graphs"]>;

/** An allocation stack with the origin and the retainer of its memory. */
export interface HeldEntry extends LiveEntry {
  /** Operator of the framework that created it ("aten.clone.default"). */
  readonly operator?: string | undefined;
  /** Whether autograd recorded the operator. */
  readonly grad?: boolean | undefined;
  /** Whether it has the lower precision of an autocast scope. */
  readonly autocast?: boolean | undefined;
  /** Part of the step ("forward", "backward", "optimizer") that created the original of the copy. */
  readonly copiedFrom?: string | undefined;
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
