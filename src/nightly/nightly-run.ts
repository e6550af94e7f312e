import type { Measurements } from "../analysis/measurements.ts";
import type { Band } from "../baseline/band.ts";
import { fingerprintHash } from "../baseline/identity.ts";
import { type BaselineRecord, type BaselineRun, selectRuns, toMeasurements } from "../baseline/record.ts";
import type { NewRun } from "../baseline/record-changes.ts";
import { type BaselineStore, recordName, type StoredRecord } from "../baseline/store.ts";
import type { GateRequest, ScenarioRequest } from "../config/gate-request.ts";
import { invalidInput, messageOf } from "../core/errors.ts";
import { oneLine } from "../core/text.ts";
import type { GatePorts } from "../gate/ports/ports.ts";
import { envelopesOf } from "../gate/refresh.ts";
import type { FinishedRun } from "../gate/run/one-run.ts";
import { type GateOutcome, runGate } from "../gate/run-gate.ts";
import type { ScenarioHooks } from "../gate/scenario/scenario-hooks.ts";
import { policyOf } from "../gate/scenario/scenario-report.ts";
import { successfulRuns } from "../report/model/decisive-run.ts";
import type { GateReport, ScenarioReport } from "../report/model/gate-report.ts";
import type { Fingerprint } from "../telemetry/recording/model.ts";
import { differenceOf } from "../verdict/difference.ts";
import { judge } from "../verdict/judge.ts";
import type { Judgement } from "../verdict/model/judgement.ts";
import { type Decision, decide, leadingCheck, leadingGrowth } from "./decision.ts";
import { acceptSession, openEpoch, recordSession, type SessionRuns, takesName } from "./records.ts";
import type { NightlyEntry } from "./state.ts";

/** The outcome of a scenario's session. */
export type SessionOutcome =
  | { readonly kind: "approved" | "seed" }
  | { readonly kind: "epoch"; readonly reason: string }
  | { readonly kind: "held"; readonly why: Exclude<Decision, "accept"> }
  /** The store could not be read or written; the bundle has the measurement. */
  | { readonly kind: "unsaved"; readonly reason: string }
  /** The command failed or was ended, so nothing is stored. */
  | { readonly kind: "failed" };

export interface NightlyScenario {
  readonly scenario: ScenarioRequest;
  readonly report: ScenarioReport;
  readonly sessionOutcome: SessionOutcome;
  /** Approved runs of earlier sessions, of this environment. */
  readonly older: Measurements | null;
  /** The runs of this session. */
  readonly night: Measurements;
  readonly entry: NightlyEntry;
  /** The session's curves, for the band of the baseline. */
  readonly envelopes: readonly Band[];
  /** The session's own change of a record, for a copy of the store written elsewhere; null when nothing was stored. */
  readonly change: ((current: BaselineRecord | null) => BaselineRecord) | null;
  /** The record as it is stored now; null when nothing was. */
  readonly stored: StoredRecord | null;
}

export interface NightlyRun {
  readonly outcome: GateOutcome;
  readonly scenarios: readonly NightlyScenario[];
}

/** A session that breaches the baseline, to look up whether it was accepted before the merge. */
export interface Breach {
  readonly scenario: string;
  /** Token of the difference; null when it cannot be accepted. */
  readonly difference: string | null;
  readonly commit: string | null;
  /** Commit of the newest approved run. */
  readonly since: string | null;
}

interface NightlyOptions {
  readonly store: BaselineStore;
  /** The store as a baseline spec. */
  readonly spec: string;
  readonly runs: "auto" | number;
  /** Accepts the measurements as the new baseline for this reason; null = they are judged. */
  readonly accept: string | null;
  /** Why this breach was accepted, or null. When it throws, the breach is not accepted. */
  readonly accepted: (breach: Breach) => Promise<string | null>;
  readonly warn: (message: string) => void;
}

/** Runs of the first session, enough for a baseline, and of each further one: more sessions beat more runs. */
const FIRST_SESSION_RUNS = 5;
const SESSION_RUNS = 2;

interface Prior {
  readonly runs: readonly BaselineRun[];
  readonly measurements: Measurements | null;
}

