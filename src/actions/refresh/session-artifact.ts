import * as v from "valibot";
import { MAX_STORED_PEAK, withEpoch } from "../../attribution/peak/stored-peak.ts";
import { type Band, BandSchema } from "../../baseline/band.ts";
import type { GateRequest } from "../../config/gate-request.ts";
import { GateError, invalidInput } from "../../core/errors.ts";
import { type ArtifactJob, type ArtifactStore, type Upload, uploadRaw } from "../../github/artifacts/artifact.ts";
import { artifactNames } from "../../github/artifacts/artifact-name.ts";
import type { Compositions } from "../../nightly/compositions.ts";
import { stormlogReport } from "../../report/documents/envelope.ts";
import { parseStormlogReport } from "../../report/documents/parse-report.ts";
import type { GateReport } from "../../report/model/gate-report.ts";
import { holdClaims } from "../report/claims.ts";
import { keyName } from "./settings.ts";

/**
 * A session between the job that measured it, whose token only reads, and the job that stores it, which runs nothing of
 * the program. The measured program could have written the artifact as well: it is checked as a fork's section is.
 */

const SCHEMA = "stormlog.session/1";

const SessionSchema = v.strictObject({
  schema: v.literal(SCHEMA),
  key: v.string(),
  commit: v.nullable(v.string()),
  run_attempt: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
  bundle_artifact: v.nullable(v.pipe(v.number(), v.safeInteger(), v.minValue(1))),
  report: v.unknown(),
  envelopes: v.pipe(
    v.array(v.strictObject({ scenario: v.string(), curves: v.pipe(v.array(BandSchema), v.maxLength(4096)) })),
    v.maxLength(1000),
  ),
  compositions: v.optional(
    v.pipe(
      v.array(v.strictObject({ scenario: v.string(), peak: v.pipe(v.string(), v.maxLength(MAX_STORED_PEAK)) })),
      v.maxLength(1000),
    ),
    [],
  ),
  notes: v.pipe(v.array(v.pipe(v.string(), v.maxLength(2000))), v.maxLength(1000)),
});

/** The run and gate that a session belongs to, by GitHub's record and the workflow. */
export interface SessionOwner {
  readonly key: string;
  readonly commit: string | null;
  readonly attempt: number;
}

export interface HandedSession {
  readonly report: GateReport;
  readonly envelopes: ReadonlyMap<string, readonly Band[]>;
  readonly compositions: Compositions;
  readonly notes: readonly string[];
  /** Artifact with the evidence, of this run. */
  readonly bundleArtifact: number | null;
}

const sessionName = (key: string): string => `stormlog-session-${keyName(key)}`;

/** Leave a session for the job that stores it. @throws what the artifact service's client throws, DeadlineError */
export async function uploadSession(
  job: Omit<ArtifactJob, "name">,
  scratch: string,
  { key, commit, attempt }: SessionOwner,
  { report, envelopes, compositions, notes, bundleArtifact }: HandedSession,
): Promise<Upload> {
  const document = {
    schema: SCHEMA,
    key,
    commit,
    run_attempt: attempt,
    bundle_artifact: bundleArtifact,
    report: stormlogReport(report),
    envelopes: [...envelopes].map(([scenario, curves]) => ({ scenario, curves })),
    compositions: [...compositions].map(([scenario, peak]) => ({ scenario, peak })),
    notes,
  };
  return uploadRaw({ ...job, name: sessionName(key) }, ".json", scratch, `${JSON.stringify(document)}\n`);
}

function refuse(why: string): GateError {
  return invalidInput("SESSION_REFUSED", `the measured session is not stored: ${why}`, undefined, HINT);
}

const HINT = "Look at the job that measured, and run both jobs again.";

/**
 * The session that this run's measuring job left: of this gate, commit and attempt, with scenarios of the configuration
 * and no verdict that is better than its own checks.
 * @throws GateError SESSION_MISSING (error), SESSION_REFUSED (exit 5), those of the report's reader and of the store
 */
