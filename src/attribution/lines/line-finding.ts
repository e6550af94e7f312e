import path from "node:path";
import type { Finding, LinePackage, Severity } from "../../analysis/series/document.ts";
import { plural } from "../../core/text.ts";
import { formatBytes, formatBytesDelta } from "../../core/units.ts";
import { packageName, packageText, percent } from "../../report/headline/line-answer.ts";
import { CONTRIBUTING_LINE, LEAK_LINE, ONE_TIME_LINE, UNATTRIBUTED_GROWTH } from "../../report/wording/source-line.ts";
import type { AttributedLine } from "../../snapshot/growth/attributed-line.ts";
import { relativePath } from "../../snapshot/model/frames.ts";
import type { UnseenProgram } from "../native/unseen-program.ts";
import type { NamedLine, Unexplained } from "./name-lines.ts";
import type { NativeSite } from "./native-lines.ts";

/** What a finding needs besides the line. */
interface LineContext {
  /** Directory of the repository; null when the command does not run in one. */
  readonly root: string | null;
  readonly severity: Severity;
  /** Rank the line grows in; null when it grows in several, or the run has no ranks. */
  readonly rank: number | null;
  /** The line's own text, trimmed; null when the file cannot be read. */
  readonly code: string | null;
  /** The installed package that the line is in, calls, or is called by; null for none, or where it is unknown. */
  readonly package: LinePackage | null;
  /** Where native memory is allocated; absent for the interpreter's own. */
  readonly site?: NativeSite;
}

/** "tokenizers 0.20.3", or the file's name. */
function moduleText({ package: found, module }: NativeSite): string {
  return found === null ? path.posix.basename(module) : `${found.name} ${found.version}`;
}

/** "serve.py:41 calls `encode` of tokenizers 0.20.3, which" */
function siteText(site: NativeSite, at: string): string {
  if (site.called !== null) return `${at} calls \`${site.called}\` of ${moduleText(site)}, which`;
  return `${moduleText(site)}${site.symbol === null ? "" : ` (\`${site.symbol}\`)`} at ${at}`;
}

/** The line's part of the verdict's growth: in total and per unit; null where the verdict has another unit. */
function rates({ growth, share }: Pick<NamedLine, "growth" | "share">) {
  const { stretch } = growth;
  const bytes = Math.round(share * growth.bytes);
  const length = stretch.kind === "growth" ? stretch.end - stretch.onset : 0;
  const rate = length > 0 ? (share * growth.bytes) / length : null;
  return {
    growth_bytes: bytes,
    bytes_per_step: stretch.unit === "steps" ? rate : null,
    bytes_per_s: stretch.unit === "seconds" ? rate : null,
  };
}

function amount(named: NamedLine): string {
  const { bytes_per_step: perStep, bytes_per_s: perSecond, growth_bytes: bytes } = rates(named);
  if (perStep !== null) return `${formatBytes(perStep)} more with every step`;
  return perSecond === null ? `${formatBytes(bytes)} more` : `${formatBytes(perSecond)} more every second`;
}

function locationIn(root: string | null) {
  return ({ file, line }: Pick<AttributedLine, "file" | "line">): string => `${relativePath(file, root)}:${line}`;
}

function stackText({ stack }: AttributedLine, root: string | null): string {
  const location = locationIn(root);
  const frames = stack.slice(0, 8).map((frame) => `${location(frame)} ${frame.function}`);
  return frames.join(" < ");
}

/** ": see #3142" of a deprecated package; "" else. */
function deprecation(found: LinePackage | null): string {
  return found?.deprecated === undefined ? "" : `: ${found.deprecated.replace(/[.]$/, "")}`;
}

/** ", in request 2.88.2 (deprecated): see #3142"; "" without a package. */
function inPackage({ placed }: AttributedLine, found: LinePackage | null): string {
  return found === null ? "" : `, ${packageText(found, placed)}${deprecation(found)}`;
}

function sentence(named: NamedLine, { root, package: found, site }: LineContext): string {
  const { line, share } = named;
  const location = locationIn(root);
  const at = location(line);
  const kept = line.keptBy === null ? "" : ` in ${line.keptBy}`;
  if (named.kind === "one-time") {
    return `one-time ${formatBytesDelta(rates(named).growth_bytes)} at ${at}${kept}, still held at the end${inPackage(line, found)}`;
  }
  const made =
    line.placed === "kept" && line.allocatedAt !== null && location(line.allocatedAt) !== at
      ? `, allocated at ${location(line.allocatedAt)}`
      : "";
  if (site !== undefined) {
    return `${siteText(site, at)} allocates ${amount(named)} and does not free it, ${percent(share)} of the growth${deprecation(found)}`;
  }
  if (named.others !== undefined && found !== null) {
    const lines = `${at} and ${plural(named.others, "line")} of ${packageName(found)}`;
    return `${lines} keep ${amount(named)}, ${percent(share)} of the growth${deprecation(found)}`;
  }
  const verb = line.placed === "kept" ? "keeps" : "allocates and something keeps";
  const known = line.hint === null ? "" : `: ${line.hint.sentence.replace(/[.]$/, "")}`;
  return `${at} ${verb} ${amount(named)}${kept}, ${percent(share)} of the growth${made}${inPackage(line, found)}${known}`;
}

/** What to do about memory that a package itself keeps; null where the program may keep it. */
function packageAdvice({ placed }: AttributedLine, { package: found, site }: LineContext): string | null {
  const isOwn =
    found?.relation === "contains" || (found?.relation === "called" && (placed === "kept" || site !== undefined));
  if (!isOwn) return null;
  // What a call returns or registers may be kept by design.
  if (found.relation === "called") {
    return `Release what this call returns or registers once it is not needed. If the program keeps none of it, try another release of ${found.name} than ${found.version}; \`stormlog-gate culprit\` finds the release that introduced the leak.`;
  }
  return `Try another release of ${found.name} than ${found.version}; \`stormlog-gate culprit\` finds the release that introduced the leak.`;
}

