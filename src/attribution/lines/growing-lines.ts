import type { Finding, LinePackage, Severity } from "../../analysis/series/document.ts";
import { messageOf } from "../../core/errors.ts";
import { probeDirectory } from "../../core/probe-directory.ts";
import { plural } from "../../core/text.ts";
import { LEAK_LINE } from "../../report/wording/source-line.ts";
import type { AttributedLine } from "../../snapshot/growth/attributed-line.ts";
import { attribute, type ProcessEvidence } from "../../snapshot/growth/attribution.ts";
import { type Frame, userFrames } from "../../snapshot/model/frames.ts";
import type { ProbeSummary } from "../../telemetry/recording/model.ts";
import { type NativeSamples, readNativeSamples } from "../native/native-files.ts";
import { withSampledPython } from "../native/sampled-python.ts";
import { notReached, type UnseenProgram } from "../native/unseen-program.ts";
import { calledPackages } from "../packages/called-packages.ts";
import { linePackages } from "../packages/line-packages.ts";
import { type AttributionEvidence, attributionEvidence } from "../run/attribution-evidence.ts";
import { MIN_MOMENTS } from "../run/attribution-plan.ts";
import type { JudgedGrowth } from "../run/judged-growth.ts";
import { lineFinding, type RecordedLanguage, unattributedFinding } from "./line-finding.ts";
import { isLost, tracedGrowth, tracedRate } from "./lost-memory.ts";
import { coveredBy, MAX_SLOWDOWN, MIN_LEAK_SHARE, type NamedLine, nameLines, type Unexplained } from "./name-lines.ts";
import { type NativeLine, nativeLines } from "./native-lines.ts";
import { SourceTexts } from "./source-texts.ts";

/** The result of an attribution run: findings that name lines, and notes on what is missing. */
interface GrowingLines {
  readonly findings: readonly Finding[];
  readonly notes: readonly string[];
  /** Why no line is named; null where one is, or a finding says what the growth is. */
  readonly noLine: string | null;
  /** Whether what grows is out of the program's reach; null = not known. */
  readonly lost: boolean | null;
  /** Growth of the interpreters' live memory between the samples, bytes. */
  readonly tracedBytes: number;
}

interface AttributionRun {
  /** Absolute run directory. */
  readonly directory: string;
  /** Working directory of the command. */
  readonly cwd: string;
  /** Directory that lines are named from. */
  readonly root: string;
  /** Absolute path of pip's installation report; null for none. */
  readonly pipReport: string | null;
  readonly probe: ProbeSummary | undefined;
  /** What files in RAM gained, bytes. */
  readonly inFiles: number;
  /** The process that has most of the host's growth; without a pid where it is not known to be one. */
  readonly growing: { readonly program: string; readonly pid: number | null };
  /** Why the command's own program is not seen; null where it is. */
  readonly unseen: UnseenProgram | null;
  /** Severity of the line that grows most; the others are warnings. */
  readonly severity: Severity;
  /** The growth that the verdict judged. */
  readonly growths: readonly JudgedGrowth[];
  /** How much slower than the judged run it went, 1 or more, by the growth that tracemalloc saw, bytes a second. */
  readonly slowdown: (tracedRate: number | null) => number;
}

/** Growth without a line is reported from this share of the whole on. */
const MIN_UNEXPLAINED = 0.2;

/** The only rank in which a line grows; null for several or none. */
function rankOf(line: AttributedLine, probe: ProbeSummary | undefined): number | null {
  const pids = new Set(line.processes.map((name) => Number(name.split(".")[0])));
  const ranks = new Set((probe?.processes ?? []).flatMap(({ pid, rank }) => (pids.has(pid) ? [rank] : [])));
  const [only] = ranks;
  return ranks.size === 1 && only !== undefined ? only : null;
}

/** Native memory that explains what no line of the interpreters does, and what is left of that. */
async function nativeGrowth(
  run: AttributionRun,
  unexplained: readonly Unexplained[],
  options: {
    readonly slowdown: number;
    readonly samples: NativeSamples;
    readonly isUserFrame: (frame: Frame) => boolean;
    readonly known: readonly AttributedLine[];
  },
): Promise<{ readonly lines: readonly NativeLine[]; readonly unexplained: readonly Unexplained[] }> {
  const wanted = unexplained.filter(({ growth, share }) => growth.device === "host" && share >= MIN_UNEXPLAINED);
  const growths = wanted.map(({ growth }) => growth);
  const lines = await nativeLines({ ...options, pipReport: run.pipReport, growths });
  const left = new Map(unexplained.map(({ growth, share }) => [growth, share] as const));
  const capped = lines.map((one): NativeLine => {
    const { growth, share } = one.named;
    const own = Math.min(share, left.get(growth) ?? 0);
    if (one.hasLine) left.set(growth, (left.get(growth) ?? 0) - own);
    // Less than its own estimate may be too little to be the cause.
    const kind = one.named.kind === "leak" && own < MIN_UNEXPLAINED ? "contributing" : one.named.kind;
    return { ...one, named: { ...one.named, kind, share: own } };
  });
  return {
    lines: capped,
    unexplained: unexplained.map((one) => ({ ...one, share: Math.max(0, left.get(one.growth) ?? one.share) })),
  };
}

