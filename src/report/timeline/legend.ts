import { escapeHtml } from "../../core/escape.ts";
import { formatBytes } from "../../core/units.ts";
import type { Timeline } from "../documents/model.ts";
import type { Domain } from "./domain.ts";
import { BASELINE, BUDGET_LINE, INK, LIMIT_LINE, LINE_STYLES } from "./palette.ts";
import { fitText, textWidth } from "./text-width.ts";
import { hiddenSummary, type RankedTimeline, seriesLabel } from "./timeline-model.ts";

const TEXT_SIZE = 17;
const ROW = 27;
const SWATCH = 36;
const GAP = 24;
const MAX_ROWS = 3;

export interface Legend {
  readonly svg: string;
  readonly height: number;
}

interface Entry {
  readonly label: string;
  readonly swatch: string;
}

/** The legend, wrapped to `width` pixels, with its origin at the top left. */
export function layoutLegend(timeline: Timeline, ranked: RankedTimeline, domain: Domain, width: number): Legend {
  const parts: string[] = [];
  let x = 0;
  let row = 0;
  for (const { label, swatch } of entries(timeline, ranked, domain)) {
    const text = fitText(label, TEXT_SIZE, width - SWATCH - 10);
    const needed = (swatch === "" ? 0 : SWATCH + 8) + textWidth(text, TEXT_SIZE);
    if (x > 0 && x + needed > width) {
      x = 0;
      row += 1;
    }
    if (row >= MAX_ROWS) break;
    const textAt = swatch === "" ? 0 : SWATCH + 8;
    parts.push(
      `<g transform="translate(${x.toFixed(1)} ${row * ROW})">${swatch}<text x="${textAt}" y="19" font-size="${TEXT_SIZE}" fill="${INK.text}">${escapeHtml(text)}</text></g>`,
    );
    x += needed + GAP;
  }
  const rows = parts.length === 0 ? 0 : Math.min(row + 1, MAX_ROWS);
  return { svg: parts.join(""), height: rows * ROW };
}

function entries(timeline: Timeline, ranked: RankedTimeline, domain: Domain): Entry[] {
  const list: Entry[] = [];
  [ranked.main, ...ranked.others].forEach((item, i) => {
    if (item === null) return;
    const style = LINE_STYLES[i % LINE_STYLES.length]!;
    list.push({ label: seriesLabel(item.series, timeline), swatch: stroke(style.color, style.width, style.dash) });
  });
  if (timeline.envelope !== null) {
    list.push({
      label: "baseline range and middle",
      swatch: `<rect x="0" y="4" width="${SWATCH}" height="18" fill="${BASELINE.band}"/>${stroke(BASELINE.line, 2, BASELINE.dash)}`,
    });
  } else if (ranked.main !== null) {
    list.push({ label: "no baseline", swatch: "" });
  }
  const limits = [
    ["limit", timeline.threshold_bytes, domain.showsThreshold, LIMIT_LINE],
    ["budget", timeline.budget_bytes, domain.showsBudget, BUDGET_LINE],
  ] as const;
  for (const [name, bytes, isShown, look] of limits) {
    if (bytes === null) continue;
    const label = isShown ? name : `${name} ${formatBytes(bytes)} ↑`;
    list.push({ label, swatch: stroke(look.color, 2.5, look.dash) });
  }
  const hidden = hiddenSummary(ranked, timeline);
  if (hidden !== null) list.push({ label: hidden, swatch: "" });
  return list;
}

function stroke(color: string, width: number, dash: string): string {
  const dashes = dash === "" ? "" : ` stroke-dasharray="${dash}"`;
  return `<path d="M0 13H${SWATCH}" stroke="${color}" stroke-width="${width}"${dashes} fill="none"/>`;
}
