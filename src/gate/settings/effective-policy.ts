import path from "node:path";
import { openFileStore } from "../../baseline/file-store.ts";
import type { StoreOpeners } from "../../baseline/spec.ts";
import type { GateRequest } from "../../config/gate-request.ts";
import { parseConfig } from "../../config/load.ts";
import type { ConfigChange } from "../../config/policy-changes.ts";
import { GateError } from "../../core/errors.ts";
import type { RepositoryView, RepositoryViews } from "../../git/repository-view.ts";
import type { GateReport, ScenarioReport } from "../../report/model/gate-report.ts";
import type { CausedBy } from "../../report/model/report-schema.ts";
import { policyDifference } from "../../verdict/difference.ts";
import { DONE, type Judgement } from "../../verdict/model/judgement.ts";
import { findBase, readBaseConfig } from "../base/base-config.ts";
import { AcceptanceMatcher } from "../ports/acceptance.ts";
import type { GatePorts } from "../ports/ports.ts";
import { unmeasured } from "../scenario/scenario-report.ts";
import type { BaseRecords } from "./base-records.ts";

/** The policy a run is judged by, and the parts of the configuration that a change cannot set. */
export interface EffectivePolicy {
  readonly request: GateRequest;
  readonly warnings: readonly string[];
  /** Fields of the report; empty when the change does not touch the settings of its gate. */
  readonly reported: Pick<GateReport, "policy_changes" | "policy_difference" | "policy_accepted">;
  readonly removed: readonly string[];
  /** What this change did to scenarios of the base commit, by their names in the change. */
  readonly altered: ReadonlyMap<string, Alteration>;
  /** Opens `file:` baselines as they are in force; absent = those of the work tree. */
  readonly openFile?: NonNullable<StoreOpeners["openFile"]>;
}

/** Why nothing measured before can be compared with a scenario until the change is accepted. */
interface Alteration {
  readonly by: Exclude<CausedBy, "removed">;
  readonly reason: string;
}

function asItIs(request: GateRequest, warnings: readonly string[] = []): EffectivePolicy {
  return { request, warnings, reported: {}, removed: [], altered: new Map() };
}

function names(changes: readonly ConfigChange[]): string {
  const shown = changes.slice(0, 5).map(({ path: field }) => field);
  return `${shown.join(", ")}${changes.length > shown.length ? ` and ${changes.length - shown.length} more` : ""}`;
}

type SettingsSource = NonNullable<GateRequest["source"]>;
type Under = ReturnType<SettingsSource["under"]>;

/** The config file of the base commit: how it judges, or why the change's own counts; and the commit, where known. */
interface BaseSettings {
  readonly commit: string | null;
  readonly under: Under | null;
  readonly warnings: readonly string[];
}

async function baseSettings(
  { source, root }: GateRequest,
  { fileAt }: GatePorts,
  repositories: RepositoryViews,
): Promise<BaseSettings> {
  if (source === undefined) return { commit: await findBase(await repositories(root)), under: null, warnings: [] };
  const file = path.basename(source.file);
  const base = await readBaseConfig(file, await repositories(path.dirname(source.file)), fileAt);
  const own = (commit: string | null, ...warnings: string[]): BaseSettings => ({ commit, under: null, warnings });
  switch (base.kind) {
    case "not-asked":
      return own(null);
    case "new":
      return own(base.commit, `${file} is new: the base commit has none, so this change is judged by its own settings`);
    case "unknown":
      return own(
        null,
        `${file} of the base commit cannot be read (${base.why}), so this change is judged by its own settings; check out with fetch-depth: 0`,
      );
    case "found":
      break;
    default:
      return base satisfies never;
  }
  try {
    const under = source.under(parseConfig(base.text, `${file} of the base commit ${base.commit.slice(0, 12)}`));
    return { commit: base.commit, under, warnings: under.differs.notes };
  } catch (error) {
    if (!(error instanceof GateError)) throw error;
    return own(base.commit, `${error.message}, so this change is judged by its own settings`);
  }
}

async function recordsOf(
  commit: string | null,
  specs: readonly string[],
  repository: RepositoryView,
  ports: GatePorts,
): Promise<BaseRecords> {
  if (commit === null || !specs.some((spec) => spec.startsWith("file:"))) return { stores: new Map(), warnings: [] };
  // Only a pull request has a base.
  const { baseRecords } = await import("./base-records.ts");
  return baseRecords(specs, repository, commit, ports, (spec) =>
    openFileStore(spec, path.resolve(repository.cwd, spec.slice("file:".length))),
  );
}

function alterationsOf(under: Under | null): ReadonlyMap<string, Alteration> {
  if (under === null) return new Map();
  const { redefined, renamed } = under.differs;
  return new Map([
    ...redefined.map((name): [string, Alteration] => [
      name,
      {
        by: "edited",
        reason: "this change alters what the scenario runs, so earlier measurements cannot be compared with it",
      },
    ]),
    ...[...renamed].map(([name, former]): [string, Alteration] => [
      name,
      { by: "renamed", reason: `this change renames the scenario "${former}", so it passes once that is accepted` },
    ]),
  ]);
}

