import { styleText } from "node:util";
import type { Verdict } from "../model/gate-report.ts";

const STYLES = ["bold", "dim", "red", "green", "yellow", "cyan", "magenta"] as const;

/** Paints text for a terminal, or leaves it as it is. */
export type Paint = Readonly<Record<(typeof STYLES)[number], (text: string) => string>>;

/** The caller alone decides about colour: on newer Node `styleText` would otherwise inspect stdout. */
export function painter(color: boolean): Paint {
  const styled = STYLES.map((style) => [
    style,
    (text: string) => (color ? styleText(style, text, { validateStream: false }) : text),
  ]);
  return Object.fromEntries(styled) as Paint;
}

export function paintVerdict(paint: Paint, verdict: Verdict, text: string): string {
  const { green: pass, yellow: warn, red: fail, cyan: unjudged, magenta: error } = paint;
  return paint.bold({ pass, warn, fail, unjudged, error }[verdict](text));
}
