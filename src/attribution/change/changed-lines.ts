import type { Finding } from "../../analysis/series/document.ts";
import { inPipeline } from "../../core/process/environment.ts";
import { cutText } from "../../core/text.ts";
import { git } from "../../git/git.ts";
import type { RepositoryView } from "../../git/repository-view.ts";
import {
  LEAK_LINE,
  ONE_TIME_LINE,
  PEAK_LINE,
  type SourceLocation,
  sourceLocationOf,
} from "../../report/wording/source-line.ts";
import { diffLines, type FileChange } from "./diff-lines.ts";

/** Findings that name a line which may be the change's. */
const NAMES_A_LINE: ReadonlySet<string> = new Set([LEAK_LINE, ONE_TIME_LINE, PEAK_LINE]);

type LineStatus = "changed" | "unchanged" | null;

/** The changes of the measured code since it left the main branch. */
interface MeasuredChanges {
  readonly files: ReadonlyMap<string, FileChange>;
  /** Files of the commit, whose lines are changed only where the diff says so. */
  readonly tracked: ReadonlySet<string>;
  /** New files that are not committed yet, all of whose lines are changed. */
  readonly added: ReadonlySet<string>;
}

/** Without the programs that attributes name, and without looking into submodules, whose configuration is not ours. */
const DIFF = [
  "diff",
  "--unified=0",
  "--inter-hunk-context=0",
  "--no-ext-diff",
  "--no-color",
  "--no-textconv",
  "--no-relative",
  "--find-renames",
  "--submodule=short",
  "--ignore-submodules=dirty",
  "--src-prefix=a/",
  "--dst-prefix=b/",
];

async function answer(cwd: string, args: readonly string[]): Promise<string | null> {
  const { ok, stdout } = await git(cwd, args, { env: { GIT_DIFF_OPTS: "" } });
  return ok ? stdout : null;
}

/** Read the changes of the working tree since the merge base; null when they are unknown, or there are none. */
async function readChanges(view: RepositoryView, named: readonly string[]): Promise<MeasuredChanges | null> {
  const range = await measuredRange(view);
  if (range === null) return null;
  const { top, base, isJob } = range;
  const diff = await answer(top, [...DIFF, base, "--"]);
  const listed = await answer(top, [
    "--literal-pathspecs",
    "ls-files",
    "-z",
    "-t",
    "--cached",
    "--modified",
    "--others",
    "--exclude-standard",
    "--",
    ...named,
  ]);
  if (diff === null || listed === null) return null;
  const entries = listed.split("\0").filter((entry) => entry !== "");
  const tagged = (tag: string) => entries.flatMap((entry) => (entry.startsWith(`${tag} `) ? [entry.slice(2)] : []));
  const edited = new Set(isJob ? tagged("C") : []);
  const files = diffLines(diff);
  const added = isJob ? [] : tagged("?");
  if (files.size === 0 && added.length === 0) return null;
  return { files, tracked: new Set(tagged("H").filter((file) => !edited.has(file))), added: new Set(added) };
}

/** Whether a line was changed; null when that is unknown, as for a file outside the repository. */
function statusOf({ file, line }: SourceLocation, { files, tracked, added }: MeasuredChanges): LineStatus {
  if (added.has(file)) return "changed";
  if (!tracked.has(file)) return null;
  const change = files.get(file);
  if (change === undefined) return "unchanged";
  if (change.kind === "unknown") return null;
  return change.changed.some(({ first, last }) => first <= line && line <= last) ? "changed" : "unchanged";
}

/** The changed line of the same file that is nearest, or the line behind which lines were removed, with these. */
function nearestChange(
  { file, line }: SourceLocation,
  { files }: MeasuredChanges,
): { readonly at: number; readonly removed?: readonly string[] } | null {
  const change = files.get(file);
  if (change?.kind !== "lines") return null;
  const candidates = [
    ...change.changed.map(({ first, last }) => ({ at: Math.min(Math.max(line, first), last) })),
    ...change.removed.map(({ after, lines }) => ({ at: Math.max(1, after), removed: lines })),
  ];
  return candidates.sort((a, b) => Math.abs(a.at - line) - Math.abs(b.at - line))[0] ?? null;
}

