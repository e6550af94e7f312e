import type { UnjudgedMode } from "../config/gate-request.ts";
import { ExitCode } from "../core/exit-codes.ts";
import { groupBy } from "../core/group-by.ts";
import { firstReasons, plural } from "../core/text.ts";
import { type GateReport, type Verdict, verdictUrgency } from "../report/model/gate-report.ts";
import { nameLegs, type Section } from "../report/model/section.ts";
import { type AbsentLeg, absentLegs, type ExpectedLegs, joinedName } from "./merge-legs.ts";
import { groupNodes, missingRanks } from "./merge-nodes.ts";
import {
  type Job,
  type MissingLeg,
  mergedReport,
  missingLeg,
  planJobs,
  type ReportedLeg,
  scenarioOfJob,
} from "./merge-report.ts";

const reportedLegs = (sections: readonly Section[]): readonly ReportedLeg[] =>
  nameLegs(sections).map(({ name, section: { report } }) => ({ name, report }));

function reportOfJobs(legs: readonly ReportedLeg[], jobs: readonly Job[]): GateReport {
  const newest = legs.map(({ report }) => report.generated_at_utc).sort();
  return mergedReport({
    legs,
    missing: [],
    scenarios: jobs.map((job) => scenarioOfJob(job)),
    warnings: [],
    unjudged: "fail",
    argv: legs[0]?.report.tool.argv ?? [],
    // The time of a section is that of its measurement, not of the merge.
    now: new Date(newest.at(-1) ?? 0),
  });
}

/** The sections of one session; one section where they are nodes of one job in every scenario that they share. */
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
    // A section links to one bundle: that of the worst node.
    const worst =
      [...sections].sort((a, b) => verdictUrgency(a.report.verdict) - verdictUrgency(b.report.verdict))[0] ?? first;
    const named = sections.flatMap(({ leg }) => leg ?? []);
    const leg = named.length === 0 ? null : joinedName(named);
    return [{ ...worst, leg, report: reportOfJobs(legs, planJobs(legs)) }];
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

interface UnitedSections {
  readonly sections: readonly Section[];
  /** Number of sections that became part of another. */
  readonly joined: number;
}

/** Sections with the nodes of one job as one section; those of a matrix are unchanged. */
export function uniteSections(sections: readonly Section[]): UnitedSections {
  const bySession = [...groupBy(sections, ({ report }) => report.session).values()];
  const all = bySession.flatMap(united);
  const order = new Map(sections.map(({ leg }, at) => [leg, at]));
  const position = ({ leg }: Section) => order.get(leg) ?? order.get(leg?.split("+")[0] ?? null) ?? sections.length;
  return { sections: [...all].sort((a, b) => position(a) - position(b)), joined: sections.length - all.length };
}

export interface SectionsAnswer {
  /** The sections of the comment: one for each leg, and one more where GitHub's record contradicts the legs. */
  readonly sections: readonly Section[];
  readonly report: GateReport;
  readonly missing: readonly AbsentLeg[];
  /** Number of legs of the comment, missing ones included; null = as many as reported. */
  readonly expected: number | null;
}

export interface SectionsRequest {
  /** As the legs wrote them. */
  readonly given: readonly Section[];
  /** With nodes united and claims verified. */
  readonly united: UnitedSections;
  readonly expected: ExpectedLegs | null;
  /** Why artifacts that are named like a section were rejected, one sentence each. Outside text. */
  readonly refused: readonly string[];
  /** The result of the legs' jobs by GitHub's record; null = success or unknown. */
  readonly recorded: string | null;
  readonly unjudged: UnjudgedMode;
  readonly argv: readonly string[];
  readonly now: Date;
}

/** The verdict over the sections of a gate: the worst, and unjudged at best while a section is missing. */
export function answerOfSections(request: SectionsRequest): SectionsAnswer {
  const { given, united: whole, expected: wanted, refused } = request;
  const present = given.map(({ leg }) => leg ?? "job");
  const missing = [...absentLegs(wanted, present)];
  let gone = wanted?.kind === "count" ? Math.max(0, wanted.count - present.length) : missing.length;
  // A rejected section may be that of the failed leg.
  if (refused.length > 0) {
    const rejected = plural(refused.length, "section was", "sections were");
    missing.push({ name: "refused", message: `${rejected} rejected: ${firstReasons(refused)}` });
    gone = Math.max(gone, refused.length);
  }
  if (given.length === 0 && gone === 0) {
    missing.push({ name: "legs", message: "no leg of this gate has reported" });
    gone = 1;
  }
  const unreported = missing.map((leg) =>
    missingLeg(leg, "Check the job that should have measured it. Re-run that job, then this one."),
  );
  const legs = reportedLegs(whole.sections);
  const scenarios = planJobs(legs, apart).map((job) => scenarioOfJob(job));
  const { unjudged, argv, now, recorded } = request;
  const reportWith = (more: readonly MissingLeg[]) =>
    mergedReport({ legs, missing: [...unreported, ...more], scenarios, warnings: [], unjudged, argv, now });
  const expected = gone === 0 ? null : whole.sections.length + gone;
  const report = reportWith([]);
  const { sections } = whole;
  const [first] = sections;
  if (recorded === null || first === undefined || (report.verdict !== "pass" && report.verdict !== "warn")) {
    return { sections, report, missing, expected };
  }
  const conflict = contradiction(report.verdict, recorded);
  const own = { legs: [], missing: [conflict], scenarios: [], warnings: [], unjudged, argv, now };
  // With a constant time and session, because a comment is only rewritten when it changes.
  const { session, generated_at_utc } = first.report;
  const section = {
    ...first,
    leg: conflict.name,
    bundleArtifact: null,
    timelineArtifact: null,
    report: { ...mergedReport(own), session, generated_at_utc },
  };
  return { sections: [...sections, section], report: reportWith([conflict]), missing, expected };
}

/** A verdict that contradicts GitHub's record of the jobs is an error: a leg may have ended before it could report. */
function contradiction(verdict: Verdict, recorded: string): MissingLeg {
  const message = `the legs reported ${verdict}, but GitHub recorded their job as ${recorded}`;
  const hint = "Check the jobs of the legs: one failed outside its gate, or did not report.";
  return { name: "jobs", verdict: "error", code: "LEGS_DID_NOT_SUCCEED", message, hint, exitCode: ExitCode.error };
}
