import { escapeHtml } from "../../core/escape.ts";
import type { Theme } from "../drawing/palette.ts";
import { fitText, textWidth } from "../drawing/text-width.ts";
import type { Timeline } from "../model/gate-report.ts";

/** Height of the strip of phases above the time axis, pixels. */
export const PHASE_STRIP = 24;

const NAME_SIZE = 14;
/** A name needs at least this much room. */
const MIN_NAME = 24;
/** Narrower phases cannot be distinguished. */
const MIN_WIDTH = 2;
const MAX_STRETCHES = 256;
/** Opacities of the phases, assigned to their names in turn. */
const TONES = [0.1, 0.22, 0.15, 0.3] as const;

interface StripLayout {
  readonly left: number;
  readonly right: number;
  readonly bottom: number;
  readonly xOf: (time_s: number) => number;
  readonly theme: Theme;
}

/** The phases that the program names, as a strip along the time axis; a name is written where it fits. */
export function drawPhases({ phases = [] }: Timeline, { left, right, bottom, xOf, theme }: StripLayout): string {
  const names = [...new Set(phases.map(({ name }) => name))];
  return phases
    .slice(0, MAX_STRETCHES)
    .map(({ name, from_s, to_s }) => {
      const from = Math.max(left, xOf(from_s));
      const width = Math.min(right, xOf(to_s)) - from - 1;
      if (!(width >= MIN_WIDTH)) return "";
      const tone = TONES[names.indexOf(name) % TONES.length];
      const box = `<rect x="${from.toFixed(1)}" y="${bottom - PHASE_STRIP}" width="${width.toFixed(1)}" height="${PHASE_STRIP - 1}" fill="${theme.soft}" fill-opacity="${tone}"/>`;
      const room = width - 8;
      const text = room < MIN_NAME ? "" : fitText(name, NAME_SIZE, room);
      if (text === "" || textWidth(text, NAME_SIZE) > room) return box;
      return `${box}<text x="${(from + width / 2).toFixed(1)}" y="${bottom - 7}" font-size="${NAME_SIZE}" text-anchor="middle" fill="${theme.text}">${escapeHtml(text)}</text>`;
    })
    .join("\n");
}
