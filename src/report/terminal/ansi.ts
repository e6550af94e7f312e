import { styleText } from "node:util";
import type { Verdict } from "../documents/model.ts";

/** Paints text for a terminal, or leaves it alone. */
export interface Paint {
  readonly bold: (text: string) => string;
  readonly dim: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
  readonly cyan: (text: string) => string;
  readonly magenta: (text: string) => string;
}

type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan" | "magenta";

/** Whether there is colour is the caller's decision alone: `styleText` would otherwise look at stdout itself on newer Node. */
export function painter(color: boolean): Paint {
  const with_ = (style: Style) => (text: string) => (color ? styleText(style, text, { validateStream: false }) : text);
  return {
    bold: with_("bold"),
    dim: with_("dim"),
    red: with_("red"),
    green: with_("green"),
    yellow: with_("yellow"),
    cyan: with_("cyan"),
    magenta: with_("magenta"),
  };
}

export function paintVerdict(paint: Paint, word: Verdict, text: string): string {
  const color = { pass: paint.green, warn: paint.yellow, fail: paint.red, unjudged: paint.cyan, error: paint.magenta }[
    word
  ];
  return paint.bold(color(text));
}