/** Whether the process that grows was seen: by its probe, or by the growth of its C heap. */
function isReached(
  { growing, growths }: AttributionRun,
  processes: readonly ProcessEvidence[],
  samples: NativeSamples,
): boolean {
  const isGrowing = (id: string): boolean => growing.pid === null || Number.parseInt(id, 10) === growing.pid;
  if (processes.some(({ process }) => isGrowing(process))) return true;
  const own = samples.processes.filter(([id]) => isGrowing(id));
  // Few readings are close to each other, and show no growth for that.
  if (own.some(([, live]) => live.length < MIN_MOMENTS)) return true;
  const heap = own.reduce((sum, [, live]) => sum + (live.at(-1)?.totalBytes ?? 0) - (live[0]?.totalBytes ?? 0), 0);
  const onHost = growths.find(({ device }) => device === "host")?.bytes ?? 0;
  return own.length > 0 && heap >= MIN_UNEXPLAINED * onHost;
}

/** Whether a finding says which memory it is that no line holds. */
const isExplained = ({ evidence }: Finding): boolean => evidence.memory !== "unknown";

/** A moment at which Python's memory could not be read; its last note says why. */
const unreadMoment = (processes: readonly ProcessEvidence[]) =>
  processes.flatMap(({ moments }) => moments).findLast(({ unread }) => unread);

/** Why no line is named; null where a finding says of what the growth is. */
function noLine(
  processes: readonly ProcessEvidence[],
  samples: NativeSamples,
  isDescribed: boolean,
  slowdown: number,
): string | null {
  const taken = Math.max(
    0,
    ...processes.map(({ moments }) => new Set(moments.flatMap(({ unread, moment }) => (unread ? [] : [moment]))).size),
    ...samples.processes.map(([, live]) => live.length),
  );
  if (isDescribed) return null;
  const why = unreadMoment(processes)?.notes.at(-1);
  if (why !== undefined) return why;
  if (taken < MIN_MOMENTS && taken > 0)
    return `${plural(taken, "reading")} of the heap fitted into the run, and a line is named from ${MIN_MOMENTS} on: a longer run names it`;
  return slowdown > MAX_SLOWDOWN
    ? `recording was ${Math.round(slowdown)} times slower, so a line's share is not known: a program that reports its steps gets one`
    : "none holds a fifth of the growth";
}

function languageOf(sources: readonly string[]): RecordedLanguage {
  if (sources.some((source) => source === "tracemalloc" || source === "torch-cpu")) return "python";
  return sources.includes("v8-heap") ? "node" : "none";
}

/** The packages of lines: by their Python frames, else by the compiled code that they call. */
function packagesOf(
  lines: readonly AttributedLine[],
  samples: NativeSamples,
  { cwd, pipReport }: AttributionRun,
): ReadonlyMap<AttributedLine, LinePackage> {
  const byFrames = linePackages(lines, cwd, pipReport);
  // Where it is known what keeps the memory, the program's own code does.
  const others = lines.filter((line) => !byFrames.has(line) && line.placed === "allocated" && line.keptBy === null);
  return new Map([...byFrames, ...calledPackages(others, samples, pipReport)]);
}

