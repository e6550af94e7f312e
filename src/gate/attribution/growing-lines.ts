import { readFileSync, statSync } from "node:fs";
import path from "node:path";
import type { Finding, Severity } from "../../analysis/document.ts";
import { git } from "../../baseline/git.ts";
import { probeDirectory } from "../../core/probe-directory.ts";
import { type AttributedLine, attribute } from "../../snapshot/attribution.ts";
import { userFrames } from "../../snapshot/frames.ts";
import type { ProbeSummary } from "../../telemetry/recording/model.ts";
import { type AttributionEvidence, attributionEvidence } from "./attribution-evidence.ts";
import { lineFinding } from "./line-finding.ts";

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
}

const MAX_LINES = 5;
/** Smallest share of the growth for a finding. */
const MIN_SHARE = 0.05;
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

/** Read the files of an attribution run, and name the lines that grow, the largest growth first. */
export async function growingLines(run: AttributionRun): Promise<GrowingLines> {
  const top = await git(run.cwd, ["rev-parse", "--show-toplevel"]);
  const root = top.ok && top.stdout !== "" ? top.stdout : run.cwd;
  const isUserFrame = userFrames({ root, exclude: [probeDirectory()] });
  const unnamed = (why: string, notes: readonly string[] = []): GrowingLines => ({
    findings: [],
    notes: [...notes, `no line could be named: ${why}`],
  });
  let evidence: AttributionEvidence;
  try {
    evidence = attributionEvidence(run.directory, isUserFrame);
  } catch (error) {
    return unnamed(error instanceof Error ? error.message : String(error));
  }
  if (evidence.processes.length === 0) return unnamed("no measured process reported its live memory", evidence.notes);
  const { lines, notes } = attribute(evidence.processes, { isUserFrame });
  const reported = lines.filter(({ share, trend }) => share >= MIN_SHARE && trend === "grows").slice(0, MAX_LINES);
  const findings = reported.map((line, index) =>
    lineFinding(line, {
      root,
      severity: index === 0 ? run.severity : "warning",
      rank: rankOf(line, run.probe),
      code: codeAt(path.resolve(run.cwd, line.file), line.line),
    }),
  );
  const none = findings.length === 0 ? ["no line was found that grows throughout the attribution run"] : [];
  return { findings, notes: [...evidence.notes, ...notes, ...none] };
}
