import type { Finding } from "../analysis/series/document.ts";
import type { GateRequest } from "../config/gate-request.ts";
import { type KnownLeak, RATE } from "../config/schema.ts";
import { normalName } from "../core/locks.ts";
import { formatBytes, parseSize } from "../core/units.ts";
import type { ScenarioReport } from "../report/model/gate-report.ts";
import type { KnownLeakUse } from "../report/model/report-schema.ts";
import { LEAK_LINE, UNATTRIBUTED_GROWTH } from "../report/wording/source-line.ts";
import { hasSucceeded } from "../telemetry/recording/model.ts";
import type { Check } from "../verdict/model/judgement.ts";

/** Whether an entry covers a leaking line, or why it does not. Without a reason the line is another leak's. */
type Match = { readonly kind: "covered" } | { readonly kind: "other"; readonly why: string | null };

const OTHER: Match = { kind: "other", why: null };

/** The limit of an entry: bytes for each step or second. */
export function knownLeakLimit({ limit }: KnownLeak): { readonly bytes: number; readonly per: "step" | "second" } {
  const [, size = "", unit] = RATE.exec(limit) ?? [];
  return { bytes: parseSize(size), per: unit === "s" ? "second" : "step" };
}

function names(at: string, { evidence }: Finding): boolean {
  const frames = typeof evidence.stack === "string" ? evidence.stack.split(" < ") : [];
  const places = [
    evidence.line,
    evidence.function,
    evidence.native_symbol,
    evidence.native_called,
    ...frames.flatMap((frame) => [frame.split(" ", 1)[0], frame.slice(frame.indexOf(" ") + 1)]),
  ];
  return places.some((place) => typeof place === "string" && (place === at || place.endsWith(`/${at}`)));
}

/** Growth of the whole run that a line is a part of; null where the line has another unit. */
function growthRate({ evidence }: Finding, per: "step" | "second"): number | null {
  const rate = per === "step" ? evidence.bytes_per_step : evidence.bytes_per_s;
  const { share } = evidence;
  return typeof rate === "number" && typeof share === "number" && share > 0 ? rate / share : null;
}

function match(entry: KnownLeak, finding: Finding, today: string): Match {
  const found = finding.package;
  if (found === undefined || normalName(found.name) !== normalName(entry.package)) return OTHER;
  if (!names(entry.at, finding)) return OTHER;
  const not = (why: string): Match => ({ kind: "other", why });
  if (!entry.versions.includes(found.version)) {
    return not(`${found.version} is installed, and it is for ${entry.versions.join(", ")}`);
  }
  if (today > entry.until) return not(`it ended on ${entry.until}`);
  const { bytes, per } = knownLeakLimit(entry);
  const rate = growthRate(finding, per);
  if (rate === null) return not(`the growth is not counted by the ${per}`);
  if (rate > bytes)
    return not(`the run grows by ${formatBytes(rate)} a ${per}, and its limit is ${formatBytes(bytes)}`);
  return { kind: "covered" };
}

/** Whether a failed check is only growth that a line explains: the growth, or a peak within its limit without it. */
function isOfGrowth(
  { kind, rank, device, candidate_bytes: value, threshold_bytes: limit }: Check,
  line: Finding,
): boolean {
  // Growth of other memory, which no line explains, is another leak.
  if (device !== line.device || (line.rank !== null && rank !== line.rank)) return false;
  switch (kind) {
    case "growth":
    case "class":
      return true;
    case "peak":
      return value !== null && limit !== null && value - growthBytes(line) <= limit;
    case "budget":
    case "oom":
      return false;
    default:
      return kind satisfies never;
  }
}

/** Growth of the run, bytes, by a line that names its share. */
function growthBytes({ evidence }: Finding): number {
  const { growth_bytes: own, share } = evidence;
  return typeof own === "number" && typeof share === "number" && share > 0 ? own / share : 0;
}

/** Whether an attribution run looked for the lines of a growth, and not for those of a higher peak. */
function searchedGrowth({ runs, peak }: ScenarioReport): boolean {
  return peak === undefined && runs.some(({ role, info }) => role === "attribution" && couldNameLines(info));
}

/** Whether an attribution run could name lines: it ended by itself, or at its own time limit. */
function couldNameLines(info: ScenarioReport["runs"][number]["info"]): boolean {
  return info.exit.kind === "timeout" || hasSucceeded(info);
}

