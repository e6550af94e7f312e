import * as v from "valibot";

const names = v.pipe(v.string(), v.nonEmpty("must not be empty"));
const seconds = v.pipe(v.number(), v.finite(), v.gtValue(0, "must be above 0"));
const percent = v.pipe(v.number(), v.minValue(0), v.maxValue(100));
const sizeText = v.union([v.string(), v.pipe(v.number(), v.integer(), v.minValue(0))]);
const baselineSpec = v.union([names, v.pipe(v.array(names), v.minLength(1, "must not be empty"))]);

const unjudged = v.picklist(["fail", "warn", "pass"]);
const metric = v.picklist(["allocated", "reserved", "used", "host", "host_shared_once", "host_unmapped"]);
const repeats = v.union([v.literal("auto"), v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(50))]);

/** One named command to measure. A string `run` is given to `sh -c`; a list is started as it is, without a shell. */
export const ScenarioSchema = v.strictObject({
  name: names,
  run: v.union([names, v.pipe(v.array(v.string()), v.minLength(1, "must not be empty"))]),
  cwd: v.optional(names),
  env: v.optional(v.record(v.string(), v.union([v.string(), v.number(), v.boolean()]))),
  timeout: v.optional(seconds),
  horizon: v.optional(v.union([v.string(), v.number()])),
  budget: v.optional(v.record(metric, sizeText)),
  repeats: v.optional(repeats),
});

/** `stormlog-gate.yml`, schema `stormlog.config/1`. Unknown keys are refused: a misspelt budget must not be missing. */
export const ConfigSchema = v.strictObject({
  schema: v.optional(v.literal("stormlog.config/1")),
  scenarios: v.pipe(v.array(ScenarioSchema), v.minLength(1, "must not be empty")),
  baseline: v.optional(baselineSpec),
  policy: v.optional(
    v.strictObject({
      unjudged: v.optional(unjudged),
      "base-run": v.optional(names),
      gating: v.optional(v.pipe(v.array(metric), v.minLength(1, "must not be empty"))),
      /** Phases whose peak, growth and class are judged like those of the run, for metrics that gate. */
      "gating-phases": v.optional(
        v.pipe(v.array(v.pipe(names, v.maxLength(80))), v.minLength(1, "must not be empty"), v.maxLength(8)),
      ),
      "relative-margin-percent": v.optional(v.pipe(percent, v.gtValue(0))),
      "max-runs": v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100))),
      "max-minutes": v.optional(seconds),
    }),
  ),
  report: v.optional(
    v.strictObject({
      bundle: v.optional(names),
      "warning-percent": v.optional(percent),
      "critical-percent": v.optional(percent),
      csv: v.optional(v.boolean()),
    }),
  ),
});

export type ConfigFile = v.InferOutput<typeof ConfigSchema>;
export type ConfigScenario = v.InferOutput<typeof ScenarioSchema>;
