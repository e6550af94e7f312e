import path from "node:path";
import { DEFAULTS } from "../../config/run-options.ts";
import { GateError, usageError } from "../../core/errors.ts";
import { escapeTerminal } from "../../core/escape.ts";
import { ExitCode } from "../../core/exit-codes.ts";
import { formatDuration } from "../../core/units.ts";
import { recordOnce } from "../../gate/run/record-once.ts";
import { formatSize, metricLabel } from "../../telemetry/recording/metrics.ts";
import type { Invocation } from "../console/command.ts";
import { requestOf } from "../console/gate-request.ts";
import { consolePorts, interruptSignal } from "../console/ports.ts";
import { shownPath } from "../console/program.ts";

export async function record(invocation: Invocation): Promise<number> {
  const { console, text } = invocation;
  const request = requestOf(invocation, { baselines: [], unjudged: "pass" });
  const scenario = request.scenarios[0];
  if (scenario === undefined || request.scenarios.length > 1) {
    throw usageError("SCENARIO_AMBIGUOUS", "`record` measures one scenario", "Choose one with --scenario NAME.");
  }
  const output = path.resolve(text.output ?? DEFAULTS.recording);
  const interrupt = interruptSignal();
  const finished = await recordOnce(request, scenario, output, consolePorts(console, interrupt));
  const { info, ending } = finished;
  for (const warning of finished.warnings) console.print(`warning: ${escapeTerminal(warning)}`);
  const ranks = new Set(info.peaks.map(({ rank }) => rank)).size;
  for (const peak of info.peaks) {
    const rank = ranks > 1 || info.identity.world_size > 1 ? `rank ${peak.rank} ` : "";
    console.print(
      `${rank}${peak.device} ${metricLabel(peak.metric)}  peak ${formatSize(peak.metric, peak.bytes)} (${peak.kind}, ${peak.source})`,
    );
  }
  const rate = info.sampler.host_rate_hz === null ? "" : ` at ${info.sampler.host_rate_hz.toFixed(0)} Hz`;
  console.print(
    `Recorded ${formatDuration(info.clock.duration_s ?? 0)}${rate}: ${escapeTerminal(shownPath(finished.directory))}`,
  );
  console.document(info);
  if (ending.kind === "interrupted") return ExitCode.interrupted;
  if (ending.kind === "failed") {
    throw new GateError(ending.code, ending.message, { hint: ending.hint ?? undefined });
  }
  // A recording is all that is asked for here.
  if (finished.writeError !== null) throw finished.writeError;
  return ExitCode.pass;
}
