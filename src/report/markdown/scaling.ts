import type { Scaling } from "../model/gate-report.ts";
import { fitsTexts, lawText, pointText, scalingBreach, scalingTitle } from "../wording/scaling-text.ts";
import { md, table } from "./markdown-text.ts";

/** Peaks over the values of `--vary`: what breached, a table, the law and what fits. */
export function scalingText(scaling: Scaling): string {
  const { scenario, name, points } = scaling;
  const breach = scalingBreach(scaling);
  const rows = points.map((point) => [md(point.value, 60), pointText(point, "–")]);
  return [
    `**${md(scenario, 80)}: ${md(scalingTitle(scaling), 120)}**`,
    ...(breach === null ? [] : [`**${md(breach, 300)}**`]),
    table([md(name, 60), "Peak"], ["r", "r"], rows),
    [lawText(scaling), ...fitsTexts(scaling)].map((text) => `- ${md(text, 300)}`).join("\n"),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}
