import { existsSync } from "node:fs";
import { parseBaselineSpec } from "../../baseline/spec.ts";
import { type BaselineStore, recordName, type StoredRecord } from "../../baseline/store.ts";
import { gateRequestFromInputs } from "../../config/from-action-inputs.ts";
import type { GateRequest } from "../../config/gate-request.ts";
import { usageError } from "../../core/errors.ts";
import type { GatePorts } from "../../gate/ports/ports.ts";
import type { Anchor } from "../../gate/scenario/anchor.ts";
import type { RepositoryView } from "../../git/repository-view.ts";
import { withDeadline } from "../../github/api/deadline.ts";
import { actionsArtifactStore, uploadBundle } from "../../github/artifacts/artifact.ts";
import { acceptedOnMain } from "../../github/pull-request/acceptances.ts";
import type { GitData } from "../../github/repository/git-data-client.ts";
import { openRefStore } from "../../github/repository/ref-store.ts";
import { keepCompositions, measureCompositions } from "../../nightly/compositions.ts";
import { type Breach, type NightlyRun, runNightly, storeMeasured } from "../../nightly/nightly-run.ts";
import { covers } from "../../verdict/difference.ts";
import { freeBundleDirectory } from "../bundle-directory.ts";
import { withStopCommands } from "../stop-commands.ts";
import type { SubAction } from "../sub-action.ts";
import { downloadSession, type HandedSession, type SessionOwner } from "./session-artifact.ts";
import { joinedBaseline } from "./session-text.ts";
import type { RefreshSettings } from "./settings.ts";

/** Inputs about what is measured and how; the same as the gate's. */
export const MEASURED = [
  "run",
  "config",
  "scenario",
  "working-directory",
  "base-run",
  "max-runs",
  "max-minutes",
  "probe",
  "isolation",
  "attribute",
  "interval-ms",
  "budget",
  "horizon",
] as const;

/** Enough for a first session of five runs, its confirmation and three base runs. */
const DEFAULT_MAX_RUNS = "16";

/** A refresh that may measure or store: what its parts work with. */
export interface Refresh {
  readonly action: SubAction;
  readonly settings: RefreshSettings;
  readonly request: GateRequest;
  readonly repository: RepositoryView;
  readonly gitData: GitData;
  /** Ref with the history and the badges. */
  readonly ref: string;
  readonly anchors: readonly Anchor[];
  readonly defaultBranch: string;
}

/** A session that was measured, or handed over. */
export interface CompletedSession extends Omit<HandedSession, "report" | "envelopes"> {
  readonly nightly: NightlyRun;
}

/** The request of a nightly session: what the gate would measure, with the limits of a session. */
export function sessionRequest(action: SubAction, settings: RefreshSettings): GateRequest {
  const inputs = Object.fromEntries(MEASURED.map((name) => [name, action.input(name)]));
  const request = gateRequestFromInputs(
    { ...inputs, "max-runs": inputs["max-runs"] ?? DEFAULT_MAX_RUNS, baseline: settings.baseline, unjudged: "warn" },
    action.env,
  );
  return { ...request, bundle: freeBundleDirectory(action.env, settings.artifactName) };
}

/** The run and gate that a session is of. */
export function ownerOf({ action: { context }, settings }: Refresh): SessionOwner {
  return { key: settings.key, commit: context.sha, attempt: context.runAttempt };
}

/** What every upload of this step has in common. */
export async function artifactJob({ action: { context, signal }, settings: { retentionDays } }: Refresh) {
  const deadline = { ms: 60_000, interrupt: signal, msAfterInterrupt: 5000 };
  return { store: await actionsArtifactStore(), context, retentionDays, deadline };
}

/** The store that the session goes to. @throws GateError BASELINE_SPEC_INVALID (usage) */
function sessionStore({ settings: { baseline }, request, gitData }: Refresh): BaselineStore {
  const spec = parseBaselineSpec(baseline, request.root);
  if (spec.kind !== "store")
    throw usageError("BASELINE_SPEC_INVALID", `"${baseline}" is not a store that can be written`);
  return spec.store.kind === "file" ? spec.store : openRefStore(gitData, baseline, baseline.slice("ref:".length));
}

