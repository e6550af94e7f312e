import { escapeHtml } from "../../core/escape.ts";
import type { Theme } from "../drawing/palette.ts";

export const BAR = 22;

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly color: string;
  /** Shown where the pointer rests on it; "" for none. */
  readonly title?: string;
}

export function box({ x, y, width, color, title = "" }: Box, { paper }: Pick<Theme, "paper">): string {
  const shape = `<rect x="${x.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" fill="${color}" stroke="${paper}" stroke-width="1"`;
  return title === "" ? `${shape}/>` : `${shape}><title>${escapeHtml(title)}</title></rect>`;
}

/** Bars of one side's parts, one after the other; negative parts have none. */
export function stackedBar(
  parts: readonly { readonly bytes: number; readonly color: string; readonly title?: string }[],
  { x, y, scale }: { readonly x: number; readonly y: number; readonly scale: number },
  theme: Pick<Theme, "paper">,
): string {
  let left = x;
  return parts
    .map((part) => {
      const width = Math.max(0, part.bytes * scale);
      const own = { x: left, y, width, color: part.color };
      left += width;
      return box(part.title === undefined ? own : { ...own, title: part.title }, theme);
    })
    .join("\n");
}
