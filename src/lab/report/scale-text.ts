import { assertNever } from "../../core/errors.ts";
import { plural } from "../../core/text.ts";
import { formatBytes, formatDuration } from "../../core/units.ts";
import { metricLabel } from "../../telemetry/recording/metrics.ts";
import { type ScaleDocument, type ScaleProbe, sightOf } from "./scale-document.ts";
import { UNKNOWN } from "./table.ts";

/** "1,280 steps" */
export function formatSize(steps: number): string {
  return `${steps.toLocaleString("en-US")} ${steps === 1 ? "step" : "steps"}`;
}

function checkText({ check }: ScaleProbe): string {
  if (check === null) return UNKNOWN;
  return `${check.aspect} of ${metricLabel(check.metric)}`;
}

function sightText(probe: ScaleProbe): string {
  return { visible: "visible", warned: "warned of", silent: "silent", unjudged: "not judged" }[sightOf(probe)];
}

/** One line for a judged size. */
export function probeText(probe: ScaleProbe): string {
  const { excess_bytes: excess, mde_bytes: mde, runs, seconds, value } = probe;
  const size =
    excess === null || mde === null
      ? "no check measured the difference"
      : `${excess > 0 ? `${formatBytes(excess)} more` : "no more"} than the fixed state (${checkText(probe)}), ${formatBytes(mde)} can be seen`;
  return `${formatSize(value)}: ${sightText(probe)}; ${size}; ${plural(runs, "run")}, ${formatDuration(seconds)}`;
}

/** The answer in one sentence. */
export function answerText({ answer, pattern, probes }: ScaleDocument): string {
  const by_ = (excess: number | null, mde: number | null): string =>
    excess === null || mde === null ? "" : `, with ${formatBytes(excess)} more than the fixed state has`;
  // A size that is not red may have a warning.
  const notRed = (value: number): string => {
    const probe = probes.find((one) => one.value === value);
    return probe !== undefined && sightOf(probe) === "warned" ? "warned of, but not red," : "silent";
  };
  switch (answer.kind) {
    case "visible":
      return `${pattern} becomes visible at ${formatSize(answer.at)}${by_(answer.excess_bytes, answer.mde_bytes)}, and is ${notRed(answer.below)} at ${formatSize(answer.below)}.`;
    case "always":
      return `${pattern} is visible at ${formatSize(answer.at)} already${by_(answer.excess_bytes, answer.mde_bytes)}.`;
    case "never": {
      const { excess_bytes: excess, mde_bytes: mde } = answer;
      const there =
        excess === null || mde === null
          ? ""
          : `: ${excess > 0 ? formatBytes(excess) : "nothing"} has accumulated there, ${formatBytes(mde)} can be seen`;
      const upTo = notRed(answer.to) === "silent" ? "silent up to" : "warned of, but not red, at";
      return `${pattern} is ${upTo} ${formatSize(answer.to)}${there}.`;
    }
    case "broken": {
      const known = [
        ...(answer.below === null ? [] : [`${notRed(answer.below)} at ${formatSize(answer.below)}`]),
        ...(answer.at === null ? [] : [`visible at ${formatSize(answer.at)}`]),
      ];
      const soFar = known.length === 0 ? "" : `; so far it is ${known.join(" and ")}`;
      const evidence = answer.bundle === null ? "" : `; its bundles are in ${answer.bundle}`;
      return `The search of ${pattern} ended without an answer: ${answer.reason}${evidence}${soFar}.`;
    }
    default:
      return assertNever(answer);
  }
}