/** The leaking lines; without any, growth that none holds and that names the package of the blocks that stay. */
function leaksOf(findings: readonly Finding[]): readonly Finding[] {
  const lines = findings.filter(({ classification }) => classification === LEAK_LINE);
  const rest = findings.filter(({ classification }) => classification === UNATTRIBUTED_GROWTH);
  return lines.length > 0 ? lines : rest.filter((finding) => finding.package !== undefined);
}

/** Applies the entries of `policy.known-leaks` to the scenarios of one gate. */
export class KnownLeaks {
  readonly #entries: readonly KnownLeak[];
  readonly #today: string;
  /** Why no line is looked for. */
  readonly #notSearched: string;
  /** Number of scenarios, and of those in which the lines of a growth were looked for. */
  #scenarios = 0;
  #searched = 0;
  readonly #notes: string[] = [];
  /** Entries that a report or a note names. */
  readonly #named = new Set<KnownLeak>();

  /** @param today ISO date, UTC */
  constructor(
    entries: readonly KnownLeak[],
    today: string,
    { attribute, probe }: Pick<GateRequest, "attribute" | "probe">,
  ) {
    this.#entries = entries;
    this.#today = today;
    const off = attribute === "off" ? "attribution is off" : "the probe is off";
    this.#notSearched = attribute === "off" || probe === "off" ? off : "attribution did not run";
  }

  /**
   * A red scenario becomes a warning where every leaking line is a known one, and nothing but this growth failed. The
   * judgement does not change. The limit holds for all growth of the run, so it bounds what an entry can hide.
   */
  apply(report: ScenarioReport): ScenarioReport {
    this.#scenarios += 1;
    if (searchedGrowth(report)) this.#searched += 1;
    if (report.kind !== "judged" || report.verdict !== "fail") return report;
    const lines = leaksOf(report.findings);
    const covering = lines.map((line) => this.#covering(line, report.scenario));
    if (lines.length === 0 || covering.includes(null)) return report;
    const failed = report.judgement.checks.filter(({ gating, verdict }) => gating && verdict === "fail");
    if (!failed.every((check) => lines.some((line) => isOfGrowth(check, line)))) {
      this.#notes.push(`${report.scenario}: more than a known leak failed, so none applies`);
      return report;
    }
    const used = new Map<KnownLeak, KnownLeakUse>();
    for (const [i, entry] of covering.entries()) {
      if (entry === null) continue;
      const { package: name, at, until, reason } = entry;
      used.set(entry, { package: name, version: lines[i]?.package?.version ?? "", at, until, reason });
    }
    const timeline = report.timeline === null ? null : { ...report.timeline, verdict: "warn" as const };
    return { ...report, verdict: "warn", timeline, known_leaks: [...used.values()] };
  }

  /** The entry that covers a line; null, with a note on those that nearly do, where none does. */
  #covering(line: Finding, scenario: string): KnownLeak | null {
    const missed: string[] = [];
    for (const entry of this.#entries) {
      const found = match(entry, line, this.#today);
      if (found.kind === "covered") {
        this.#named.add(entry);
        return entry;
      }
      if (found.why === null) continue;
      this.#named.add(entry);
      missed.push(`${scenario}: the known leak of ${entry.package} at ${entry.at} does not apply: ${found.why}`);
    }
    this.#notes.push(...missed);
    return null;
  }

  /** Why entries do not apply, and those that no run showed: each of them is to be removed one day. */
  notes(): readonly string[] {
    const unseen = this.#entries
      .filter((entry) => !this.#named.has(entry))
      .map(({ package: name, at, until }) => {
        const state = this.#today > until ? `ended on ${until}` : `until ${until}, ${this.#absence()}`;
        return `the known leak of ${name} at ${at}, ${state}`;
      });
    return [...this.#notes, ...unseen];
  }

  /** What is known of an entry that no line matched. */
  #absence(): string {
    if (this.#searched === 0) return `could not be checked: no line was looked for (${this.#notSearched})`;
    if (this.#searched === this.#scenarios) return "was not seen";
    return `was not seen (lines were looked for in ${this.#searched} of ${this.#scenarios} scenarios)`;
  }
}
