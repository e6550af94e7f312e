import { LETTER_WIDTHS } from "./font-metrics.ts";

/** Width of a text in pixels when drawn with the shipped font at `size` pixels (no kerning). */
export function textWidth(text: string, size: number): number {
  let width = 0;
  for (const letter of text) width += LETTER_WIDTHS.get(letter) ?? 1000;
  return (width * size) / 1000;
}

/** A text in letters that the shipped font has; others become a visible replacement instead of vanishing. */
function drawable(text: string): string {
  let out = "";
  for (const letter of text.replace(/\s+/g, " ")) out += LETTER_WIDTHS.has(letter) ? letter : "\ufffd";
  return out;
}

/** A text cut to at most `width` pixels, with an ellipsis where it was cut. */
export function fitText(text: string, size: number, width: number): string {
  const whole = drawable(text);
  if (textWidth(whole, size) <= width) return whole;
  const room = width - textWidth("…", size);
  let out = "";
  let used = 0;
  for (const letter of whole) {
    used += textWidth(letter, size);
    if (used > room) break;
    out += letter;
  }
  return `${out.trimEnd()}…`;
}
