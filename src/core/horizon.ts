/** Production length at which growth is judged: 1.3 kB a step is negligible in 400 steps and 1.3 GB in a million. */
export type Horizon =
  | { readonly kind: "steps"; readonly steps: number }
  | { readonly kind: "seconds"; readonly seconds: number };
