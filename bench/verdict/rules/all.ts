import { ours } from "./ours.ts";
import { cpythonR, mannKendall, olsP, stormlogR2, tracemlAny, tracemlBands } from "./published.ts";
import { referenceDetector } from "./reference.ts";
import type { Rule } from "./rule.ts";

/** Ours first. */
export const RULES: readonly Rule[] = [
  ours,
  referenceDetector,
  stormlogR2,
  tracemlBands,
  tracemlAny,
  olsP,
  mannKendall,
  cpythonR,
];
