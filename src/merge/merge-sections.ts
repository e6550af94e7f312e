import type { UnjudgedMode } from "../config/gate-request.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { groupBy } from "../core/group-by.ts";
import type { GateReport, Verdict } from "../report/documents/model.ts";
import type { Section } from "../report/documents/section.ts";
import { verdictUrgency } from "../report/urgency.ts";
import { type AbsentLeg, absentLegs, type ExpectedLegs } from "./merge-legs.ts";
import { groupNodes, missingRanks } from "./merge-nodes.ts";
import { type Job, type MissingLeg, mergedReport, planJobs, type ReportedLeg, scenarioOfJob } from "./merge-report.ts";

/** What several legs are called together; a longer list says how many more there are. */
const MAX_NAMED = 3;

function legOf(sections: readonly Section[]): string | null {
  const legs = sections.flatMap(({ leg }) => leg ?? []);
  if (legs.length === 0) return null;
  return legs.length > MAX_NAMED ? `${legs[0]}+${legs.length - 1}` : legs.join("+");
}

/** Legs by a name that no other one has: jobs that were not told apart get a number. */
function reportedLegs(sections: readonly Section[]): readonly ReportedLeg[] {
  const seen = new Map<string, number>();
  return sections.map(({ leg, report }) => {
    const base = leg ?? "job";
    const number = (seen.get(base) ?? 0) + 1;
    seen.set(base, number);
    return { name: number === 1 ? base : `${base} (${number})`, report };
  });
}

function reportOfJobs(legs: readonly ReportedLeg[], jobs: readonly Job[]): GateReport {
  const newest = legs.map(({ report }) => report.generated_at_utc).sort();
  return mergedReport({
    legs,
    silent: [],
    scenarios: jobs.map((job) => scenarioOfJob(job)),
    warnings: [],
    unjudged: "fail",
    argv: legs[0]?.report.tool.argv ?? [],
    // A section says when it was measured; when it was merged is of no interest in it.
    now: new Date(newest.at(-1) ?? 0),
  });
}

/** Sections of one session that are nodes of one job in every scenario they share. */
function united(sections: readonly Section[]): readonly Section[] {
  const legs = reportedLegs(sections);
  const entries = legs.flatMap(({ name, report }) =>
    report.scenarios.map((scenario) => ({ leg: name, scenario, session: report.session })),
  );
  const shared = [...groupBy(entries, ({ scenario }) => scenario.scenario).values()];
  const nodes = sections.length > 1 && shared.some((own) => own.length > 1);
  const oneJob = nodes && shared.every((own) => groupNodes(own).length === 1);
  const [first] = sections;
  if (first === undefined) return [];
  if (oneJob) {
    // One link leads to the evidence; the worst node's is what a reader wants.
    const worst =
      [...sections].sort((a, b) => verdictUrgency(a.report.word) - verdictUrgency(b.report.word))[0] ?? first;
    return [{ ...worst, leg: legOf(sections), report: reportOfJobs(legs, planJobs(legs)) }];
  }
  return sections.map((section) => {
    const alone = section.report.scenarios.map((scenario) => ({
      leg: section.leg ?? "job",
      scenario,
      session: section.report.session,
    }));
    if (alone.every((one) => missingRanks([one]) === null)) return section;
    const own = reportedLegs([section]);
    return { ...section, report: reportOfJobs(own, planJobs(own, apart)) };
  });
}

const apart = <T>(entries: readonly T[]): readonly (readonly T[])[] => entries.map((one) => [one]);

export interface UnitedSections {
  readonly sections: readonly Section[];
  /** Sections that are part of another one now. */
  readonly joined: number;
}

/** Sections with the nodes of one job as one section; those of a matrix stay as they are. */
export function uniteSections(sections: readonly Section[]): UnitedSections {
  const bySession = [...groupBy(sections, ({ report }) => report.session).values()];
  const all = bySession.flatMap(united);
  const order = new Map(sections.map(({ leg }, at) => [leg, at]));
  const place = ({ leg }: Section) => order.get(leg) ?? order.get(leg?.split("+")[0] ?? null) ?? sections.length;
  return { sections: [...all].sort((a, b) => place(a) - place(b)), joined: sections.length - all.length };
}

