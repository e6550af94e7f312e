import * as v from "valibot";
import { PhasesSchema } from "../../analysis/growth/phases.ts";
import { AnalysisSchema, count, FindingSchema, list, metric, number, text } from "../../analysis/series/document.ts";
import type { DeepReadonly } from "../../core/json.ts";
import { DAY } from "../../core/units.ts";
import { IsolationSchema } from "../../telemetry/recording/isolation.ts";
import { RecordingInfoSchema } from "../../telemetry/recording/recording-schema.ts";
import { AcceptanceSchema } from "../../verdict/model/acceptance.ts";
import { JudgementSchema } from "../../verdict/model/judgement.ts";
import { PeakReportSchema, StackedPeaksSchema } from "./peak-report.ts";

/** Validators of a report's `payload`, which may come from a fork: each value is checked and bounded before its use. */

const MAX_POINTS = 20_000;
/** Maximum number of values of `--vary`, and of known leaks. */
const MAX_VALUES = 40;

const points = v.pipe(v.array(number), v.maxLength(MAX_POINTS));
const values = v.pipe(v.array(v.nullable(number)), v.maxLength(MAX_POINTS));
const scalar = v.union([text, number, v.null()]);
/** The verdict of a scenario or gate; `error` when a command could not be measured or judged. */
const VerdictSchema = v.picklist(["pass", "warn", "fail", "unjudged", "error"]);
export type Verdict = v.InferOutput<typeof VerdictSchema>;

/** The band of a baseline, as a report may contain it. */
const EnvelopeSchema = v.object({
  rank: count,
  device: text,
  metric,
  time_s: points,
  low_bytes: points,
  mid_bytes: points,
  high_bytes: points,
  steps: v.exactOptional(points),
  runs: v.exactOptional(count),
});

const TimelineSchema = v.object({
  scenario: text,
  verdict: VerdictSchema,
  /** One sentence under the title ("grows 12.0 MiB/s: leak; +310 MiB over the baseline"). */
  subtitle: text,
  series: list(
    v.object({
      rank: count,
      device: text,
      metric,
      /** False for series that only explain (resident set, reserved). */
      gating: v.boolean(),
      time_s: points,
      steps: v.exactOptional(values),
      bytes: values,
    }),
  ),
  /** The series the verdict is about; absent when no check decided it. */
  about: v.optional(v.object({ rank: count, device: text, metric })),
  envelope: v.nullable(EnvelopeSchema),
  /** Absolute budget of the main series, bytes. */
  budget_bytes: v.nullable(number),
  /** Peak above which the relative check breaches, bytes. */
  threshold_bytes: v.nullable(number),
  marks: list(v.object({ time_s: number, text })),
  /** Which of the candidate's runs it shows, from 1 on; absent where it is none of them. */
  run: v.exactOptional(v.object({ number: count, of: count })),
  /** What a step of the run is; "step" where absent. */
  step_noun: v.exactOptional(v.picklist(["step", "request"])),
  /** Phases that the program names, one after the other; absent where it names none. */
  phases: v.exactOptional(list(v.object({ name: text, from_s: number, to_s: number }))),
  /**
   * The limits and the band of each series. Absent in documents of earlier versions, where envelope and limits are of
   * the main series.
   */
  panels: v.exactOptional(
    list(
      v.object({
        rank: count,
        device: text,
        metric,
        /** Whether its checks decided the verdict: the picture shows these series, the page the others too. */
        decides: v.boolean(),
        envelope: v.nullable(EnvelopeSchema),
        threshold_bytes: v.nullable(number),
        budget_bytes: v.nullable(number),
        /** Rate of a growth that did not pass; absent without one. */
        growth: v.exactOptional(v.object({ bytes: number, per: v.picklist(["step", "request", "second"]) })),
      }),
    ),
  ),
  /**
   * What host memory of the rank consists of over time, in bytes that add up to it; null = unknown at that time. A part
   * that is unknown, or small, all the time is absent, and belongs to the rest. Absent where the rest is all.
   */
  account: v.exactOptional(
    v.object({
      rank: count,
      time_s: points,
      steps: v.exactOptional(values),
      /** By heaps with a counter, and kept by their allocators, garbage included. */
      in_use: v.exactOptional(values),
      kept: v.exactOptional(values),
      /** Shared memory, each page once, and files in RAM that no process maps. */
      shared: v.exactOptional(values),
      files: v.exactOptional(values),
      rest: values,
    }),
  ),
  /** What a breached peak consists of, as stacked bars; absent where it was not explained. */
  peak: v.exactOptional(StackedPeaksSchema),
  /**
   * The source line that holds most of a growth ("train.py:6"), and its share of it, 0 to 1. Its texts come from the
   * measured program.
   */
  cause: v.exactOptional(v.nullable(v.object({ location: text, code: v.nullable(text), share: v.nullable(number) }))),
});