export async function downloadSession(
  store: ArtifactStore,
  owner: SessionOwner,
  { scenarios }: Pick<GateRequest, "scenarios">,
): Promise<HandedSession> {
  const listed = await store.list();
  const attempts = Array.from({ length: owner.attempt }, (_, at) => owner.attempt - at);
  const found = attempts
    .map((attempt) => {
      const names = artifactNames(sessionName(owner.key), attempt).map((name) => `${name}.json`);
      // Of the first name it is not known which attempt it is of; the document has that.
      const own = attempt === 1 ? names : names.slice(1);
      return { attempt, artifacts: listed.filter(({ name }) => own.includes(name)) };
    })
    .find(({ artifacts }) => artifacts.length > 0);
  const [artifact, ...others] = found?.artifacts ?? [];
  if (found === undefined || artifact === undefined) {
    throw new GateError("SESSION_MISSING", "the measuring job of this run left no session", { hint: HINT });
  }
  if (others.length > 0) throw refuse(`${others.length + 1} artifacts have its name`);
  const handed = readSession(await store.read(artifact, 32 * 1024 * 1024), artifact.name);
  const { document, report } = handed;
  if (document.key !== owner.key) throw refuse("it belongs to another gate");
  if (document.commit !== owner.commit) throw refuse("it is about another commit than this run");
  if (document.run_attempt > owner.attempt) throw refuse("it names a later attempt than this run's");
  if (document.compositions.some(({ peak }) => withEpoch(peak, "") === null))
    throw refuse("a peak composition is not readable");
  checkReport(report, owner, new Set(scenarios.map(({ name }) => name)));
  const [held] = holdClaims(
    [
      {
        gateId: "session",
        leg: null,
        headSha: null,
        runAttempt: 1,
        bundleArtifact: null,
        timelineArtifact: null,
        report,
      },
    ],
    { live: null, headSha: null, untrusted: true },
  ).sections;
  const own = (id: number | null): number | null => (listed.some((one) => one.id === id) ? id : null);
  return {
    report: held?.report ?? report,
    envelopes: new Map(document.envelopes.map(({ scenario, curves }) => [scenario, curves])),
    compositions: new Map(document.compositions.map(({ scenario, peak }) => [scenario, peak])),
    notes: document.notes,
    bundleArtifact: own(document.bundle_artifact),
  };
}

function readSession(bytes: Uint8Array, name: string) {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw refuse("its artifact is not JSON");
  }
  const parsed = v.safeParse(SessionSchema, json, { abortEarly: true });
  if (!parsed.success)
    throw refuse(`its artifact has no valid ${String(parsed.issues[0].path?.[0]?.key ?? "document")}`);
  return { document: parsed.output, report: parseStormlogReport(parsed.output.report, name).report };
}

/** The report is of this commit, about scenarios of this configuration, and supports its own verdicts. */
function checkReport(report: GateReport, { commit }: SessionOwner, known: ReadonlySet<string>): void {
  const names = report.scenarios.map(({ scenario }) => scenario);
  if (new Set(names).size !== names.length) throw refuse("it has a scenario twice");
  if (names.some((name) => !known.has(name))) throw refuse("it has a scenario that the configuration does not have");
  const commits = report.scenarios.flatMap(({ runs }) =>
    runs.filter(({ role }) => role === "candidate").map(({ info }) => info.commit),
  );
  if (commits.some((one) => one !== null && one !== commit)) throw refuse("it measured another commit than this run's");
  const sessions = report.scenarios.flatMap(({ runs }) => runs.map(({ info }) => info.session));
  if (sessions.some((one) => one !== report.session)) throw refuse("its runs are of several sessions");
  for (const { judgement } of report.scenarios) {
    const failed = judgement?.checks.some(({ gating, verdict }) => gating && verdict === "fail") ?? false;
    if (failed && judgement?.verdict !== "fail") throw refuse("its verdict is better than its own checks");
  }
}
