import { escapeHtml } from "../core/escape.ts";
import { oneLine, plural } from "../core/text.ts";
import { htmlPage } from "../report/drawing/page.ts";
import { LIMIT_DASH, LINE_COLORS, THEMES } from "../report/drawing/palette.ts";
import { byteTicks, labelsWithUnit, ticks } from "../report/drawing/scale.ts";
import { END, MIDDLE, svgText } from "../report/drawing/svg.ts";
import { formatSize, isCounted } from "../telemetry/recording/metrics.ts";
import { changeText, historyName, seriesName, sessionName, stillText } from "./history-text.ts";
import type { MetricHistory, ScenarioHistory } from "./scenario-history.ts";

/** Edges of the plot in a picture of 640 x 200. */
const [LEFT, RIGHT, TOP, BOTTOM] = [92, 628, 22, 170];
const LABEL_SIZE = 13;

const STYLE = `:root { --dot: ${THEMES.light.line}; }
@media (prefers-color-scheme: dark) { :root { --dot: ${THEMES.dark.line}; } }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 520px), 1fr)); gap: 0 32px; }
ol { margin: 4px 0; padding-left: 22px; overflow-wrap: anywhere; }`;

/** Colours that are readable on light and dark paper. */
const [, , ACCEPTED_COLOR, CHANGE_COLOR, , ANCHOR_COLOR] = LINE_COLORS;

/** The histories as one page that works offline, with a chart of each series that changed and of the first peak. */
export function renderHistoryHtml(
  histories: readonly ScenarioHistory[],
  positions: ReadonlyMap<string, number>,
): string {
  const isChanged = ({ changes }: MetricHistory) => changes.length > 0;
  const changed = histories.filter(({ series }) => series.some(isChanged));
  const still = histories.filter((one) => !changed.includes(one));
  const sections = [...changed, ...still].map((history) => {
    const shown = history.series.filter((series, i) => i === 0 || isChanged(series));
    const note = shown.some(isChanged) ? "" : `<p class="soft">${escapeHtml(stillText(history))}</p>`;
    const figures = shown.map((series) => {
      const texts = series.changes.map((change) => `<li>${escapeHtml(changeText(series, change, positions))}</li>`);
      const list = texts.length === 0 ? "" : `<ol>${texts.join("")}</ol>`;
      return `<figure><figcaption>${escapeHtml(seriesName(series))}</figcaption>\n${chart(series)}${list}</figure>`;
    });
    return `<section><h2>${escapeHtml(historyName(history, histories))}</h2>\n${note}${figures.join("\n")}</section>`;
  });
  return htmlPage({
    title: "Memory by commit",
    styles: [STYLE],
    body: `<header><h1>Memory by commit</h1></header>
<p class="soft">${changed.length} of ${plural(histories.length, "scenario")} changed. A point is a session; hollow: not yet accepted. ▲ marks an accepted difference, the dashed level a release anchor.</p>
<div class="charts">
${sections.join("\n")}
</div>`,
  });
}

function chart(series: MetricHistory): string {
  const { metric, points, changes, anchor } = series;
  const levels = [...points.map(({ value }) => value), ...(anchor === null ? [] : [anchor])];
  // Thousands of sessions are too many arguments of a call.
  const low = levels.reduce((a, b) => Math.min(a, b));
  const high = levels.reduce((a, b) => Math.max(a, b));
  const room = Math.max(0.1 * (high - low), 0.02 * Math.abs(high), 1);
  const [bottom, top] = [low >= 0 ? Math.max(0, low - room) : low - room, high + room];
  const x = (index: number) => Math.round(LEFT + ((index + 0.5) / points.length) * (RIGHT - LEFT));
  const y = (value: number) => Math.round(BOTTOM - ((value - bottom) / (top - bottom)) * (BOTTOM - TOP));
  const label = (text: string, at: number, base: number, anchoring = "") =>
    svgText(text, at, base, LABEL_SIZE, "currentColor", anchoring);
  const line = (path: string, color: string | undefined, dash = "none") =>
    `<path d="${path}" fill="none" stroke="${color}" stroke-width="2" stroke-dasharray="${dash}"/>`;
  const scale = isCounted(metric) ? ticks(bottom, top, 4, { least: 1 }) : byteTicks(bottom, top, 4);
  const grid = labelsWithUnit(scale).map((text, i) => {
    const at = y(scale.values[i]!);
    return `<path d="M${LEFT} ${at}H${RIGHT}" stroke="currentColor" stroke-opacity="0.15"/>${label(text, LEFT - 8, at + 4, END)}`;
  });
  const [first, last] = [points[0]!, points.at(-1)!];
  const name = `${seriesName(series)} of ${plural(points.length, "session")}, last ${formatSize(metric, last.value, "short")}`;
  const levelPath = changes.map(({ from, at, before, after }, i) => {
    const to = changes[i + 1]?.from ?? points.length - 1;
    return `${i === 0 ? `M${x(0)} ${y(before)}` : ""}L${x(from)} ${y(before)}L${x(at)} ${y(after)}H${x(to)}`;
  });
  const pixels = points.map(({ session, value }, i) => ({ ...session, left: x(i), top: y(value) }));
  const [approved, pending] = [true, false].map((wanted) => dotPath(pixels.filter((one) => one.approved === wanted)));
  const dots = (path: string, color: string, width: number) =>
    `<path d="${path}" stroke="${color}" stroke-width="${width}" stroke-linecap="round"/>`;
  return [
    `<svg viewBox="0 0 640 200" width="100%" role="img" aria-label="${escapeHtml(name)}"><g class="soft">`,
    ...grid,
    label(sessionName(first.session), LEFT, BOTTOM + 22),
    label(sessionName(last.session), RIGHT, BOTTOM + 22, END),
    "</g>",
    anchor === null ? "" : line(`M${LEFT} ${y(anchor)}H${RIGHT}`, ANCHOR_COLOR, LIMIT_DASH),
    dots(approved!, "var(--dot)", 4),
    pending === "" ? "" : dots(pending!, "var(--dot)", 7) + dots(pending!, "var(--paper)", 3),
    line(levelPath.join(""), CHANGE_COLOR),
    ...changes.map(
      ({ at }, i) =>
        line(`M${x(at)} ${TOP}V${BOTTOM}`, CHANGE_COLOR, "2 4") + label(`${i + 1}`, x(at), TOP - 6, MIDDLE),
    ),
    ...pixels.map(({ accepted, left }) =>
      accepted === null
        ? ""
        : `<path d="M${left - 5} ${BOTTOM}h10l-5-9z" fill="${ACCEPTED_COLOR}"><title>${escapeHtml(`accepted: ${oneLine(accepted)}`)}</title></path>`,
    ),
    "</svg>",
  ]
    .filter((part) => part !== "")
    .join("\n");
}

/** Dots as strokes without length, each relative to the one before it, which takes some six bytes a dot. */
function dotPath(dots: readonly { readonly left: number; readonly top: number }[]): string {
  return dots
    .map(({ left, top }, i) => `m${left - (dots[i - 1]?.left ?? 0)} ${top - (dots[i - 1]?.top ?? 0)}h0`)
    .join("");
}