/** How the gate was started: `report/wording/reproduce.ts` makes of it the command that measures the same again. */
const InvocationSchema = v.object({
  /** Directory, relative to the repository; "" = its top, null = outside one. */
  directory: v.nullable(text),
  /** Config file, relative to `directory`; null without one. */
  config: v.nullable(text),
  /** The command where it was given on the spot; null = the config file has it. */
  command: v.nullable(list(text)),
  /** Options of `run`, as words. */
  options: list(text),
  /** Baseline specs; null = those of the config file, or the command line's own. */
  baselines: v.nullable(list(text)),
  /** Ref the change will be merged into; null when it is not named. */
  base: v.nullable(text),
  /** Whether a clone may lack the commit, as that of a pull request's merge. */
  fetch: v.boolean(),
  /** Whether measured files differ from the commit. */
  modified: v.boolean(),
});
export type Invocation = DeepReadonly<v.InferOutput<typeof InvocationSchema>>;

/** Why a command could not be measured or judged: stable code, message, and its last lines of output, unescaped. */
const ErrorSchema = v.object({ code: text, message: text, hint: v.nullable(text), output_tail: v.exactOptional(text) });
export type ScenarioError = DeepReadonly<v.InferOutput<typeof ErrorSchema>>;

const BaselineSchema = v.object({
  /** `file:baselines`, `ref:…`, a path. */
  source: text,
  runs: count,
  sessions: count,
  newest_iso: v.nullable(text),
  commit: v.nullable(text),
  /** Runs of the level before, whose spread is used while the accepted level has too few runs. */
  earlier_runs: v.exactOptional(count),
});
export type BaselineSummary = DeepReadonly<v.InferOutput<typeof BaselineSchema>>;

/** What a change does to lock files: the number of changed packages, and the first of them, the named line's before. */
const LockChangesSchema = v.object({
  total: count,
  /** Texts of the lock: escape them where printed. Null = not locked before, or no longer. */
  packages: list(
    v.object({ ecosystem: v.picklist(["python", "node"]), name: text, from: v.nullable(text), to: v.nullable(text) }),
  ),
});
export type LockChanges = DeepReadonly<v.InferOutput<typeof LockChangesSchema>>;
export type LockChange = LockChanges["packages"][number];

/** An entry of `policy.known-leaks` by which a red scenario only warns. Escape its texts where they are printed. */
const KnownLeakSchema = v.object({
  package: text,
  version: text,
  /** Line or function. */
  at: text,
  /** Last day on which it applies, `2027-01-31`. */
  until: v.pipe(text, v.regex(DAY)),
  reason: text,
});
export type KnownLeakUse = DeepReadonly<v.InferOutput<typeof KnownLeakSchema>>;

/**
 * Why a run was made. Attribution slows and enlarges a run, so it is evidence and never judged. A superseded run is one
 * of the candidate in whose place those are judged in which heaps were collected.
 */
const role = v.picklist(["candidate", "base", "attribution", "superseded"]);
export type RunRole = v.InferOutput<typeof role>;

/** What a pull request did to a scenario of its base commit, which makes it unjudged until that is accepted. */
const causedBy = v.picklist(["edited", "renamed", "removed"]);
export type CausedBy = v.InferOutput<typeof causedBy>;

const RunSchema = v.object({
  role,
  /** Directory within the bundle: `runs/<scenario>/<n>`. */
  directory: text,
  info: RecordingInfoSchema,
  /** Null when nothing could be measured. */
  analysis: v.nullable(AnalysisSchema),
  /** Memory by the phases that the program names; absent where it names none. */
  phases: v.exactOptional(PhasesSchema),
});
export type RunReport = DeepReadonly<v.InferOutput<typeof RunSchema>>;

