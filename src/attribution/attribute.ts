import path from "node:path";
import { growthStretch } from "../analysis/growth/growth-stretch.ts";
import type { Finding } from "../analysis/series/document.ts";
import { collectSeries } from "../analysis/series/series.ts";
import { probeDirectory } from "../core/probe-directory.ts";
import { oneLine } from "../core/text.ts";
import { formatDuration } from "../core/units.ts";
import { NATIVE_UNSEEN } from "../measure/environment/probe-environment.ts";
import { lastLine, outputTail } from "../measure/session/output-tail.ts";
import { decidingCheck } from "../report/headline/causes.ts";
import { LEAK_LINE } from "../report/wording/source-line.ts";
import type { Metric } from "../telemetry/recording/metrics.ts";
import { hasDoubtfulLeak } from "../verdict/rules/small-leak.ts";
import { growingLines } from "./lines/growing-lines.ts";
import { notPreloaded, type UnseenProgram, unseenProgram } from "./native/unseen-program.ts";
import {
  type AttributionDepth,
  type AttributionTimes,
  attributionEnvironment,
  attributionTimes,
  attributionWanted,
  settledPart,
} from "./run/attribution-plan.ts";
import { type JudgedGrowth, judgedGrowths } from "./run/judged-growth.ts";
import { type AttributionSubject, EXTRA_TIME_S, type MeasuredOnce, pipReportOf } from "./run/run-once.ts";

/** The result of the attribution runs of a scenario. */
export interface AttributedGrowth {
  /** The largest growth first. */
  readonly findings: readonly Finding[];
  /** Whether what grows, and grew again, is out of the program's reach. */
  readonly lost: boolean;
}

const NOTHING: AttributedGrowth = { findings: [], lost: false };
/** Share of the judged growth that must be seen again, since garbage that waits for the collector is not lost. */
const GROWN_AGAIN = 0.5;

/** Why no line is looked for in what no probe sees line by line, and what shows its cause. */
const WITHOUT_LINES: Partial<Record<Metric, string>> = {
  jvm_heap:
    "none is looked for in the Java heap: compare the class histograms of two times (`jcmd PID GC.class_histogram`), or open `jcmd PID GC.heap_dump FILE`",
  descriptors: "none is looked for, since descriptors are not memory: `ls -l /proc/PID/fd` shows what is open",
  threads: "none is looked for, since threads are not memory: `cat /proc/PID/task/*/comm` shows their names",
};

/** Run the candidate with attribution on. */
export async function attributeGrowth(subject: AttributionSubject): Promise<AttributedGrowth> {
  const { request, scenario, judged, judgement, warn, noLine } = subject;
  const { recording, analysis } = judged;
  const decisive = decidingCheck(judgement.checks);
  const reason = decisive === null || decisive.verdict === "pass" ? undefined : WITHOUT_LINES[decisive.metric];
  if (reason !== undefined && request.attribute !== "always") {
    noLine(reason);
    return NOTHING;
  }
  if (recording === null || analysis === null || !attributionWanted(request.attribute, judgement, analysis))
    return NOTHING;
  const growths = judgedGrowths(judgement, analysis, recording);
  const durationS = judged.info.clock.duration_s ?? 0;
  const [first] = growths;
  // A higher peak without growth or a jump has nothing that a repetition could name.
  if (first === undefined && request.attribute !== "always") return NOTHING;
  const stop = subject.stopReason();
  if (stop !== null) {
    noLine(`${stop}, so none was looked for`);
    return NOTHING;
  }
  const times = attributionTimes(first?.stretch ?? settledPart(recording, durationS));
  if (times === null) {
    noLine(first === undefined ? "the run is too short" : "the growth is too short: a longer run names it");
    return NOTHING;
  }
  const unseen = await unseenProgram(scenario.command, scenario.cwd, scenario.env.PATH ?? request.env.PATH);
  const finished = await runs(subject, times, durationS, unseen);
  if (finished === null || first === undefined) return NOTHING;
  const again = growthOf(first, finished);
  const growing = growingProcess(finished);
  const found = await growingLines({
    directory: finished.directory,
    cwd: scenario.cwd,
    root: subject.root,
    pipReport: pipReportOf(subject),
    probe: finished.info.probe,
    inFiles: Math.max(sharedGrowth(finished), ...(finished.info.ram_files?.bytes ?? [])),
    growing,
    unseen: unseen?.program === growing.program ? unseen : null,
    severity: judgement.verdict === "fail" ? "critical" : "warning",
    growths,
    slowdown: (tracedRate) => slowdownOf(first, judged, finished, again, tracedRate),
  });
  for (const note of finished.info.lost) if (note.startsWith(NATIVE_UNSEEN)) warn(note);
  for (const note of found.notes) warn(note);
  if (found.noLine !== null) noLine(found.noLine);
  // The samples cover a part of the growth. What Python does not allocate may be a cache of compiled code.
  const grewAgain = 2 * found.tracedBytes >= GROWN_AGAIN * first.stretch.bytes;
  const lost = found.lost === true && grewAgain;
  // What is lost fails, and its line is the cause.
  const fails = lost && hasDoubtfulLeak(judgement);
  const severe = (finding: Finding, at: number): Finding =>
    fails && at === 0 && finding.classification === LEAK_LINE ? { ...finding, severity: "critical" } : finding;
  return { findings: found.findings.map(severe), lost };
}