export interface SectionsAnswer {
  /** What a comment shows: one for each leg, and one more where GitHub knows better than the legs. */
  readonly sections: readonly Section[];
  readonly report: GateReport;
  readonly missing: readonly AbsentLeg[];
  /** How many legs a comment has to show or call missing; null = whoever came. */
  readonly expected: number | null;
}

export interface SectionsRequest {
  /** As the legs left them. */
  readonly given: readonly Section[];
  /** With nodes united and claims held against what is known. */
  readonly united: UnitedSections;
  readonly expected: ExpectedLegs | null;
  /** Artifacts named like a section that could not be believed. */
  readonly refused: number;
  /** How GitHub recorded that the legs' jobs ended, where that was no success; null = it was, or is not known. */
  readonly recorded: string | null;
  readonly unjudged: UnjudgedMode;
  readonly argv: readonly string[];
  readonly now: Date;
}

const HINT = "Look at the job that should have measured it; re-running it is enough, and then this job.";

/** One verdict of the sections of a gate: the worst, and unjudged at best while anything is missing. */
export function answerOfSections(request: SectionsRequest): SectionsAnswer {
  const { given, united: whole, refused } = request;
  const present = given.map(({ leg }) => leg ?? "job");
  const missing = [...absentLegs(request.expected, present)];
  let gone = absent(request.expected, present);
  // What was refused may be the leg that failed.
  if (refused > gone) {
    missing.push({ name: "refused", message: `${refused} section${refused === 1 ? " was" : "s were"} not believed` });
    gone = refused;
  }
  if (given.length === 0 && gone === 0) {
    missing.push({ name: "legs", message: "no leg of this gate has left a section" });
    gone = 1;
  }
  const silent = missing.map(({ name, message }): MissingLeg => {
    return { name, word: "unjudged", code: "LEG_MISSING", message, hint: HINT, exitCode: ExitCode.unjudged };
  });
  const legs = reportedLegs(whole.sections);
  const scenarios = planJobs(legs, apart).map((job) => scenarioOfJob(job));
  const { unjudged, argv, now, recorded } = request;
  const reportWith = (more: readonly MissingLeg[]) =>
    mergedReport({ legs, silent: [...silent, ...more], scenarios, warnings: [], unjudged, argv, now });
  const expected = gone === 0 ? null : whole.sections.length + gone;
  const report = reportWith([]);
  const { sections } = whole;
  const [first] = sections;
  if (recorded === null || first === undefined || (report.word !== "pass" && report.word !== "warn")) {
    return { sections, report, missing, expected };
  }
  const doubt = contradiction(report.word, recorded);
  const own = { legs: [], silent: [doubt], scenarios: [], warnings: [], unjudged, argv, now };
  // Of the same time and session whenever it is made: a comment is written again only for what is new.
  const { session, generated_at_utc } = first.report;
  const section = {
    ...first,
    leg: doubt.name,
    bundleArtifact: null,
    timelineArtifact: null,
    report: { ...mergedReport(own), session, generated_at_utc },
  };
  return { sections: [...sections, section], report: reportWith([doubt]), missing, expected };
}

/** A verdict that does not fit what GitHub recorded of the jobs is none: a leg may have ended before it could say anything. */
function contradiction(word: Verdict, recorded: string): MissingLeg {
  const message = `the legs that reported say ${word}, but GitHub recorded their job as ${recorded}`;
  const hint = "Look at the jobs of the legs: one failed before or after its gate, or left nothing.";
  return { name: "jobs", word: "error", code: "LEGS_DID_NOT_SUCCEED", message, hint, exitCode: ExitCode.error };
}

function absent(expected: ExpectedLegs | null, present: readonly string[]): number {
  if (expected === null) return 0;
  if (expected.kind === "count") return Math.max(0, expected.count - present.length);
  return expected.names.filter((name) => !present.includes(name)).length;
}
