import { escapeMermaid } from "../../core/escape.ts";
import { MIB } from "../../core/units.ts";
import type { Scaling } from "../documents/model.ts";
import { fitsTexts, lawText, pointText, scalingBreach, scalingTitle } from "../scaling-text.ts";
import { md, table } from "./markdown-text.ts";

/** Peaks over the values of `--vary`: what breached, a table, a chart, the law and what fits. */
export function scalingText(scaling: Scaling): string {
  const { scenario, name, points } = scaling;
  const breach = scalingBreach(scaling);
  const rows = points.map((point) => [md(point.value, 60), pointText(point, "–")]);
  return [
    `**${md(scenario, 80)}: ${md(scalingTitle(scaling), 120)}**`,
    ...(breach === null ? [] : [`**${md(breach, 300)}**`]),
    table([md(name, 60), "Peak"], ["r", "r"], rows),
    chart(scaling),
    [lawText(scaling), ...fitsTexts(scaling)].map((text) => `- ${md(text, 300)}`).join("\n"),
  ]
    .filter((part) => part !== "")
    .join("\n\n");
}

/** The measured peaks, and the law at the same values; "" where a peak is missing. Values that failed are left out. */
function chart({ points: all, name, fit }: Scaling): string {
  const points = all.filter(({ failed }) => failed !== true);
  const peaks = points.flatMap(({ bytes }) => bytes ?? []);
  if (peaks.length === 0 || peaks.length < points.length) return "";
  const number = (bytes: number) => String(Number((bytes / MIB).toPrecision(4)));
  const values = points.map(({ value }) => `"${escapeMermaid(value.slice(0, 40))}"`).join(", ");
  const law = fit === null ? [] : points.map(({ value }) => fit.a_bytes + fit.b_bytes * Number(value) ** fit.exponent);
  return [
    "```mermaid",
    "xychart-beta",
    `    x-axis "${escapeMermaid(name.slice(0, 60))}" [${values}]`,
    `    y-axis "MiB" 0 --> ${number(1.05 * Math.max(...peaks, ...law))}`,
    `    bar "measured" [${peaks.map(number).join(", ")}]`,
    ...(law.length === 0 ? [] : [`    line "fit" [${law.map(number).join(", ")}]`]),
    "```",
  ].join("\n");
}
