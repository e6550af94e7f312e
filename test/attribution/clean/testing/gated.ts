import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Finding } from "../../../../src/analysis/series/document.ts";
import { gateRequest } from "../../../../src/config/options.ts";
import { packageRoot } from "../../../../src/core/package-root.ts";
import { runGate } from "../../../../src/gate/run-gate.ts";
import { silentPorts } from "../../../testing/silent-ports.ts";
import type { CleanProgram } from "../programs.ts";

/** What the gate says about a program that it measured once and attributed. */
export interface Gated {
  readonly verdict: string;
  /** Findings that name a line as leaking. */
  readonly leakLines: readonly string[];
  /** Findings that name a line of any kind, or growth that no line explains. */
  readonly attribution: readonly Finding[];
  /** Drift classes of the first run, by metric, other than flat. */
  readonly classes: Readonly<Record<string, string>>;
  /** Exit of each run, by role. */
  readonly exits: readonly string[];
  readonly warnings: readonly string[];
}

const ATTRIBUTED = /_line$|^unattributed_growth$/;

/** `stormlog-gate run --attribute always --baseline none` on one program, with the engine of the sources. */
export async function gated({ name, command }: CleanProgram): Promise<Gated> {
  const directory = mkdtempSync(path.join(tmpdir(), "gate-clean-"));
  try {
    const request = gateRequest({
      options: { scenario: name, bundle: path.join(directory, "bundle"), "base-run": "off", attribute: "always" },
      command: { kind: "argv", argv: command },
      config: null,
      root: packageRoot(),
      defaultBaselines: [],
      defaultUnjudged: "pass",
      argv: ["run"],
      // Two cores are shared with other tests.
      env: { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: "1", OMP_NUM_THREADS: "1" },
    });
    const { report } = await runGate(request, silentPorts());
    const [scenario] = report.scenarios;
    if (scenario === undefined) throw new Error("the report has no scenario");
    const attribution = scenario.findings.filter(({ classification }) => ATTRIBUTED.test(classification));
    const series = scenario.runs[0]?.analysis?.series ?? [];
    return {
      verdict: scenario.verdict,
      leakLines: attribution.flatMap(({ classification, description }) =>
        classification === "leak_line" ? [description] : [],
      ),
      attribution,
      classes: Object.fromEntries(
        series.flatMap(({ device, metric, class: label }) =>
          label === "flat" ? [] : [[`${device} ${metric}`, label]],
        ),
      ),
      exits: scenario.runs.map(
        ({ role, info: { exit } }) => `${role} ${exit.kind === "exited" ? exit.code : exit.kind}`,
      ),
      warnings: report.warnings,
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
