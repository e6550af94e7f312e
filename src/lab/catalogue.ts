import { cpSync } from "node:fs";
import path from "node:path";
import { usageError } from "../core/errors.ts";
import { packageRoot } from "../core/package-root.ts";

/** The framework that a pattern needs, or Python alone, or the Node that runs the gate. */
export type LabFramework = "torch" | "tensorflow" | "jax" | "python" | "node";

/** One pattern of the leak lab: one file, run as `FILE leaky|fixed --device D --scale S`. */
export interface CatalogueEntry {
  /** Also the name of the file. */
  readonly name: string;
  readonly title: string;
  readonly framework: LabFramework;
  /** Below the lab's directory, with "/" between names. */
  readonly file: string;
  /** Processes that train together. */
  readonly ranks: number;
  /** What the smallest scale must show: the leak, or that it is smaller than the noise. */
  readonly expected: "caught" | "not-visible";
}

function pattern(
  framework: LabFramework,
  name: string,
  title: string,
  more: Partial<Pick<CatalogueEntry, "ranks" | "expected">> = {},
): CatalogueEntry {
  const file = `patterns/${name}.${framework === "node" ? "mjs" : "py"}`;
  return { name, title, framework, file, ranks: 1, expected: "caught", ...more };
}

/** The catalogue, in the order of its table. */
export const CATALOGUE: readonly CatalogueEntry[] = [
  pattern("torch", "forward_hook", "Activations kept by a forward hook"),
  pattern("torch", "missing_zero_grad", "Gradients never set to zero, under a monitor that keeps them"),
  pattern("torch", "tensor_retention", "Device tensors kept by bookkeeping"),
  pattern("torch", "autocast_scope", "Intermediate results that leave a narrow autocast scope"),
  pattern("torch", "optimizer_duplication", "Optimizers thrown away and kept"),
  pattern("torch", "scaler_accumulation", "Gradient accumulation with a misused scaler", { expected: "not-visible" }),
  pattern("torch", "validation_outputs", "Validation outputs with their graphs"),
  pattern("torch", "detached_fragments", "Fragments of graphs that begin in detached tensors"),
  pattern("torch", "walkthrough_retention", "The walkthrough's cache of hidden activations"),
  pattern("torch", "ddp_bucket_hook", "Gradient buckets kept by a communication hook", { ranks: 2 }),
  pattern("torch", "gathered_shards", "Gathered parameters kept, where every rank owns a shard", { ranks: 2 }),
  pattern("tensorflow", "tensorflow_activations", "Activations kept between steps, in TensorFlow"),
  pattern("tensorflow", "tensorflow_tapes", "Gradient tapes kept, in TensorFlow"),
  pattern("jax", "jax_activations", "Activations kept between steps, in JAX"),
  pattern("jax", "jax_pullbacks", "Pullbacks kept, in JAX"),
  pattern("python", "python_cache", "A cache without a bound, in a Python service"),
  pattern("python", "python_callbacks", "Callbacks never taken back, in a Python service"),
  pattern("node", "node_cache", "A cache without a bound, in a Node service"),
  pattern("node", "node_listeners", "Listeners never taken off, in a Node service"),
];

/** Comments in the pattern's file around the lines that leak. */
export const LEAK_MARKS = { begin: "leak begins", end: "leak ends" } as const;

/** Named entries in the catalogue's order; all without a name. @throws GateError PATTERN_UNKNOWN (usage) */
export function selectPatterns(names: readonly string[]): readonly CatalogueEntry[] {
  const unknown = names.find((name) => !CATALOGUE.some((entry) => entry.name === name));
  if (unknown !== undefined) {
    const known = CATALOGUE.map(({ name }) => name).join(", ");
    throw usageError("PATTERN_UNKNOWN", `the leak lab has no pattern "${unknown}"`, `It has: ${known}.`);
  }
  return names.length === 0 ? CATALOGUE : CATALOGUE.filter(({ name }) => names.includes(name));
}

/** The lab as it was shipped. */
export function shippedLab(): string {
  return path.join(packageRoot(), "leak-lab");
}

/** Directory to run the patterns from. An installed lab is copied: reports do not name lines of installed packages. */
export function labDirectory(results: string, shipped: string = shippedLab()): string {
  if (!/[\\/](?:node_modules|site-packages|dist-packages)[\\/]/.test(shipped)) return shipped;
  const copy = path.join(results, "leak-lab");
  // Each time, because the package may have been updated.
  cpSync(shipped, copy, { recursive: true, force: true });
  return copy;
}
