import path from "node:path";
import { phaseEntries } from "../../analysis/growth/phases.ts";
import type { Finding } from "../../analysis/series/document.ts";
import { probeDirectory, withPreload } from "../../core/probe-directory.ts";
import { type Command, namesNode } from "../../core/process/command.ts";
import { formatDuration } from "../../core/units.ts";
import { NATIVE_UNSEEN } from "../../measure/environment/probe-environment.ts";
import { causesOf } from "../../report/headline/causes.ts";
import type { PeakReport } from "../../report/model/peak-report.ts";
import { METRIC, type Metric } from "../../telemetry/recording/metrics.ts";
import type { Check } from "../../verdict/model/judgement.ts";
import { sameSeries } from "../../verdict/model/series-index.ts";
import { symbolAt } from "../native/native-site.ts";
import { notPreloaded, unseenProgram } from "../native/unseen-program.ts";
import { packagesBy } from "../packages/installed-packages.ts";
import { linePackages, PYTORCH } from "../packages/line-packages.ts";
import { judgedGrowths } from "../run/judged-growth.ts";
import {
  type AttributionSubject,
  EXTRA_TIME_S,
  type MeasuredOnce,
  type OncePlan,
  pipReportOf,
  type RunOnce,
} from "../run/run-once.ts";
import { higherLines, largestLines, type NamedPeakLine } from "./name-peak-lines.ts";
import { type PlacedPeakLine, peakFinding } from "./peak-finding.ts";
import { type PeakOfRun, peakOfRun } from "./peak-of-run.ts";
import { type ComparedPeak, peakReport } from "./peak-report.ts";
import { readStoredPeak } from "./stored-peak.ts";

/** The base commit, to be run as the candidate is. */
export interface PeakBase {
  readonly cwd: string;
  readonly run: RunOnce;
}

/** A scenario whose peak is explained, and the way to its base. */
export interface PeakSubject extends AttributionSubject {
  /** The base, or why it cannot be run here. */
  readonly base: () => Promise<PeakBase | { readonly reason: string }>;
  /** What the baseline's peak consists of, as stored; null where that was not measured. */
  readonly stored: { readonly text: string; readonly opened: string } | null;
}

/** Fractions of the judged run at which a process writes what its peak was so far: a killed one leaves the last. */
const MOMENTS = [0.1, 0.3, 0.5, 0.7, 0.9] as const;

/** Growth of this share of a higher peak is looked into first. */
const MIN_GROWN = 0.5;

/** The breached peak, also one that growth explains; null for every other judgement. */
export function peakToExplain({ judgement, judged, scenario }: AttributionSubject): Check | null {
  if (judgement.verdict !== "fail" && judgement.verdict !== "warn") return null;
  if (judged.analysis === null || judged.recording === null) return null;
  const [cause] = causesOf(judgement.checks);
  const breached = cause === undefined ? [] : [cause.decisive, ...cause.explained];
  const peak = breached.find(({ aspect, metric }) => aspect === "peak" && METRIC[metric].isExplainable);
  if (peak === undefined || peak.candidate_bytes === null) return null;
  return peak.metric === "js_heap" && !namesNode(scenario.command) ? null : peak;
}

/** Whether growth decided, or the memory of a breached peak grew so much that this is the likelier cause. */
export function isGrowth({ judgement, judged: { analysis, recording } }: AttributionSubject, peak: Check): boolean {
  if (analysis === null || recording === null) return false;
  if (causesOf(judgement.checks)[0]?.decisive.aspect !== "peak") return true;
  const { device, metric, candidate_bytes: bytes, baseline_bytes: baseline } = peak;
  const difference = (bytes ?? 0) - (baseline ?? bytes ?? 0);
  // What an allocator holds for later grows with its peak, so it does not explain a peak of what is allocated.
  return judgedGrowths(judgement, analysis, recording).some(
    (growth) =>
      growth.device === device &&
      growth.bytes >= MIN_GROWN * difference &&
      (metric !== "allocated" || !METRIC[growth.metric].isHighwater),
  );
}

/** A run that writes down its peak. */
interface PeakRun {
  readonly command: Command;
  /** What counts it. */
  readonly metric: Metric;
  /** How long it is expected to last, seconds. */
  readonly durationS: number;
}

