import path from "node:path";
import { loadFirstBaseline } from "../baseline/load.ts";
import { parseBaselineSpec } from "../baseline/spec.ts";
import type { GateRequest } from "../config/gate-request.ts";
import { usageError } from "../core/errors.ts";

const isWithin = (directory: string, file: string): boolean => {
  const relative = path.relative(directory, file);
  return relative === "" || (!relative.startsWith("..") && !path.isAbsolute(relative));
};

/**
 * Check the named baselines before an hour is spent on measuring. Which record of a store fits is known only after the
 * first run, but whether one exists, and whether a file can be read, does not depend on the environment.
 * @throws GateError BASELINE_SPEC_INVALID, BASELINE_IN_BUNDLE (usage), and those of a baseline file named directly
 *   (exit 5)
 */
export async function checkBaselines(request: GateRequest): Promise<void> {
  for (const text of request.baselines) {
    const spec = parseBaselineSpec(text, request.root);
    const location = spec.kind === "bundle" ? spec.directory : spec.kind === "file" ? spec.file : null;
    if (location !== null && isWithin(request.bundle, location)) {
      throw usageError(
        "BASELINE_IN_BUNDLE",
        `the baseline "${text}" is in the bundle that this run replaces`,
        "Choose another directory with --bundle, or copy the baseline away first.",
      );
    }
  }
  for (const scenario of request.scenarios) await loadFirstBaseline(request.baselines, scenario.name, {}, request);
}
