import type { Finding } from "../../analysis/series/document.ts";
import { metricLabel } from "../../telemetry/recording/metrics.ts";
import type { Judgement } from "../../verdict/model/judgement.ts";
import type { ScenarioReport } from "../model/gate-report.ts";
import { LEAK_LINE, ONE_TIME_LINE, PEAK_LINE } from "../wording/source-line.ts";
import { type Cause, causesOf } from "./causes.ts";

/** Findings that growth explains: they describe the same growth once more. */
const OF_GROWTH = new Set(["leak", "rising", "slow_growth", "pressure", "persistent_drift"]);
const OF_LINES = new Set([LEAK_LINE, ONE_TIME_LINE, PEAK_LINE]);

/** "allocated growth on cuda:0, rank 0": the deciding check of a cause, as documents name it. */
function nameOf({ decisive: { metric, aspect, device, rank, phase } }: Cause): string {
  return `${metricLabel(metric)} ${aspect} on ${device}, rank ${rank}${phase === undefined ? "" : `, phase ${phase}`}`;
}

function explains(cause: Cause, finding: Finding): boolean {
  if (finding.classification === PEAK_LINE) return cause.kind === "peak" || cause.kind === "budget";
  const isGrowth = cause.kind === "leak" || cause.kind === "growth";
  return isGrowth && (OF_GROWTH.has(finding.classification) || OF_LINES.has(finding.classification));
}

/** Checks and findings with the deciding check that explains each, in `explained_by`. */
export function withExplanations<T extends Pick<ScenarioReport, "findings" | "judgement">>(report: T): T {
  const { judgement, findings } = report;
  if (judgement === null) return report;
  const causes = causesOf(judgement.checks);
  if (causes.length === 0) return report;
  const checks = judgement.checks.map((check) => {
    const cause = causes.find(({ explained }) => explained.includes(check));
    return cause === undefined ? check : { ...check, explained_by: nameOf(cause) };
  });
  const explained: Judgement = { ...judgement, checks };
  const hasLine = findings.some(({ classification }) => OF_LINES.has(classification));
  return {
    ...report,
    judgement: explained,
    findings: findings.map((finding) => {
      const cause = causes.find((one) => explains(one, finding));
      if (cause === undefined) return finding;
      // The remedy is that of the named line.
      const known = hasLine && OF_GROWTH.has(finding.classification);
      return { ...finding, explained_by: nameOf(cause), ...(known ? { remediation: [] } : {}) };
    }),
  };
}

/** Critical findings that no cause explains: an answer has a line for each of the first two. */
export function openFindings({ findings }: ScenarioReport): readonly Finding[] {
  return findings
    .filter(({ severity, explained_by, classification }) => {
      return severity === "critical" && explained_by === undefined && !OF_LINES.has(classification);
    })
    .slice(0, 2);
}