/** A store that is only read: what is written to it is seen in this process alone. */
function stagedStore(store: BaselineStore): BaselineStore {
  const changed = new Map<string, StoredRecord>();
  return {
    name: store.name,
    kind: store.kind,
    async list(scenario) {
      const content = await store.list(scenario);
      const records = content.records.filter(({ name }) => !changed.has(name));
      return { ...content, records: [...records, ...changed.values()] };
    },
    async update(scenario, fingerprint, change) {
      const name = recordName(scenario, fingerprint);
      const { records } = changed.has(name) ? { records: [] } : await store.list(scenario);
      const current = changed.get(name) ?? records.find((one) => one.name === name);
      const stored = { name, record: change(current?.record ?? null) };
      changed.set(name, stored);
      return stored;
    },
  };
}

/** Whether a breach was accepted in the pull request that brought it: who, and why. */
async function acceptedReason({ octokit, context, signal, log }: SubAction, breach: Breach): Promise<string | null> {
  const { difference, commit, since } = breach;
  if (difference === null || commit === null) return null;
  // Maximum time to look for acceptances of a breach, milliseconds.
  const known = await withDeadline({ ms: 90_000, interrupt: signal }, () =>
    acceptedOnMain(octokit, context, commit, since),
  );
  const match = known.find(({ acceptance }) => covers(acceptance, { token: difference }));
  if (match !== undefined) {
    return `${match.acceptance.reason} (accepted by ${match.acceptance.by} in #${match.pullRequest})`;
  }
  const others = known.map(({ acceptance, pullRequest }) => `${acceptance.difference} in #${pullRequest}`).join(", ");
  if (others !== "")
    log(`Accepted before the merge: ${others}. None covers this session's difference (${difference}).`);
  return null;
}

/** What a nightly run is made with; only a job that stores what it measures asks for acceptances. */
function nightlyOptions({ action, settings }: Refresh, store: BaselineStore, asks: boolean, warn = action.log) {
  return {
    store,
    spec: settings.baseline,
    runs: settings.runs,
    accept: settings.accept,
    accepted: async (breach: Breach) => (asks ? acceptedReason(action, breach) : null),
    warn,
  };
}

/** Measure a session and judge it. A session for another job is stored in this process alone. */
async function measure(here: Refresh): Promise<Omit<CompletedSession, "bundleArtifact">> {
  const { action, settings, request } = here;
  const staged = settings.stage === "measure";
  const own = sessionStore(here);
  const store = staged ? stagedStore(own) : own;
  return withStopCommands("Stormlog Gate: measuring the nightly session", action, async (base) => {
    // The store that is written is also the one that is read, so that nothing is fetched twice.
    const ports: GatePorts = { ...base, ...(store.kind === "ref" ? { openRef: () => store } : {}) };
    const nightly = await runNightly(request, nightlyOptions(here, store, !staged, ports.log), ports);
    const joined = settings.composition ? nightly.scenarios.filter(joinedBaseline) : [];
    const { compositions, notes } = await measureCompositions(request, joined, store, ports);
    const unkept = staged ? [] : await keepCompositions(compositions, joined, store);
    return { nightly, compositions, notes: [...notes, ...unkept] };
  });
}

/** The uploaded bundle's id; null where there is none, and with one warning where it could not be uploaded. */
async function upload(here: Refresh): Promise<number | null> {
  const { bundle } = here.request;
  if (!existsSync(bundle)) return null;
  const answer = await uploadBundle({ ...(await artifactJob(here)), name: here.settings.artifactName }, bundle);
  if (answer.ok) return answer.id;
  here.action.warn(answer.warning);
  return null;
}

/** Measure a session, and upload its evidence also when that failed. */
export async function measureSession(here: Refresh): Promise<CompletedSession> {
  let bundleArtifact: number | null = null;
  let measured: Omit<CompletedSession, "bundleArtifact">;
  try {
    measured = await measure(here);
  } finally {
    bundleArtifact = await upload(here);
  }
  return { ...measured, bundleArtifact };
}

/** The session of this run's measuring job, stored now. Runs nothing of the program. */
export async function storeHanded(here: Refresh): Promise<CompletedSession> {
  const { request } = here;
  const handed = await downloadSession(await actionsArtifactStore(), ownerOf(here), request);
  const store = sessionStore(here);
  const nightly = await storeMeasured(request, handed, nightlyOptions(here, store, true), new Date());
  const { compositions, bundleArtifact } = handed;
  const unkept = await keepCompositions(compositions, nightly.scenarios.filter(joinedBaseline), store);
  return { nightly, compositions, notes: [...handed.notes, ...unkept], bundleArtifact };
}