/** The variables of such a run. */
export function peakEnvironment(
  { command, metric, durationS }: PeakRun,
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const at = MOMENTS.map((fraction) => Math.round(fraction * durationS * 1000) / 1000);
  const moments = {
    STORMLOG_GATE_ATTRIBUTE: "peak",
    STORMLOG_GATE_ATTRIBUTE_AT: `seconds:${at.join(",")}`,
  };
  // JavaScript has no stacks in the C heap, where its buffers would count a second time.
  if (namesNode(command)) {
    const file = path.join(probeDirectory(), "node", "attribute.cjs");
    return { ...moments, NODE_OPTIONS: withPreload(env.NODE_OPTIONS, file) };
  }
  return {
    ...moments,
    STORMLOG_GATE_STACKS: "peak",
    // Python's own allocator takes arenas from the kernel, past the C heap and its counters.
    ...(IN_ARENAS.has(metric) && env.PYTHONMALLOC === undefined ? { PYTHONMALLOC: "malloc" } : {}),
  };
}

/** Metrics that contain what Python allocates of its arenas. */
const IN_ARENAS: ReadonlySet<Metric> = new Set<Metric>(["host", "python"]);

/** Why a verdict is as it is. */
export interface ExplainedPeak {
  /** The lines that make it higher, the largest first. */
  readonly findings: readonly Finding[];
  /** What a breached peak consists of; null where none was explained. */
  readonly peak: PeakReport | null;
}

/** Run the candidate, and the base where that is possible, and find what makes its peak higher. */
export async function explainPeak(subject: PeakSubject, check: Check): Promise<ExplainedPeak> {
  const { root, judgement, warn, noLine } = subject;
  const ran = await candidatePeak(subject, check);
  if (ran === null) return { findings: [], peak: null };
  const { candidate, after, plan } = ran;
  const ofBase = await comparedWith(subject, check, { candidate, plan, root });
  const compared = "reason" in ofBase ? (storedWith(subject, check) ?? ofBase) : ofBase;
  if ("reason" in compared) warn(`the peak could not be compared: ${compared.reason}`);
  const named =
    "reason" in compared
      ? largestLines(after.parts, check.candidate_bytes ?? 0)
      : higherLines(after.parts, compared.parts, compared.difference);
  if (named.length === 0) {
    noLine(
      "reason" in compared ? "none holds much of the peak" : "none holds a fifth of the difference between both peaks",
    );
  }
  const phase = phaseAt(candidate, after.moment);
  const severity = judgement.verdict === "fail" ? "critical" : "warning";
  const findings = placed(named, root, subject).map((one, index) =>
    peakFinding(one, {
      device: check.device,
      phase,
      severity: index === 0 ? severity : "warning",
      comparedWith: "reason" in compared ? null : compared.kind,
    }),
  );
  return { findings, peak: peakReport(check, after, "reason" in compared ? null : compared) };
}

/**
 * Run a candidate that ran out of memory once more, and find what it holds then. Not where the kernel killed: it takes
 * whatever process of the machine has most memory. @param check of running out of memory
 */
export async function explainOutOfMemory(subject: AttributionSubject, check: Check): Promise<ExplainedPeak> {
  const { device, candidate_bytes: bytes } = check;
  const found = subject.judged.analysis?.findings.find(({ classification }) => classification === "oom");
  // Of a peak that is not known no line holds a share.
  if (bytes === null || found === undefined || found.evidence.source === "kernel") return { findings: [], peak: null };
  const ran = await candidatePeak(subject, check);
  if (ran === null) return { findings: [], peak: null };
  const largest = placed(largestLines(ran.after.parts, bytes), subject.root, subject);
  const context = {
    device,
    phase: phaseAt(ran.candidate, ran.after.moment),
    severity: "info",
    comparedWith: null,
  } as const;
  return { findings: largest.map((one) => peakFinding(one, context)), peak: peakReport(check, ran.after, null) };
}

/** A run of the candidate for its peak, and what that consists of; null, with the reason, where it has none. */
async function candidatePeak(subject: AttributionSubject, check: Check) {
  const { request, scenario, root, judged, warn, noLine } = subject;
  const durationS = judged.info.clock.duration_s ?? 0;
  const planned = { command: scenario.command, metric: check.metric, durationS };
  const given = { ...request.env, ...scenario.env };
  const unseen = await unseenProgram(scenario.command, scenario.cwd, given.PATH);
  const env = { ...peakEnvironment(planned, given), ...notPreloaded(unseen) };
  const plan: OncePlan = { env, limitS: durationS + EXTRA_TIME_S };
  const candidate = await peakRun({ ...subject, warn: noLine }, "the peak", plan, subject.run);
  if (candidate === null) return null;
  for (const note of candidate.info.lost) if (note.startsWith(NATIVE_UNSEEN)) warn(note);
  const after = await peakOfRun(candidate, { ...check, root, other: root, warn });
  if (after.parts.length > 0) return { candidate, after, plan };
  noLine(unseen?.reason ?? "no measured process reported what its peak consists of");
  return null;
}

/** The probe itself allocates a little after the end of a phase, at its next reading, which may be what is highest. */
const AFTER_PHASE_NS = 50e6;