/** One scenario's session while the gate measures and judges it. */
interface Session {
  readonly fingerprint: Fingerprint;
  readonly prior: Prior;
  readonly envelopes: readonly Band[];
  /** False when another job handed over the measurement with its judgement, which is then made again. */
  readonly judgedHere: boolean;
  /** Why the store could not be read or written so far; null when it could. */
  readonly trouble: string | null;
}

class Sessions implements ScenarioHooks {
  readonly #options: NightlyOptions;
  readonly #ports: GatePorts;
  /** A breach of the anchor must not cut short the comparison that decides whether a session joins the baseline. */
  readonly anchorAsksForRuns = false;
  readonly writesBaselines = true;
  readonly all = new Map<string, Session>();

  constructor(options: NightlyOptions, ports: GatePorts) {
    this.#options = options;
    this.#ports = ports;
  }

  async candidateRuns(scenario: ScenarioRequest, first: FinishedRun): Promise<number> {
    const { fingerprint } = first.info;
    const known = await knownOf(this.#options.store, scenario.name, fingerprint);
    this.all.set(scenario.name, { fingerprint, ...known, envelopes: [], judgedHere: true });
    if (this.#options.runs !== "auto") return this.#options.runs;
    return known.prior.runs.length < FIRST_SESSION_RUNS ? FIRST_SESSION_RUNS : SESSION_RUNS;
  }

  async measured(scenario: ScenarioRequest, runs: readonly FinishedRun[]): Promise<void> {
    const session = this.all.get(scenario.name);
    if (session === undefined) return;
    const timeIso = this.#ports.now().toISOString();
    const added = runs.flatMap(({ measured }) => (measured === null ? [] : [{ measured, timeIso, approved: false }]));
    const kept: Session = { ...session, envelopes: envelopesOf(runs) };
    this.all.set(scenario.name, kept);
    // Without the stored runs the session cannot be judged, so it cannot join them.
    if (added.length === 0 || session.trouble !== null) return;
    try {
      const { store } = this.#options;
      const mine = sessionOf(scenario.name, kept, added);
      await store.update(scenario.name, session.fingerprint, (current) => recordSession(current, mine));
      this.#ports.log(`${oneLine(scenario.name)}: ${added.length} runs recorded in ${store.name}, before any verdict`);
    } catch (error) {
      this.all.set(scenario.name, { ...kept, trouble: messageOf(error) });
    }
  }
}

function sessionOf(scenario: string, session: Session, runs: readonly NewRun[]): SessionRuns {
  const { fingerprint, envelopes } = session;
  return { scenario, fingerprint, session: runs[0]?.measured.session ?? "", runs, envelopes };
}

/** The approved runs of exactly this environment. */
async function priorOf(store: BaselineStore, scenario: string, fingerprint: Fingerprint): Promise<Prior> {
  const { records } = await store.list(scenario);
  const found = records.find(({ name }) => name === recordName(scenario, fingerprint));
  if (found === undefined) return { runs: [], measurements: null };
  const runs = selectRuns(found.record, null);
  return { runs, measurements: runs.length === 0 ? null : toMeasurements(found.record, runs) };
}

/** The same; without any, and with the reason, where the store cannot be read. */
async function knownOf(...asked: Parameters<typeof priorOf>): Promise<Pick<Session, "prior" | "trouble">> {
  return priorOf(...asked).then(
    (prior) => ({ prior, trouble: null }),
    (error: unknown) => ({ prior: { runs: [], measurements: null }, trouble: messageOf(error) }),
  );
}

/** The judged runs, as a record stores them. */
function candidateRuns(report: ScenarioReport, timeIso: string): readonly NewRun[] {
  return successfulRuns(report).map((measured) => ({ measured, timeIso, approved: true }));
}

/**
 * The session compared with the stored runs of its environment; null where it was judged here and there are none. This
 * decides where the gate found no baseline (the newest is too old, or the commits are gone): a higher level must not
 * slip in because a week of nightly runs is missing. It also decides where another job judged: its numbers must support
 * what it claims.
 */
function judgedByStore(
  request: GateRequest,
  scenario: ScenarioRequest,
  report: ScenarioReport,
  { prior, fingerprint, judgedHere }: Session,
  runs: readonly NewRun[],
): Judgement | null {
  const session = runs[0]?.measured.session;
  // Stored runs of this session are those of an earlier attempt to store it.
  const older = prior.measurements?.runs.filter((run) => run.session !== session) ?? [];
  const known = prior.measurements === null || older.length === 0 ? null : prior.measurements;
  if (known === null && judgedHere) return null;
  return judge({
    candidate: { scenario: scenario.name, fingerprint, runs: runs.map(({ measured }) => measured) },
    baseline: known && { ...known, runs: older },
    baseRuns: known === null ? [] : successfulRuns(report, "base"),
    anchor: null,
    policy: policyOf(request, scenario),
    baseRunsPossible: false,
    moreRunsPossible: false,
  });
}

/** The judgement that decides about the session, and the decision. */
function decided(
  request: GateRequest,
  scenario: ScenarioRequest,
  report: ScenarioReport,
  judgement: Judgement,
  session: Session,
  runs: readonly NewRun[],
): { readonly judgement: Judgement; readonly decision: Decision } {
  const { minBaselineRuns } = policyOf(request, scenario);
  const decisionOn = (one: Judgement) => ({
    judgement: one,
    decision: decide(one, session.prior.runs.length, minBaselineRuns),
  });
  const own = decisionOn(judgement);
  const found = report.baseline !== null;
  if (found && session.judgedHere) return own;
  const again = judgedByStore(request, scenario, report, session, runs);
  return again === null || (found && own.decision !== "accept") ? own : decisionOn(again);
}

/** The difference to the baseline. Breaches of a budget or the anchor do not decide about the session. */
function differenceToBaseline(scenario: string, fingerprint: Fingerprint, judgement: Judgement): string | null {
  const checks = judgement.checks.filter(({ limit }) => limit === "baseline");
  return differenceOf(scenario, fingerprint, { ...judgement, checks })?.token ?? null;
}

type Stored = Pick<NightlyScenario, "sessionOutcome" | "change" | "stored">;

const notStored = (sessionOutcome: SessionOutcome): Stored => ({ sessionOutcome, change: null, stored: null });

async function storeSession(
  request: GateRequest,
  scenario: ScenarioRequest,
  report: ScenarioReport,
  session: Session | undefined,
  options: NightlyOptions,
  timeIso: string,
): Promise<Stored> {
  const runs = candidateRuns(report, timeIso);
  const { judgement } = report;
  if (session === undefined || judgement === null || report.verdict === "error" || runs.length === 0)
    return notStored({ kind: "failed" });
  if (session.trouble !== null) return notStored({ kind: "unsaved", reason: session.trouble });
  const mine = sessionOf(scenario.name, session, runs);
  const { store } = options;
  const older = session.prior.runs;
  const { judgement: decisive, decision } = decided(request, scenario, report, judgement, session, runs);
  const put = async (
    sessionOutcome: SessionOutcome,
    change: NonNullable<NightlyScenario["change"]>,
  ): Promise<Stored> => {
    return { sessionOutcome, change, stored: await store.update(scenario.name, session.fingerprint, change) };
  };
  try {
    let reason = options.accept;
    if (reason === null && decision === "hold-breach") {
      reason = await options
        .accepted({
          scenario: scenario.name,
          difference: differenceToBaseline(scenario.name, session.fingerprint, decisive),
          commit: report.runs[0]?.info.commit ?? null,
          since: older.at(-1)?.commit ?? null,
        })
        .catch((error: unknown) => {
          options.warn(`Could not read whether this breach was accepted before it was merged: ${messageOf(error)}`);
          return null;
        });
    }
    if (reason !== null) {
      const why = reason;
      return await put({ kind: "epoch", reason: why }, (current) => openEpoch(current, mine, why));
    }
    if (decision === "accept") {
      const kind = older.length === 0 ? "seed" : "approved";
      return await put({ kind }, (current) => acceptSession(current, mine));
    }
    // The record contains confirmation runs too.
    return await put({ kind: "held", why: decision }, (current) => recordSession(current, mine));
  } catch (error) {
    return notStored({ kind: "unsaved", reason: messageOf(error) });
  }
}

function entryOf(
  report: ScenarioReport,
  sessionOutcome: SessionOutcome,
  timeIso: string,
  session: string,
): NightlyEntry {
  const { judgement } = report;
  const leading = judgement === null ? null : leadingCheck(judgement);
  return {
    time: `${timeIso.slice(0, 19)}Z`,
    commit: report.runs[0]?.info.commit ?? null,
    session,
    scenario: report.scenario,
    environment: fingerprintHash(report.fingerprint),
    word: report.verdict,
    outcome: sessionOutcome.kind,
    runs: report.runs.filter(({ role }) => role === "candidate").length,
    series: leading === null ? null : [leading.rank, leading.device, leading.metric],
    level_bytes: leading?.candidate_bytes ?? null,
    baseline_bytes: leading?.baseline_bytes ?? null,
    threshold_bytes: leading?.threshold_bytes ?? null,
    growth_bytes: judgement === null || leading === null ? null : leadingGrowth(judgement, leading),
  };
}

/**
 * One nightly run: every scenario is measured as a session, which is stored before it is judged. The gate judges it
 * against earlier sessions, and it joins them unless it breaches.
 * @throws GateError as {@link runGate} does, for what is wrong before anything was measured
 */
export async function runNightly(request: GateRequest, options: NightlyOptions, ports: GatePorts): Promise<NightlyRun> {
  const sessions = new Sessions(options, ports);
  const judged: GateRequest = { ...request, baselines: [options.spec], unjudged: "warn" };
  const outcome = await runGate(judged, ports, sessions);
  return settle(request, outcome, sessions.all, options, ports.now().toISOString());
}

/** What another job measured and judged, checked by the caller. */
interface MeasuredElsewhere {
  readonly report: GateReport;
  /** Curves of each scenario. */
  readonly envelopes: ReadonlyMap<string, readonly Band[]>;
}

/**
 * Store what another job measured, as {@link runNightly} does; runs nothing. A store that fails is an outcome.
 * @throws GateError SESSION_REFUSED (exit 5) when the session has the name of a stored session with other runs
 */
export async function storeMeasured(
  request: GateRequest,
  { report, envelopes }: MeasuredElsewhere,
  options: NightlyOptions,
  now: Date,
): Promise<NightlyRun> {
  const all = new Map<string, Session>();
  for (const one of report.scenarios) {
    const { scenario, fingerprint } = one;
    const known = await knownOf(options.store, scenario, fingerprint);
    const session = { fingerprint, ...known, envelopes: envelopes.get(scenario) ?? [], judgedHere: false };
    const mine = sessionOf(scenario, session, candidateRuns(one, now.toISOString()));
    if (takesName(mine, session.prior.measurements?.runs ?? []))
      throw invalidInput("SESSION_REFUSED", "the measured session is not stored: a stored session has its name");
    all.set(scenario, session);
  }
  const outcome: GateOutcome = { report, bundleDir: request.bundle, bundleError: null };
  return settle(request, outcome, all, options, now.toISOString());
}

async function settle(
  request: GateRequest,
  outcome: GateOutcome,
  sessions: ReadonlyMap<string, Session>,
  options: NightlyOptions,
  timeIso: string,
): Promise<NightlyRun> {
  const scenarios: NightlyScenario[] = [];
  for (const report of outcome.report.scenarios) {
    const scenario = request.scenarios.find(({ name }) => name === report.scenario);
    if (scenario === undefined) continue;
    const session = sessions.get(scenario.name);
    const settled = await storeSession(request, scenario, report, session, options, timeIso);
    scenarios.push({
      scenario,
      report,
      ...settled,
      older: session?.prior.measurements ?? null,
      night: {
        scenario: scenario.name,
        fingerprint: session?.fingerprint ?? null,
        runs: candidateRuns(report, timeIso).map(({ measured }) => measured),
      },
      entry: entryOf(report, settled.sessionOutcome, timeIso, outcome.report.session),
      envelopes: session?.envelopes ?? [],
    });
  }
  return { outcome, scenarios };
}
