import { parseBaselineSpec } from "../../baseline/spec.ts";
import type { BaselineStore } from "../../baseline/store.ts";
import { gateRequestFromInputs } from "../../config/from-action-inputs.ts";
import type { GateRequest } from "../../config/gate-request.ts";
import { usageError } from "../../core/errors.ts";
import type { GitData } from "../../github/repository/git-data-client.ts";
import { openRefStore } from "../../github/repository/ref-store.ts";
import { freeBundleDirectory } from "../bundle-directory.ts";
import type { SubAction } from "../sub-action.ts";
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
  "attribute",
  "interval-ms",
  "budget",
  "horizon",
] as const;

/** Enough for a first session of five runs, its confirmation and three base runs. */
const DEFAULT_MAX_RUNS = "16";

/** The request of a nightly session: what the gate would measure, with the limits of a session. */
export function sessionRequest(action: SubAction, settings: RefreshSettings): GateRequest {
  const inputs = Object.fromEntries(MEASURED.map((name) => [name, action.input(name)]));
  const request = gateRequestFromInputs(
    { ...inputs, "max-runs": inputs["max-runs"] ?? DEFAULT_MAX_RUNS, baseline: settings.baseline, unjudged: "warn" },
    action.env,
  );
  return { ...request, bundle: freeBundleDirectory(action.env, settings.artifactName) };
}

/** The store that the session goes to. @throws GateError BASELINE_SPEC_INVALID (usage) */
export function sessionStore(settings: RefreshSettings, request: GateRequest, gitData: GitData): BaselineStore {
  const spec = parseBaselineSpec(settings.baseline, request.root);
  if (spec.kind !== "store")
    throw usageError("BASELINE_SPEC_INVALID", `"${settings.baseline}" is not a store that can be written`);
  if (spec.store.kind === "file") return spec.store;
  return openRefStore(gitData, settings.baseline, settings.baseline.slice("ref:".length));
}