/** The removed lines that say something, as one. */
function removedCode(lines: readonly string[]): string {
  const code = lines.map((text) => text.trim().replace(/\s+/g, " ")).filter((text) => /\w/.test(text));
  return cutText(code.join("; "), 120);
}

/** The frames of a finding's stack, innermost first. */
function framesOf({ evidence: { stack } }: Finding): SourceLocation[] {
  const frames = typeof stack === "string" ? stack.split(" < ") : [];
  return frames.flatMap((frame) => {
    const [, file, line] = /^(.+?):(\d{1,9}) /s.exec(`${frame} `) ?? [];
    return file === undefined ? [] : [{ file, line: Number(line) }];
  });
}

/** The frames that lead to the line of a finding; empty when the stack does not contain the line. */
function callersOf(finding: Finding, { file, line }: SourceLocation): SourceLocation[] {
  const frames = framesOf(finding);
  const at = frames.findIndex((frame) => frame.file === file && frame.line === line);
  return at < 0 ? [] : frames.slice(at + 1);
}

/** The evidence of a finding about the change: whether its line is part of it, else what is nearest to it. */
function changeEvidence(finding: Finding, changes: MeasuredChanges | null): Finding["evidence"] {
  const location = sourceLocationOf(finding);
  const changed = changes === null || location === null ? null : statusOf(location, changes);
  if (changes === null || location === null || changed !== "unchanged") {
    return { changed, called_from: null, nearest_change: null };
  }
  const caller = callersOf(finding, location).find((frame) => statusOf(frame, changes) === "changed");
  const nearest = nearestChange(location, changes);
  return {
    changed,
    called_from: caller === undefined ? null : `${caller.file}:${caller.line}`,
    nearest_change: nearest === null ? null : `${location.file}:${nearest.at}`,
    ...(nearest?.removed === undefined
      ? {}
      : { removed_lines: nearest.removed.length, removed_code: removedCode(nearest.removed) }),
  };
}

/** Git refuses to list files outside the repository. */
const isInside = (file: string): boolean => !file.startsWith("/") && !file.split("/").includes("..");

/** Add to each finding that names a line whether the change wrote this line, or one that calls it. Never throws. */
export async function markChangedLines(
  findings: readonly Finding[],
  view: RepositoryView,
): Promise<readonly Finding[]> {
  const marked = findings.filter(({ classification }) => NAMES_A_LINE.has(classification));
  const locations = marked.flatMap((finding) => [sourceLocationOf(finding) ?? [], framesOf(finding)].flat());
  if (locations.length === 0) return findings;
  const named = [...new Set(locations.map(({ file }) => file))].filter(isInside);
  const changes = await readChanges(view, named).catch(() => null);
  return findings.map((finding) =>
    marked.includes(finding)
      ? { ...finding, evidence: { ...finding.evidence, ...changeEvidence(finding, changes) } }
      : finding,
  );
}

/** The commits between which a change is looked at. */
interface MeasuredRange {
  /** Top of the work tree. */
  readonly top: string;
  /** The commit where the measured code left the main branch. */
  readonly base: string;
  /** In a job, files that differ from the commit were changed by the job, not by the pull request. */
  readonly isJob: boolean;
}

/** The range of the measured change; null where it is unknown, or the job measures the base itself. */
export async function measuredRange(view: RepositoryView): Promise<MeasuredRange | null> {
  const { checkout } = view;
  // The changes of a submodule are those of another project.
  if (checkout.problem !== null || checkout.isSubmodule) return null;
  const base = await view.certainBase();
  const isJob = inPipeline(view.env);
  return base === null || (isJob && checkout.head === base) ? null : { top: checkout.top, base, isJob };
}