/** The same alterations for the scenarios that `--vary` made of theirs. */
function withVaried(
  altered: ReadonlyMap<string, Alteration>,
  { scenarios }: GateRequest,
): ReadonlyMap<string, Alteration> {
  const more = scenarios.flatMap(({ name, varied }): [string, Alteration][] => {
    const one = varied === undefined ? undefined : altered.get(varied.of);
    return one === undefined ? [] : [[name, one]];
  });
  return new Map([...altered, ...more]);
}

/** The request with the names by which its renamed scenarios have baselines. */
function withFormerNames(request: GateRequest, under: Under | null): GateRequest {
  const renamed = under?.differs.renamed ?? new Map<string, string>();
  if (renamed.size === 0) return request;
  const scenarios = request.scenarios.map((scenario) => {
    const { varied, name } = scenario;
    const former = renamed.get(varied?.of ?? name);
    if (former === undefined) return scenario;
    return { ...scenario, formerName: varied === undefined ? former : `${former}@${varied.name}=${varied.value}` };
  });
  return { ...request, scenarios };
}

/**
 * On a pull request budgets, horizon, repeats, ignored programs, baseline, policy and the records of `file:` baselines
 * are those of the commit it branched off: a change cannot loosen its own gate. Its changes are reported, and in force
 * once a person with write permission accepted exactly these. Where the base commit's cannot be read, the change's own
 * count, with a warning.
 */
export async function effectivePolicy(
  request: GateRequest,
  ports: GatePorts,
  repositories: RepositoryViews,
): Promise<EffectivePolicy> {
  const { commit, under, warnings: notes } = await baseSettings(request, ports, repositories);
  const judged: GateRequest = { ...request, ...under?.judgedBy };
  const records = await recordsOf(
    commit,
    [...judged.baselines, ...request.baselines],
    await repositories(request.root),
    ports,
  );
  const { stores } = records;
  const openFile = (_name: string, directory: string) => stores.get(directory)?.store ?? null;
  const warnings = [...notes, ...records.warnings];
  const changes = [...(under?.differs.changes ?? []), ...[...stores.values()].flatMap((one) => one.changes)];
  if (changes.length === 0) return { ...asItIs(judged, warnings), openFile };
  const found = policyDifference(changes);
  const acceptances = new AcceptanceMatcher(ports.acceptances);
  const accepted = await acceptances.find("policy", found);
  const reported = { policy_changes: changes, policy_difference: found.token };
  if (accepted !== null) {
    ports.log(`the changed settings of the gate were accepted and are in force: ${names(changes)}`);
    return {
      ...asItIs(withFormerNames(request, under), [...records.warnings, ...(await acceptances.notes())]),
      reported: { ...reported, policy_accepted: accepted },
    };
  }
  ports.log(`the changed settings of the gate are not in force: ${names(changes)}`);
  return {
    request: judged,
    warnings: [...warnings, ...(await acceptances.notes())],
    reported,
    removed: under?.differs.removed ?? [],
    altered: withVaried(alterationsOf(under), judged),
    openFile,
  };
}

/**
 * A scenario that the change edited or renamed cannot be verified, so it cannot pass until the change is accepted; a
 * fail stays a fail.
 */
export function demoteUnverifiedPass(report: ScenarioReport, policy: EffectivePolicy): ScenarioReport {
  const altered = policy.altered.get(report.scenario);
  if (altered === undefined || report.judgement === null) return report;
  if (report.verdict === "fail" || report.verdict === "error") return report;
  const { by, reason } = altered;
  const timeline = report.timeline === null ? null : { ...report.timeline, verdict: "unjudged" as const };
  const judgement: Judgement = { ...report.judgement, verdict: "unjudged", next: DONE, reason };
  return { ...report, verdict: "unjudged", timeline, judgement, caused_by: by, ...differenceOf(policy) };
}

/** The token by which the settings are accepted, as that of a scenario that waits for it. */
function differenceOf({ reported }: EffectivePolicy): Pick<ScenarioReport, "difference"> {
  return reported.policy_difference === undefined ? {} : { difference: reported.policy_difference };
}

/** The reports of the scenarios that the change removes. */
export function removedScenarios(policy: EffectivePolicy): readonly ScenarioReport[] {
  const judgement: Judgement = {
    verdict: "unjudged",
    next: DONE,
    confirmed: false,
    checks: [],
    fingerprint: [],
    reason: "this change removes the scenario from the configuration, so it was not measured",
  };
  return policy.removed.map((scenario) => ({
    ...unmeasured(scenario, { verdict: "unjudged", judgement, error: null }),
    caused_by: "removed",
    ...differenceOf(policy),
  }));
}
