import type { Scaling } from "../model/gate-report.ts";
import { fitsTexts, lawText, pointText, scalingBreach, scalingTitle } from "../wording/scaling-text.ts";
import type { Paint } from "./ansi.ts";
import { alignRows, cell, clip, safe, wrapText } from "./terminal-table.ts";

const BAR = 24;

/** Peaks over the values of `--vary`, the law through them, and what fits. */
export function scalingLines(scaling: Scaling, paint: Paint, width: number): string[] {
  const { points, name } = scaling;
  const most = Math.max(1, ...points.map(({ bytes }) => bytes ?? 0));
  const rows = alignRows(
    points.map((point) => [
      cell(`  ${clip(safe(`${name}=${point.value}`), 32)}`),
      cell(pointText(point, "not measured")),
      cell("█".repeat(Math.round((BAR * (point.bytes ?? 0)) / most)), paint.cyan),
    ]),
    [false, true],
  );
  const wrap = (text: string) => wrapText(safe(text), width, "  ").map((line) => `  ${line}`);
  const breach = scalingBreach(scaling);
  return [
    `${paint.bold(clip(safe(scaling.scenario), 40))}  ${safe(scalingTitle(scaling))}`,
    ...rows,
    ...wrap(lawText(scaling)),
    ...fitsTexts(scaling).flatMap(wrap),
    ...(breach === null ? [] : wrap(breach).map(scaling.verdict === "fail" ? paint.red : paint.yellow)),
  ];
}