const ScenarioSchema = v.object({
  scenario: text,
  verdict: VerdictSchema,
  judgement: v.nullable(JudgementSchema),
  error: v.nullable(ErrorSchema),
  runs: list(RunSchema),
  baseline: v.nullable(BaselineSchema),
  fingerprint: v.record(text, scalar),
  findings: list(FindingSchema),
  timeline: v.nullable(TimelineSchema),
  /** Token by which a person can accept what failed; absent when nothing can be accepted. */
  difference: v.exactOptional(text),
  /** Present where the change itself made the scenario unjudged: never a success, whatever `unjudged` says. */
  caused_by: v.exactOptional(causedBy),
  /** Packages that the change locks to other versions; present after a breach. */
  lock_changes: v.exactOptional(LockChangesSchema),
  /** Why no line is named; absent where one is, or none was looked for. */
  no_line: v.exactOptional(text),
  /** What a breached peak consists of, by line, category and phase. */
  peak: v.exactOptional(PeakReportSchema),
  /** What was done to the gate's own files while the command ran, one sentence each; absent = nothing. */
  interference: v.exactOptional(list(text)),
  /** Present where the verdict is red, unless it is too long. */
  invocation: v.exactOptional(InvocationSchema),
  /** Who accepted the difference; the verdict is then "warn", the judgement is unchanged. */
  accepted: v.exactOptional(AcceptanceSchema),
  /** The known leaks that explain the growth; the verdict is then "warn", the judgement is unchanged. */
  known_leaks: v.exactOptional(v.pipe(list(KnownLeakSchema), v.maxLength(MAX_VALUES))),
});

/** The peak at one value of `--vary`: null = no peak was measured, or its run failed; `failed` = its run failed. */
const PointSchema = v.object({ value: text, bytes: v.nullable(number), failed: v.exactOptional(v.boolean()) });
export type ScalingPoint = DeepReadonly<v.InferOutput<typeof PointSchema>>;

/** Peak memory over the values of `--vary`, for one scenario. Sizes in bytes. */
const ScalingSchema = v.object({
  /** The scenario that was varied, and the name whose value changes. */
  scenario: text,
  name: text,
  /** The series whose peak it is: "host", or the allocator of a device. */
  metric: text,
  device: text,
  /** In the order they were run. */
  points: v.pipe(list(PointSchema), v.maxLength(MAX_VALUES)),
  /** peak = a + b x^exponent, with its 95 % interval; null, with the reason, where nothing was fitted. */
  fit: v.nullable(v.object({ a_bytes: number, b_bytes: number, exponent: number, low: number, high: number })),
  no_fit: v.nullable(text),
  /** The largest value that fits a size, with its 95 % interval; null where none does. */
  fits: list(
    v.object({
      name: text,
      bytes: number,
      largest: v.nullable(v.object({ value: number, low: number, high: number })),
    }),
  ),
  verdict: v.nullable(v.picklist(["pass", "fail", "unjudged"])),
  /** Why the limits of `policy.scaling` are breached or not judged; null without limits, or within them. */
  reason: v.nullable(text),
});
export type Scaling = DeepReadonly<v.InferOutput<typeof ScalingSchema>>;

/** A setting that a pull request changes in its own gate; in force only after someone accepts it. */
const PolicyChangeSchema = v.object({
  /** Its key in the config file: `scenarios.train.budget.host`. */
  path: text,
  /** As written; null = not set. */
  base: v.nullable(text),
  head: v.nullable(text),
});

/** The gate's own data in a `memory_gate` report. */
export const PayloadSchema = v.object({
  verdict: VerdictSchema,
  exit_code: v.pipe(v.number(), v.integer()),
  final: v.boolean(),
  confirmed: v.boolean(),
  session: text,
  commit: v.nullable(text),
  /** What the measured commands were kept from; absent in reports that did not measure. */
  isolation: v.exactOptional(IsolationSchema),
  /** Runs made and minutes spent, base and confirmation runs included. */
  cost: v.object({ runs: count, minutes: number }),
  /** Notices that do not affect the verdict (missing permission, degraded upload, fallback sampler). */
  warnings: list(text),
  scenarios: list(ScenarioSchema),
  /** The pull request's changes of the policy that judges it; absent or empty when there are none. */
  policy_changes: v.exactOptional(list(PolicyChangeSchema)),
  /** Token by which a person accepts these changes. */
  policy_difference: v.exactOptional(text),
  /** Who accepted them; they are in force then. */
  policy_accepted: v.exactOptional(AcceptanceSchema),
  /** How peaks grow with the values of `--vary`; absent without it. */
  scaling: v.exactOptional(list(ScalingSchema)),
});
export type Payload = v.InferOutput<typeof PayloadSchema>;
export type PayloadDocument = v.InferInput<typeof PayloadSchema>;
