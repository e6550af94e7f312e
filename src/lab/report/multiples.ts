import { THEMES } from "../../report/drawing/palette.ts";
import { MARGIN, MIDDLE, svgDocument, svgText, WIDTH } from "../../report/drawing/svg.ts";
import { fitText, textWidth } from "../../report/drawing/text-width.ts";
import { roundNames } from "./comparison.ts";
import type { LabCurve } from "./curve.ts";
import type { LabDocument } from "./document.ts";
import { colorOf, drawPanel, type PanelLayout, STATE_STYLES } from "./panel.ts";

/** The curve of a state, by the round's index; null where no sample was kept. */
export type LabCurves = (round: number, pattern: string, state: "leaky" | "fixed") => LabCurve | null;

const GAP = 34;
const PANEL_HEIGHT = 258;
const LEGEND = { size: 17, row: 28, swatch: 40 } as const;

/** Columns of panels: as many as stay legible. */
function columnsFor(panels: number): number {
  if (panels <= 2 || panels === 4) return Math.min(2, Math.max(1, panels));
  return panels > 12 ? 4 : 3;
}

interface Legend {
  readonly svg: string;
  readonly height: number;
}

function legend(names: readonly string[]): Legend {
  const entries = names.flatMap((name, index) =>
    (["leaky", "fixed"] as const).map((state) => ({
      label: names.length > 1 ? `${name} ${state}` : state,
      color: colorOf(index),
      ...STATE_STYLES[state],
    })),
  );
  let [x, row] = [MARGIN, 0];
  const parts = entries.map(({ label, color, width, dash }) => {
    const text = fitText(label, LEGEND.size, 300);
    const needed = LEGEND.swatch + 8 + textWidth(text, LEGEND.size);
    if (x > MARGIN && x + needed > WIDTH - MARGIN) [x, row] = [MARGIN, row + 1];
    const y = row * LEGEND.row;
    const dashes = dash === "" ? "" : ` stroke-dasharray="${dash}"`;
    const out = `<path d="M${x.toFixed(1)} ${y - 6}h${LEGEND.swatch}" stroke="${color}" stroke-width="${width}"${dashes}/>${svgText(text, x + LEGEND.swatch + 8, y, LEGEND.size, THEMES.light.text)}`;
    x += needed + 26;
    return out;
  });
  return { svg: parts.join(""), height: (row + 1) * LEGEND.row };
}

/** Description of the axes of all panels. */
function axesText(rounds: number): string {
  const what = "Memory at the ends of steps, over time where none are counted";
  return rounds > 1
    ? `${what}; 1x is the fixed state's peak there. Ratios are of peaks.`
    : `${what}. Ratios are of peaks.`;
}

/**
 * Small multiples as an SVG document, 1200 px wide: a panel for every pattern, with the leaky and the fixed state of
 * each round over its run, and the ratios of their peaks in its title. With several rounds heights are multiples of the
 * fixed state's peak, so that backends whose programs differ in size share a scale. A panel without data has a note.
 */
export function labMultiples(rounds: readonly LabDocument[], curves: LabCurves): string {
  const names = roundNames(rounds);
  const patterns = [...new Set(rounds.flatMap((document) => document.patterns.map(({ name }) => name)))];
  const key = legend(names);
  const columns = columnsFor(patterns.length);
  const top = 78 + key.height;
  const width = (WIDTH - 2 * MARGIN - (columns - 1) * GAP) / columns;
  const panels = patterns.map((name, at) => {
    const shown = rounds.flatMap((document, index): PanelLayout[] => {
      const pattern = document.patterns.find((one) => one.name === name);
      if (pattern === undefined) return [];
      const [leaky, fixed] = [curves(index, name, "leaky"), curves(index, name, "fixed")];
      return [{ name: names[index] ?? "", index, pattern, leaky, fixed }];
    });
    const [column, row] = [at % columns, Math.floor(at / columns)];
    const box = {
      x: MARGIN + column * (width + GAP),
      y: top + row * (PANEL_HEIGHT + 22),
      width,
      height: PANEL_HEIGHT,
    };
    return drawPanel(name, shown, box, rounds.length > 1);
  });
  const height = top + Math.max(1, Math.ceil(patterns.length / columns)) * (PANEL_HEIGHT + 22);
  const nothing = svgText("No pattern was measured.", WIDTH / 2, top + 120, 20, THEMES.light.soft, MIDDLE);
  return svgDocument(WIDTH, height, THEMES.light.paper, [
    `<g transform="translate(0 40)">${key.svg}</g>`,
    `<text x="${MARGIN}" y="${40 + key.height}" font-size="${LEGEND.size}" fill="${THEMES.light.soft}">${axesText(rounds.length)}</text>`,
    ...panels,
    patterns.length > 0 ? "" : nothing,
  ]);
}