/** Read the files of an attribution run, and name the lines that explain the verdict's growth, the largest first. */
export async function growingLines(run: AttributionRun): Promise<GrowingLines> {
  const { root } = run;
  const isUserFrame = userFrames({ root, exclude: [probeDirectory()] });
  let evidence: AttributionEvidence;
  try {
    evidence = attributionEvidence(run.directory, isUserFrame);
  } catch (error) {
    return { findings: [], notes: [], noLine: messageOf(error), lost: null, tracedBytes: 0 };
  }
  const samples = readNativeSamples(run.directory);
  const processes = withSampledPython(evidence.processes, samples, isUserFrame);
  const attribution = attribute(processes, { isUserFrame });
  const slowdown = run.slowdown(tracedRate(processes));
  const covered = coveredBy(
    processes.map(({ moments }) => moments.map(({ sample }) => sample)),
    slowdown,
  );
  const { named: single, unexplained } = nameLines(attribution, run.growths, covered);
  const packages = packagesOf(
    [...single.map(({ line }) => line), ...unexplained.flatMap(({ staying }) => staying ?? [])],
    samples,
    run,
  );
  const named = withPackageShares(single, packages);
  const texts = new SourceTexts(run.cwd);
  const lines = named.map((one, index) =>
    lineFinding(one, {
      root,
      severity: index === 0 ? run.severity : "warning",
      rank: rankOf(one.line, run.probe),
      code: texts.at(one.line),
      package: packages.get(one.line) ?? null,
    }),
  );
  const known = single.map(({ line }) => line);
  const native = await nativeGrowth(run, unexplained, { slowdown, samples, isUserFrame, known });
  const placed = native.lines.filter(({ hasLine }) => hasLine);
  const nativeFindings = placed.map(({ named: one, site }, index) =>
    lineFinding(one, {
      root,
      severity: named.length + index === 0 ? run.severity : "warning",
      rank: rankOf(one.line, run.probe),
      code: texts.at(one.line),
      package: site.package,
      site,
    }),
  );
  const all = [...named, ...placed.map((one) => one.named)];
  const isEstimate = slowdown > MAX_SLOWDOWN;
  // What estimates leave over is not known to be something else.
  const rest = native.unexplained.filter(({ share }) => share >= MIN_UNEXPLAINED && !(isEstimate && all.length > 0));
  const site = native.lines.find(({ hasLine }) => !hasLine)?.site ?? null;
  const language = languageOf(attribution.sources);
  const isUnreached = all.length === 0 && !isReached(run, processes, samples);
  const isHidden = isUnreached || (all.length === 0 && unreadMoment(processes) !== undefined);
  const others = rest.map((one) => {
    const found = one.staying === null ? null : (packages.get(one.staying) ?? null);
    const isInFiles = one.growth.device === "host" && 2 * run.inFiles >= one.growth.bytes;
    const memory = isInFiles ? "files" : isHidden ? "unknown" : one.memory;
    return unattributedFinding(
      { ...one, memory },
      {
        root,
        language,
        site,
        package: found,
        unseen: run.unseen,
        isUnreached: isHidden && run.unseen === null && !isInFiles,
      },
    );
  });
  const findings = [...lines, ...nativeFindings, ...others].sort(
    (a, b) => Number(b.classification === LEAK_LINE) - Number(a.classification === LEAK_LINE),
  );
  const estimated =
    isEstimate && all.length > 0
      ? [`the attribution run was ${Math.round(slowdown)} times slower, so shares of the growth are estimates`]
      : [];
  const none = isUnreached
    ? (run.unseen?.reason ?? notReached(run.growing.program))
    : all.some(({ kind }) => kind !== "contributing")
      ? null
      : noLine(processes, samples, site !== null || others.some(isExplained), slowdown);
  const holding = named.filter(({ kind }) => kind === "leak").map(({ line }) => line);
  return {
    findings,
    notes: [...evidence.notes, ...attribution.notes, ...samples.notes, ...estimated],
    noLine: none,
    lost: isLost(processes, holding, [...attribution.lines, ...attribution.jumps]),
    tracedBytes: tracedGrowth(processes),
  };
}

type Packages = ReadonlyMap<AttributedLine, LinePackage>;

/**
 * Growth that no line holds a fifth of, since it is spread over a package: its lines, with the one line of the program
 * that calls it, are one leak where they hold a fifth together. Lines of the program that call the same package may
 * have nothing else in common, so two of them are not added up.
 */
export function withPackageShares(named: readonly NamedLine[], packages: Packages): readonly NamedLine[] {
  const growths = [...new Set(named.map(({ growth }) => growth))];
  return growths.flatMap((growth) => {
    const own = named.filter((one) => one.growth === growth);
    return own.some(({ kind }) => kind !== "contributing") ? own : combined(own, packages);
  });
}

function combined(lines: readonly NamedLine[], packages: Packages): readonly NamedLine[] {
  const names = new Set(lines.flatMap(({ line }) => packages.get(line)?.name ?? []));
  const found = [...names].flatMap((name) => {
    const own = lines.filter(({ line }) => packages.get(line)?.name === name);
    const inside = own.filter(({ line }) => packages.get(line)?.relation !== "called");
    const callers = own.filter(({ line }) => packages.get(line)?.relation === "called");
    const together = callers.length === 1 ? [...callers, ...inside] : inside;
    const share = together.reduce((sum, one) => sum + one.share, 0);
    const isLeak = together.length > 1 && inside.length > 0 && share >= MIN_LEAK_SHARE;
    return isLeak ? [{ together, share }] : [];
  });
  const [largest] = found.sort((a, b) => b.share - a.share);
  const [first, ...others] = largest?.together ?? [];
  if (largest === undefined || first === undefined) return lines;
  const leak: NamedLine = { ...first, kind: "leak", share: Math.min(1, largest.share), others: others.length };
  return [leak, ...lines.filter((one) => !largest.together.includes(one))];
}
