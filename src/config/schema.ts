import * as v from "valibot";
import { DAY, parseDuration } from "../core/units.ts";
import { METRICS } from "../telemetry/recording/metrics.ts";

const names = v.pipe(v.string(), v.nonEmpty("must not be empty"));
const seconds = v.pipe(v.number(), v.finite(), v.gtValue(0, "must be above 0"));
/** A number in the key's own unit, or a text with one. */
const duration = v.union([
  seconds,
  v.pipe(
    v.string(),
    v.check((text) => (parseDuration(text) ?? 0) > 0, 'must be a duration, such as "90s" or "5m"'),
  ),
]);
const percent = v.pipe(v.number(), v.minValue(0), v.maxValue(100));
const sizeText = v.union([v.string(), v.pipe(v.number(), v.integer(), v.minValue(0))]);
const baselineSpec = v.union([names, v.pipe(v.array(names), v.minLength(1, "must not be empty"))]);

const unjudged = v.picklist(["fail", "warn", "pass"]);
const metric = v.picklist(METRICS);
const repeats = v.union([v.literal("auto"), v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(50))]);
/** As `show --processes` prints it: the name of a file, of a script or of a module. */
const program = v.pipe(
  names,
  v.maxLength(60),
  v.regex(/^[^/\r\n]+$/, 'must be the name of a program, such as "wrk" or "load.py"'),
);

const command = v.union([names, v.pipe(v.array(v.string()), v.minLength(1, "must not be empty"))]);
const whole = (least: number, most: number) => v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most));

/** What the gate's own generator sends. */
const HttpLoadSchema = v.strictObject({
  url: v.pipe(names, v.regex(/^https?:\/\//, "must begin with http:// or https://")),
  method: v.optional(v.pipe(v.string(), v.regex(/^[A-Z]{1,20}$/, 'must be a method, such as "POST"'))),
  body: v.optional(v.string()),
  headers: v.optional(v.record(v.string(), v.string())),
  concurrency: v.optional(whole(1, 1000)),
  rate: v.optional(v.pipe(v.number(), v.gtValue(0, "must be above 0"))),
});

/** A service that is put under load and rests, cycle after cycle. `{PORT}` stands for a free port in every text. */
export const ServiceSchema = v.strictObject({
  start: command,
  /** A URL that is answered, a port that takes connections, or a text that the service prints. */
  ready: v.union([names, whole(1, 65_535)]),
  load: v.union([HttpLoadSchema, command]),
  /** Requests of a cycle; of a load command, a pattern that finds their number in its output. */
  requests: v.optional(v.union([whole(1, 10_000_000), names])),
  rest: v.optional(duration),
  cycles: v.optional(v.union([v.literal("auto"), whole(6, 100)])),
  reset: v.optional(command),
  stop: v.optional(v.picklist(["SIGTERM", "SIGINT"])),
});
export type ConfigService = v.InferOutput<typeof ServiceSchema>;

/** One named command to measure. A string `run` is given to `sh -c`; a list is started as it is, without a shell. */
export const ScenarioSchema = v.strictObject({
  name: names,
  run: v.optional(command),
  service: v.optional(ServiceSchema),
  cwd: v.optional(names),
  env: v.optional(v.record(v.string(), v.union([v.string(), v.number(), v.boolean()]))),
  timeout: v.optional(duration),
  horizon: v.optional(v.union([v.string(), v.number()])),
  budget: v.optional(v.record(metric, sizeText)),
  repeats: v.optional(repeats),
  ignore: v.optional(v.pipe(v.array(program), v.minLength(1, "must not be empty"), v.maxLength(40))),
});

const words = (most: number) => v.pipe(v.string(), v.nonEmpty("must not be empty"), v.maxLength(most));

/** A size, which `parseSize` reads, for each step or second. */
export const RATE = /^(\d{1,6}(?:\.\d{1,3})? ?(?:[KMG]i?B|B))\/(step|s)$/;

/** A leak in a dependency that cannot be upgraded today: growth that it explains warns instead of failing. */
const KnownLeakSchema = v.strictObject({
  /** Name of the installed package. */
  package: words(214),
  /** Versions that leak; with any other one the entry does not apply. */
  versions: v.pipe(v.array(words(80)), v.minLength(1, "must not be empty"), v.maxLength(40)),
  /** Where the memory grows: a line (`load.py:12`, `src/load.py:12`) or a function (`read_csv`). */
  at: words(300),
  /** Maximum growth of the whole run. */
  limit: v.pipe(words(40), v.regex(RATE, 'must be a rate, such as "64KiB/step" or "2MiB/s"')),
  /** Last day on which the entry applies, UTC. */
  until: v.pipe(v.string(), v.regex(DAY, 'must be a day, such as "2027-01-31"')),
  reason: words(400),
});
export type KnownLeak = v.InferOutput<typeof KnownLeakSchema>;

/** `stormlog-gate.yml`, schema `stormlog.config/1`. Unknown keys are refused: a misspelt budget must not be missing. */
export const ConfigSchema = v.strictObject({
  schema: v.optional(v.literal("stormlog.config/1")),
  scenarios: v.pipe(
    v.array(
      v.pipe(
        ScenarioSchema,
        v.check(({ run, service }) => run !== undefined || service !== undefined, "has neither run nor service"),
        v.check(({ run, service }) => run === undefined || service === undefined, "has both run and service"),
      ),
    ),
    v.minLength(1, "must not be empty"),
  ),
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
      /** Leaks of dependencies that warn instead of failing, up to a limit and a day. */
      "known-leaks": v.optional(v.pipe(v.array(KnownLeakSchema), v.minLength(1, "must not be empty"), v.maxLength(40))),
      /** Limits on how the peak grows with the value of `--vary`: peak = a + b x^k. */
      scaling: v.optional(
        v.strictObject({
          /** Maximum k. */
          "max-exponent": v.optional(v.pipe(v.number(), v.gtValue(0, "must be above 0"), v.maxValue(6))),
          /** Maximum b, bytes. */
          "max-b": v.optional(sizeText),
        }),
      ),
      "relative-margin-percent": v.optional(v.pipe(percent, v.gtValue(0))),
      "max-runs": v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(100))),
      "max-minutes": v.optional(duration),
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

/** A checked scenario: `run` is the command of a service, too. */
export type ConfigScenario = Omit<v.InferOutput<typeof ScenarioSchema>, "run"> & {
  readonly run: v.InferOutput<typeof command>;
};
export type ConfigFile = Omit<v.InferOutput<typeof ConfigSchema>, "scenarios"> & { scenarios: ConfigScenario[] };
