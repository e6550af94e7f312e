import path from "node:path";
import type { Measurements } from "../../analysis/measurements.ts";
import { normalizeDefinition, type ScenarioQuery } from "../../baseline/from-store.ts";
import { codeOf, invalidInput, messageOf } from "../../core/errors.ts";
import { readBounded } from "../../core/files.ts";
import { ciJob, type Environment } from "../../core/process/environment.ts";
import { namedBase, type RepositoryView } from "../../git/repository-view.ts";
import type { Fingerprint } from "../../telemetry/recording/model.ts";
import { ANCHORS_FILE, type Anchor, anchorMeasurements, findAnchor, parseAnchors } from "./anchor.ts";

/** The release anchors of a gate, with warnings. */
export interface AnchorBook {
  readonly anchors: readonly Anchor[];
  readonly warnings: readonly string[];
}

function inTree(root: string): string | null {
  const file = path.join(root, ANCHORS_FILE);
  try {
    // Far above the anchors of thousands of scenarios.
    return readBounded(file, 16 * 1024 * 1024).toString("utf8");
  } catch (error) {
    const code = codeOf(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    throw invalidInput("ANCHORS_UNREADABLE", `${file} cannot be read: ${messageOf(error)}`, file);
  }
}

/** Whether a pull request is measured, whose files must not set its own limits. */
function onPullRequest(env: Environment): boolean {
  // A bot may push a copy of a pull request for runners without access to pull requests.
  const copied = /^refs\/heads\/pull-request\/\d+$/.test(ciJob(env).ref ?? "");
  return copied || namedBase(env) !== null;
}

/**
 * The anchors in force for the code of a directory. On a pull request they are those of the commit it branched off: a
 * change cannot move its own limit. Where that commit is not available, those of the working tree are used, with a
 * warning.
 * @throws GateError ANCHORS_INVALID, ANCHORS_UNREADABLE, INPUT_SCHEMA_VERSION (exit 5)
 */
export async function readAnchors(repository: RepositoryView): Promise<AnchorBook> {
  const own = inTree(repository.cwd);
  if (!onPullRequest(repository.env)) return book(own, ANCHORS_FILE, []);
  const base = await repository.mergeBase();
  if (base === null) {
    const why = `${ANCHORS_FILE} of the base commit is not available here (a shallow clone needs fetch-depth: 0), so that of the change is used`;
    return book(own, ANCHORS_FILE, own === null ? [] : [why]);
  }
  const text = await repository.fileAt(base, `${repository.checkout.prefix}${ANCHORS_FILE}`);
  const changed = (own?.trim() ?? null) !== (text?.trim() ?? null);
  // Without anchors at the base no limit can be loosened, so those of the change are used.
  if (text === null) return book(own, ANCHORS_FILE, []);
  return book(
    text,
    `${ANCHORS_FILE} of ${base.slice(0, 12)}`,
    changed ? [`${ANCHORS_FILE} is changed here, and the anchors of the base commit are used until it is merged`] : [],
  );
}

function book(text: string | null, where: string, warnings: readonly string[]): AnchorBook {
  return { anchors: text === null ? [] : parseAnchors(text, where), warnings };
}

/** The anchor of one scenario, with a warning where only other environments have one. */
export function anchorFor(
  { anchors }: AnchorBook,
  wanted: ScenarioQuery,
  fingerprint: Fingerprint,
): { readonly measurements: Measurements | null; readonly warnings: readonly string[] } {
  const { name: scenario, formerName } = wanted;
  const spelled = anchors.map((one) => ({
    ...one,
    fingerprint: { ...normalizeDefinition(one.fingerprint, fingerprint, wanted) },
  }));
  const named = (name: string) => findAnchor(spelled, name, fingerprint);
  const anchor = named(scenario) ?? (formerName === undefined ? null : named(formerName));
  if (anchor !== null) return { measurements: anchorMeasurements(anchor), warnings: [] };
  const elsewhere = anchors.some((one) => one.scenario === scenario);
  return {
    measurements: null,
    warnings: elsewhere ? [`${scenario}: its release anchors are of other environments, so none is checked here`] : [],
  };
}