const CLASSIFICATIONS = { leak: LEAK_LINE, contributing: CONTRIBUTING_LINE, "one-time": ONE_TIME_LINE } as const;

/** The finding of a line: location, its part of the verdict's growth, what retains the memory, and the usual remedy. */
export function lineFinding(named: NamedLine, context: LineContext): Finding {
  const { line, share } = named;
  const location = locationIn(context.root);
  const { site } = context;
  // A jump has no pattern: the hints are about what repeats.
  const hint = named.kind === "one-time" ? null : line.hint;
  const advice = named.kind === "one-time" ? null : packageAdvice(line, context);
  return {
    classification: CLASSIFICATIONS[named.kind],
    severity: named.kind === "contributing" ? "info" : context.severity,
    confidence: share,
    rank: context.rank,
    device: line.device,
    metric: null,
    evidence: {
      line: location(line),
      function: line.function,
      code: context.code,
      ...rates(named),
      objects: line.countGrowth,
      share,
      ...(named.others === undefined ? {} : { package_lines: named.others }),
      placed: line.placed,
      kept_by: site === undefined ? line.keptBy : `native memory of ${moduleText(site)}`,
      ...(site === undefined ? {} : siteEvidence(site)),
      allocated_at: line.allocatedAt === null ? null : location(line.allocatedAt),
      pattern: hint?.code ?? null,
      pattern_evidence: hint === null ? null : hint.evidence.join("; "),
      stack: stackText(line, context.root),
    },
    description: sentence(named, context),
    ...(context.package === null ? {} : { package: context.package }),
    // A pattern is one of the program's own code.
    remediation: advice === null ? [...(hint?.remediation ?? [])] : [advice],
  };
}

function siteEvidence({ module, symbol, called }: NativeSite) {
  return { native_module: module, native_symbol: symbol, native_called: called };
}

/** Language of the processes that were recorded, which decides what tool sees the rest. */
export type RecordedLanguage = "python" | "node" | "none";

const NATIVE_TOOL: Readonly<Record<RecordedLanguage, string>> = {
  python: "Run it under `memray run --native`, which records native allocations with their stacks.",
  node: "Run it under `heaptrack`, which records native allocations with their stacks.",
  none: "Run it under `heaptrack`, which records native allocations with their stacks.",
};
const OTHER_ALLOCATOR = "Try another allocator, such as jemalloc (`LD_PRELOAD=libjemalloc.so.2`)";
const OTHER_TOOL: Readonly<Record<RecordedLanguage, string>> = {
  python: "Compare two snapshots of `tracemalloc`, taken at the same point of two distant steps.",
  node: "Compare two heap snapshots (`node --heapsnapshot-signal=SIGUSR2`), taken some time apart.",
  none: NATIVE_TOOL.none,
};