/** By how much the processes' shared memory, each page once, grew at most, bytes. */
function sharedGrowth({ recording }: MeasuredOnce): number {
  const [first = 0, ...later] = recording?.tables.find(({ columns }) => columns.shared)?.columns.shared ?? [];
  return later.reduce((most, bytes) => Math.max(most, bytes - first), 0);
}

/** The process that has more of the host's rise than all others, by its program; its pid where it is one. */
function growingProcess({ recording, info }: MeasuredOnce) {
  const roles = (recording?.info?.processes?.roles ?? []).map((role) => {
    return { ...role, rise: Math.max(...role.bytes) - (role.bytes.find((bytes) => bytes > 0) ?? 0) };
  });
  const all = roles.reduce((sum, { rise }) => sum + rise, 0);
  const most = roles.find(({ rise }) => 2 * rise > all);
  return { program: most?.program || path.basename(info.command.argv[0] ?? ""), pid: most?.pid ?? null };
}

/** How the judged series grew in another run; null when it did not, or jumped. */
function growthOf({ device, metric }: JudgedGrowth, { recording }: MeasuredOnce) {
  const series = recording === null ? [] : collectSeries(recording);
  const own = series.find((one) => one.device === device && one.metric === metric);
  const grew = own === undefined ? null : growthStretch(own);
  return grew?.kind === "growth" ? grew : null;
}

/** The attribution run, or a second one of the lightest kind where the program does not survive the first. */
async function runs(
  subject: AttributionSubject,
  times: AttributionTimes,
  durationS: number,
  unseen: UnseenProgram | null,
): Promise<MeasuredOnce | null> {
  const { request, scenario, warn, noLine } = subject;
  const allowedS = durationS + EXTRA_TIME_S;
  let leftS = allowedS;
  const kinds: readonly AttributionDepth[] = ["on", "light"];
  for (const [index, depth] of kinds.entries()) {
    const stop = subject.stopReason();
    if (index > 0 && (stop !== null || leftS < durationS)) {
      warn(`no lighter attribution run was made: ${stop ?? "the time for attribution runs is used up"}`);
      return null;
    }
    const most = formatDuration(Math.ceil(leftS)).replace(".0 s", " s");
    subject.log(`${scenario.name}: finding the line, at most ${most}${index === 0 ? "" : ", recording less"}`);
    const node = path.join(probeDirectory(), "node", "attribute.cjs");
    const nodeOptions = scenario.env.NODE_OPTIONS ?? request.env.NODE_OPTIONS;
    const env = { ...attributionEnvironment(times, node, nodeOptions, depth), ...notPreloaded(unseen) };
    const ran = await subject.run({ env, limitS: leftS });
    if (ran.kind === "stopped") {
      noLine(`${ran.reason}, so the search for it was ended`);
      return null;
    }
    const { finished } = ran;
    const { exit } = finished.info;
    if (finished.ending.kind === "ok") return finished;
    if (exit.kind === "timeout" && exit.after_s === leftS) {
      warn(
        `the attribution run was ended after ${formatDuration(leftS)}: together they take at most the judged run's ` +
          `length and ${EXTRA_TIME_S} s, so its later moments are missing`,
      );
      return finished;
    }
    if (finished.ending.kind === "failed") {
      const last = exit.kind === "exited" ? lastLine(outputTail(finished.directory) ?? "").slice(0, 200) : "";
      noLine(`with attribution on, ${finished.ending.message}${last === "" ? "" : ` (${oneLine(last)})`}`);
    }
    leftS -= finished.info.clock.duration_s ?? allowedS;
  }
  return null;
}

/** How much slower the attribution run grew than the judged one, for growth that is counted by the clock. */
function slowdownOf(
  { stretch, metric }: JudgedGrowth,
  judged: MeasuredOnce,
  finished: MeasuredOnce,
  grew: ReturnType<typeof growthOf>,
  tracedRate: number | null,
): number {
  if (stretch.kind === "jump" || stretch.unit === "steps") return 1;
  const durationS = judged.info.clock.duration_s ?? 0;
  const took = finished.info.clock.duration_s ?? 0;
  const beforeS = Math.max(0, stretch.onset);
  const slower = took > durationS && durationS > beforeS ? (took - beforeS) / (durationS - beforeS) : 1;
  const rate = stretch.bytes / (stretch.end - stretch.onset);
  // A program that leaves the probe's thread no time has no series; tracemalloc sees all of this metric's memory.
  const traced = metric === "python" ? (tracedRate ?? rate) : rate;
  const ownRate = grew?.unit === "seconds" ? grew.bytes / (grew.end - grew.onset) : traced;
  return Math.max(1, slower, rate / ownRate);
}
