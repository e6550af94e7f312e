import { escapeTerminal } from "../../core/escape.ts";
import type { ScenarioReport, Timeline } from "../documents/model.ts";
import { decimate, type Line } from "./decimate.ts";
import { domainOf } from "./domain.ts";
import { BASELINE, BUDGET_LINE, LIMIT_LINE, LINE_STYLES } from "./palette.ts";
import { rankSeries, seriesLabel, withUsableLimits } from "./timeline-model.ts";

/** Columns kept of a line: zooming shows more detail than the picture, and no extreme is lost. */
const COLUMNS = 2000;
const MAX_LINES = 24;

/** One line of a page's chart. */
interface PageLine {
  readonly role: "series" | "baseline-low" | "baseline-mid" | "baseline-high" | "limit" | "budget";
  readonly label: string;
  readonly color: string;
  /** Colour on a dark page, where the other one lacks contrast. */
  readonly dark?: string;
  readonly width: number;
  readonly dash: readonly number[];
  /** Whether samples are drawn as points: a line of one sample has no length. */
  readonly lone: boolean;
  /** Seconds, base64 of little-endian Float32. */
  readonly time: string;
  /** Bytes, base64 of little-endian Float64; NaN = gap. */
  readonly bytes: string;
}

interface PageData {
  readonly scenarios: readonly { readonly lines: readonly PageLine[] }[];
}

/** The data block of the page's script, as JSON-safe values. */
export function pageData(scenarios: readonly ScenarioReport[]): PageData {
  return {
    scenarios: scenarios.map((scenario) => ({
      lines: scenario.timeline === null ? [] : linesOf(withUsableLimits(scenario.timeline)),
    })),
  };
}

function linesOf(timeline: Timeline): PageLine[] {
  const ranked = rankSeries(timeline);
  const domain = domainOf(timeline, ranked);
  const to = domain.timeTo_s;
  const lines: PageLine[] = [];
  const { envelope } = timeline;
  if (envelope !== null && envelope.time_s.length > 0) {
    const add = (
      role: PageLine["role"],
      label: string,
      values: readonly number[],
      width: number,
      dash: readonly number[],
    ) =>
      lines.push(
        pageLine(
          { role, label, color: BASELINE.line, dark: "#9aa4af", width, dash },
          alignedLine(envelope.time_s, values),
        ),
      );
    add("baseline-high", "baseline highest", envelope.high_bytes, 0.6, []);
    add("baseline-low", "baseline lowest", envelope.low_bytes, 0.6, []);
    add("baseline-mid", "baseline middle", envelope.mid_bytes, 1.5, [7, 5]);
  }
  const all = [ranked.main, ...ranked.others, ...ranked.hidden].filter((item) => item !== null && item.peak !== null);
  const series = all.slice(0, MAX_LINES).map((item, index) => {
    const style = LINE_STYLES[index % LINE_STYLES.length]!;
    const dash = style.dash === "" ? [] : style.dash.split(" ").map(Number);
    return pageLine(
      {
        role: "series",
        label: escapeTerminal(seriesLabel(item!.series, timeline)).slice(0, 80),
        color: style.color,
        width: index === 0 ? 2 : 1.3,
        dash,
      },
      decimate(item!.series, 0, to, COLUMNS),
    );
  });
  lines.push(...series.reverse());
  const flat = (bytes: number): Line => ({ time_s: Float64Array.of(0, to), bytes: Float64Array.of(bytes, bytes) });
  if (timeline.threshold_bytes !== null) {
    lines.push(
      pageLine(
        { role: "limit", label: "limit", color: LIMIT_LINE.color, width: 1.5, dash: [8, 5] },
        flat(timeline.threshold_bytes),
      ),
    );
  }
  if (timeline.budget_bytes !== null) {
    const look = {
      role: "budget",
      label: "budget",
      color: BUDGET_LINE.color,
      dark: "#e6edf3",
      width: 1.5,
      dash: [14, 5, 3, 5],
    } as const;
    lines.push(pageLine(look, flat(timeline.budget_bytes)));
  }
  return lines;
}

function alignedLine(time: readonly number[], bytes: readonly number[]): Line {
  const length = Math.min(time.length, bytes.length);
  return { time_s: Float64Array.from(time.slice(0, length)), bytes: Float64Array.from(bytes.slice(0, length)) };
}

function pageLine(look: Omit<PageLine, "time" | "bytes" | "lone">, line: Line): PageLine {
  let finite = 0;
  for (const value of line.bytes) if (Number.isFinite(value)) finite += 1;
  return {
    ...look,
    lone: finite <= 2 && look.role === "series",
    time: base64(Float32Array.from(line.time_s)),
    bytes: base64(line.bytes),
  };
}

function base64(values: Float32Array | Float64Array): string {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString("base64");
}