const WITHOUT_LINE: Readonly<Record<Unexplained["memory"], string>> = {
  freed: "memory that the program freed and the C heap keeps (fragmentation)",
  native: "native memory that the interpreter did not allocate",
  files: "in files in RAM (shared memory, tmpfs, deleted files that are open)",
  unknown: "memory that was not attributed to a line",
};

function toolFor(memory: Unexplained["memory"], language: RecordedLanguage): string {
  switch (memory) {
    case "freed":
      return language === "python"
        ? `${OTHER_ALLOCATOR}, or find the blocks that stay between with \`memray run --native\`.`
        : `${OTHER_ALLOCATOR}.`;
    case "native":
      return NATIVE_TOOL[language];
    case "files":
      return "Look at `/dev/shm`, `lsof +L1` and `/proc/PID/maps` while it runs: close and unlink what is shared.";
    case "unknown":
      return OTHER_TOOL[language];
  }
}

/** Programs and libraries of the machine, which their user does not compile. */
const INSTALLED = /^\/(?:usr\/(?!local\/src|src)|lib|bin|sbin|opt\/)/;

function allocatorText(site: NativeSite): string {
  return site.symbol === null ? moduleText(site) : `\`${site.symbol}\` in ${moduleText(site)}`;
}

/** What is known of growth that no line holds. */
interface UnattributedContext {
  readonly root: string | null;
  readonly language: RecordedLanguage;
  /** Where its native memory is allocated; null when unknown. */
  readonly site: NativeSite | null;
  /** The package of the blocks that stay; null for none. */
  readonly package: LinePackage | null;
  /** The command's program, where no tool can be preloaded into it. */
  readonly unseen: UnseenProgram | null;
  /** Whether the process that grows reported nothing, so that nothing is known of its memory. */
  readonly isUnreached: boolean;
}

/** The finding of growth that no line holds. */
export function unattributedFinding(
  { growth, share, memory, staying }: Unexplained,
  { root, language, site, package: found, unseen, isUnreached }: UnattributedContext,
): Finding {
  const { device } = growth;
  const grown = rates({ growth, share });
  const onHost = device === "host";
  const from = onHost && memory !== "freed" && memory !== "files" ? site : null;
  const allocatedBy = from === null ? null : allocatorText(from);
  const isOwnCode = from !== null && from.package === null && language === "none";
  const isInstalled = isOwnCode && INSTALLED.test(from.module);
  const nextTool = language === "none" && site === null && unseen !== null ? unseen.advice : toolFor(memory, language);
  // For a program's own code; that of a package comes without.
  const tool = isOwnCode
    ? "Compile it with debug information (`-g`) and do not strip it: with `addr2line` (binutils), the line is named then."
    : staying === null
      ? nextTool
      : `${OTHER_ALLOCATOR}, or free the blocks that stay.`;
  const line = staying === null ? null : locationIn(root)(staying);
  const stay =
    staying === null
      ? ""
      : `; ${plural(staying.countGrowth, "more block")} from ${line} stay${inPackage(staying, found)}`;
  return {
    classification: UNATTRIBUTED_GROWTH,
    severity: "info",
    confidence: share,
    rank: null,
    device,
    metric: null,
    evidence: {
      share,
      ...grown,
      memory,
      ...(from === null ? {} : { ...siteEvidence(from), allocated_by: allocatedBy }),
      ...(staying === null ? {} : { line, objects: staying.countGrowth, stack: stackText(staying, root) }),
    },
    description: `${percent(share)} of the growth (${formatBytesDelta(grown.growth_bytes)}) is ${WITHOUT_LINE[memory]}${allocatedBy === null ? "" : `, allocated by ${allocatedBy}`}${stay}`,
    ...(staying === null || found === null ? {} : { package: found }),
    remediation: [
      ...(isUnreached || isInstalled
        ? []
        : [onHost ? tool : "Compare two memory snapshots of the device with `stormlog-gate snapshot`."]),
    ],
  };
}
