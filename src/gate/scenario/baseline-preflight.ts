import path from "node:path";
import type { ScenarioQuery } from "../../baseline/from-store.ts";
import { type LoadedBaselines, loadBaselines } from "../../baseline/load.ts";
import { parseBaselineSpec, type StoreOpeners } from "../../baseline/spec.ts";
import type { GateRequest, ScenarioRequest } from "../../config/gate-request.ts";
import { usageError } from "../../core/errors.ts";
import { withoutLinks } from "../../core/files.ts";
import type { RepositoryView } from "../../git/repository-view.ts";
import { definitionHash } from "../../measure/environment/fingerprint.ts";
import type { GatePorts } from "../ports/ports.ts";

const isWithin = (directory: string, file: string): boolean => {
  const relative = path.relative(directory, file);
  return relative === "" || (!relative.startsWith("..") && !path.isAbsolute(relative));
};

/** A scenario as its records may know it. */
export function wantedScenario({ name, formerName, otherDefinitions = [] }: ScenarioRequest): ScenarioQuery {
  return { name, formerName, otherDefinitions: otherDefinitions.flatMap((text) => definitionHash(text) ?? []) };
}

/**
 * Read the baselines before an hour is spent on measuring, and before the measured command can write to them. Which
 * record of a store fits is known only after the first run. Whether one exists, and whether a file can be read, does
 * not depend on the environment.
 * @throws GateError BASELINE_SPEC_INVALID, BASELINE_IN_BUNDLE (usage), and those of a baseline file named directly
 *   (exit 5)
 */
export async function readBaselines(
  request: GateRequest,
  ports: Pick<GatePorts, "openRef" | "openArtifact" | "now">,
  repository?: RepositoryView,
  openFile?: StoreOpeners["openFile"],
): Promise<LoadedBaselines> {
  for (const text of request.baselines) {
    const spec = parseBaselineSpec(text, request.root);
    const location = spec.kind === "bundle" ? spec.directory : spec.kind === "file" ? spec.file : null;
    if (location !== null && isWithin(request.bundle, withoutLinks(location))) {
      throw usageError(
        "BASELINE_IN_BUNDLE",
        `the baseline "${text}" is in the bundle that this run replaces`,
        "Choose another directory with --bundle, or copy the baseline away first.",
      );
    }
  }
  const { root, env, scenarios } = request;
  const { openRef, openArtifact, now } = ports;
  const names = scenarios.flatMap(({ name, formerName }) => (formerName === undefined ? [name] : [name, formerName]));
  const context = { root, env, openRef, openArtifact, openFile, repository, now };
  const held = await loadBaselines(request.baselines, [...new Set(names)], context);
  for (const scenario of scenarios) held.find(wantedScenario(scenario), {});
  return held;
}
