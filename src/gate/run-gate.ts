import path from "node:path";
import type { GateRequest } from "../config/gate-request.ts";
import { GateError } from "../core/errors.ts";
import { freezeRefs } from "../git/git.ts";
import { endOrphans } from "../measure/launch/process-tree.ts";
import { writeBundle } from "../report/bundle/bundle.ts";
import { unlockBundle } from "../report/bundle/bundle-lock.ts";
import type { GateReport } from "../report/model/gate-report.ts";
import type { AcceptCommand } from "../report/wording/next-steps.ts";
import { judgeScenarios } from "./judge-scenarios.ts";
import type { GatePorts } from "./ports/ports.ts";
import { prepareGate } from "./prepare-gate.ts";
import { NO_HOOKS, type ScenarioHooks } from "./scenario/scenario-hooks.ts";

export interface GateOutcome {
  readonly report: GateReport;
  /** Absolute directory of the bundle. */
  readonly bundleDir: string;
  /** Why the bundle is incomplete (disk full, no permission); null when it is complete. */
  readonly bundleError: GateError | null;
}

/**
 * Measure and judge every scenario in turn, and write one bundle.
 * @throws GateError for an error before the first measurement (usage, baseline file named directly, bundle directory)
 */
export async function runGate(
  asked: GateRequest,
  ports: GatePorts,
  hooks: ScenarioHooks = NO_HOOKS,
): Promise<GateOutcome> {
  const startedMs = performance.now();
  const unfreeze = await freezeRefs(directoriesOf(asked), ports.interrupt);
  let lower = (): void => {};
  try {
    const gate = await prepareGate(asked, ports, hooks);
    lower = gate.context.wall.lower;
    const judged = await judgeScenarios(gate, ports, hooks);
    // What git or another helper left behind must not write while the evidence is written and published.
    await endOrphans(500);
    const { composeReport } = await import("./compose-report.ts");
    const report = await composeReport(gate, judged, ports, startedMs);
    const printed = ports.decided?.(report);
    // Also where the report cannot be printed, the evidence is written.
    await printed?.catch(() => {});
    const lost = await gate.context.runFiles.write();
    const accept = await ports.acceptCommand?.(report.scenarios);
    const outcome = await writeEvidence(gate.request.bundle, withWarnings(report, lost), accept);
    await printed;
    return outcome;
  } finally {
    lower();
    unfreeze();
  }
}

/** The directories whose repositories are read. The change names those of its scenarios, so they add none. */
function directoriesOf({ root, source }: GateRequest): readonly string[] {
  return [root, ...(source === undefined ? [] : [path.dirname(source.file)])];
}

const withWarnings = (report: GateReport, more: readonly string[]): GateReport => ({
  ...report,
  warnings: [...report.warnings, ...more],
});

async function writeEvidence(bundleDir: string, report: GateReport, accept?: AcceptCommand): Promise<GateOutcome> {
  try {
    const written = await writeBundle(bundleDir, report, [], accept);
    return { report: written.report, bundleDir, bundleError: null };
  } catch (error) {
    // The verdict does not depend on its evidence, and the caller needs both.
    if (!(error instanceof GateError)) throw error;
    return { report: withWarnings(report, [error.message]), bundleDir, bundleError: error };
  } finally {
    await unlockBundle(bundleDir).catch(() => {});
  }
}
