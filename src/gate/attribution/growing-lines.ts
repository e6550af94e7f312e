import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { Finding, Severity } from "../../analysis/document.ts";
import { git } from "../../baseline/git.ts";
import { probeDirectory } from "../../core/probe-directory.ts";
import { type AttributedLine, attribute, type ProcessEvidence } from "../../snapshot/attribution.ts";
import { userFrames } from "../../snapshot/frames.ts";
import type { ProbeSummary } from "../../telemetry/recording/model.ts";
import { type AttributionEvidence, attributionEvidence } from "./attribution-evidence.ts";
import type { JudgedGrowth } from "./judged-growth.ts";
import { lineFinding, type RecordedLanguage, unattributedFinding } from "./line-finding.ts";
import { type Covered, nameLines } from "./name-lines.ts";

/** The result of an attribution run: findings that name lines, and notes on what is missing. */
interface GrowingLines {
  readonly findings: readonly Finding[];
  readonly notes: readonly string[];
}

interface AttributionRun {
  /** Absolute run directory. */
  readonly directory: string;
  /** Working directory of the command; lines are named relative to its repository. */
  readonly cwd: string;
  readonly probe: ProbeSummary | undefined;
  /** Severity of the line that grows most; the others are warnings. */
  readonly severity: Severity;
  /** The growth that the verdict judged. */
  readonly growths: readonly JudgedGrowth[];
  /** How much slower than the judged run it went; 1 or more. */
  readonly slowdown: number;
}

/** Growth without a line is reported from this share of the whole on. */
const MIN_UNEXPLAINED = 0.2;
const MAX_SOURCE_BYTES = 4 * 1024 * 1024;
const MAX_CODE = 200;

/** The text of a source line, trimmed; null when it cannot be read. */
function codeAt(file: string, line: number): string | null {
  try {
    // The path comes from the measured program: reading a device or a pipe might never end.
    const stats = statSync(file);
    if (!stats.isFile() || stats.size > MAX_SOURCE_BYTES) return null;
    const text = readFileSync(file, "utf8").split("\n", line)[line - 1]?.trim() ?? "";
    return text === "" ? null : text.slice(0, MAX_CODE);
  } catch {
    return null;
  }
}

/** The only rank in which a line grows; null for several or none. */
function rankOf(line: AttributedLine, probe: ProbeSummary | undefined): number | null {
  const pids = new Set(line.processes.map((name) => Number(name.split(".")[0])));
  const ranks = new Set((probe?.processes ?? []).flatMap(({ pid, rank }) => (pids.has(pid) ? [rank] : [])));
  const [only] = ranks;
  return ranks.size === 1 && only !== undefined ? only : null;
}

/** What the moments of the process that was recorded longest cover. */
function coveredBy(processes: readonly ProcessEvidence[], slowdown: number): Covered {
  const span = (values: readonly (number | null)[]): number | null => {
    const known = values.filter((value) => value !== null);
    return known.length < 2 ? null : Math.max(...known) - Math.min(...known);
  };
  const longest = (of: (process: ProcessEvidence) => number | null): number | null => {
    const known = processes.map(of).filter((value) => value !== null);
    return known.length === 0 ? null : Math.max(...known);
  };
  const nanoseconds = longest(({ moments }) => span(moments.map(({ sample }) => sample.timeNs)));
  return {
    steps: longest(({ moments }) => span(moments.map(({ sample }) => sample.step))),
    seconds: nanoseconds === null ? null : nanoseconds / 1e9,
    slowdown,
  };
}

function languageOf(sources: readonly string[]): RecordedLanguage {
  if (sources.includes("tracemalloc")) return "python";
  return sources.includes("v8-heap") ? "node" : "none";
}

/** Read the files of an attribution run, and name the lines that explain the verdict's growth, the largest first. */
export async function growingLines(run: AttributionRun): Promise<GrowingLines> {
  const top = await git(run.cwd, ["rev-parse", "--show-toplevel"]);
  const root = top.ok && top.stdout !== "" ? top.stdout : run.cwd;
  const isUserFrame = userFrames({ root, exclude: [probeDirectory()] });
  let evidence: AttributionEvidence;
  try {
    evidence = attributionEvidence(run.directory, isUserFrame);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { findings: [], notes: [`no line could be named: ${why}`] };
  }
  const attribution = attribute(evidence.processes, { isUserFrame });
  const { named, unexplained } = nameLines(attribution, run.growths, coveredBy(evidence.processes, run.slowdown));
  const lines = named.map((one, index) =>
    lineFinding(one, {
      root,
      severity: index === 0 ? run.severity : "warning",
      rank: rankOf(one.line, run.probe),
      code: codeAt(path.resolve(run.cwd, one.line.file), one.line.line),
    }),
  );
  const rest = unexplained.filter(({ share }) => share >= MIN_UNEXPLAINED);
  const findings = [...lines, ...rest.map((one) => unattributedFinding(one, languageOf(attribution.sources)))];
  const none =
    evidence.processes.length === 0
      ? ["no line could be named: no measured process reported its live memory"]
      : named.some(({ kind }) => kind !== "contributing")
        ? []
        : ["no line was found that holds a fifth of the growth"];
  return { findings, notes: [...evidence.notes, ...attribution.notes, ...none] };
}