/** The phase that a process was in, else that which had just ended; null where it named none. */
function phaseAt({ recording, info }: MeasuredOnce, moment: PeakOfRun["moment"]): string | null {
  if (recording === null || moment === null) return null;
  const at = moment.timeNs - Number(info.clock.monotonic_start_ns);
  const begun = phaseEntries(recording).filter(({ pid, began_ns: from }) => pid === moment.pid && from <= at);
  const within = (afterNs: number) => begun.filter(({ ended_ns: to }) => to === null || at <= to + afterNs).at(-1);
  return (within(0) ?? within(AFTER_PHASE_NS))?.name ?? null;
}

/** How much higher the peak is than the baseline's, or than the base's in its own run; bytes, null when unknown. */
function differenceOf(check: Check, candidate: MeasuredOnce, base: MeasuredOnce): number | null {
  const { candidate_bytes: peak, baseline_bytes: baseline } = check;
  if (peak !== null && baseline !== null) return peak - baseline;
  const [after, before] = [candidate, base].map(
    ({ analysis }) => analysis?.series.find((series) => sameSeries(series, check))?.peak_bytes ?? null,
  );
  return after == null || before == null ? null : after - before;
}

/** A run that is made for its peak; null, with a note, where it was not made or did not end as the judged one. */
async function peakRun(
  { stopReason, scenario, judged, log, warn }: AttributionSubject,
  what: string,
  plan: OncePlan,
  run: RunOnce,
): Promise<MeasuredOnce | null> {
  const stop = stopReason();
  if (stop !== null) {
    warn(`${stop}, so ${what} was not explained`);
    return null;
  }
  log(`${scenario.name}: explaining ${what}, at most ${formatDuration(Math.ceil(plan.limitS)).replace(".0 s", " s")}`);
  const ran = await run(plan);
  if (ran.kind === "stopped") {
    warn(`${ran.reason}, so the run that explains ${what} was ended`);
    return null;
  }
  const { ending } = ran.finished;
  if (ending.kind === judged.ending.kind) return ran.finished;
  // What was written until then is a part of the run, whose peak may be another.
  warn(`in the run that explains ${what}, ${ending.kind === "failed" ? ending.message : "the command did not fail"}`);
  return null;
}

/** What the candidate's peak is compared with, or why there is nothing. */
async function comparedWith(
  subject: PeakSubject,
  check: Check,
  of: { readonly candidate: MeasuredOnce; readonly plan: OncePlan; readonly root: string },
): Promise<ComparedPeak | { readonly reason: string }> {
  const base = await subject.base();
  if ("reason" in base) return base;
  const { candidate, plan, root } = of;
  const finished = await peakRun(subject, "the base commit's peak", plan, base.run);
  if (finished === null) return { reason: "the base commit was not run" };
  const baseRoot = path.resolve(base.cwd, path.relative(subject.scenario.cwd, root));
  const found = await peakOfRun(finished, { ...check, root: baseRoot, other: root, warn: subject.warn });
  if (found.parts.length === 0) return { reason: "no process of the base commit reported what its peak consists of" };
  const difference = differenceOf(check, candidate, finished);
  if (difference === null) return { reason: "the base commit's peak is unknown" };
  return difference > 0 ? { kind: "base", ...found, difference } : { reason: "the base commit's peak is not lower" };
}

/** The stored composition of the baseline; null where there is none of this series, or its peak is not lower. */
function storedWith({ stored }: PeakSubject, check: Check): ComparedPeak | null {
  const { device, metric, candidate_bytes: peak, baseline_bytes: baseline } = check;
  if (stored === null || peak === null || baseline === null || peak <= baseline) return null;
  const found = readStoredPeak(stored.text, { opened: stored.opened, device, metric });
  return found === null ? null : { kind: "baseline", ...found, difference: peak - baseline };
}

/** The named lines with the package and the function that allocate. */
function placed(named: readonly NamedPeakLine[], root: string, subject: AttributionSubject): PlacedPeakLine[] {
  const pipReport = pipReportOf(subject);
  const modules = named.flatMap((one) => {
    const { place } = one.line;
    return place === null || PYTORCH.test(place.path)
      ? []
      : [{ of: one, file: place.path, relation: "called" as const }];
  });
  const native = packagesBy(modules, pipReport);
  const stacked = named.map(({ line: { at, stack } }) => {
    return { ...at, user: true, placed: "allocated", keptBy: null, stack } as const;
  });
  const python = linePackages(stacked, root, pipReport);
  return named.map((one, index): PlacedPeakLine => {
    const { place } = one.line;
    const frame = stacked[index];
    return {
      ...one,
      package: native.get(one) ?? (frame && python.get(frame)) ?? null,
      symbol: place === null ? null : symbolAt(place),
    };
  });
}
