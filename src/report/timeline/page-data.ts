import { escapeTerminal } from "../../core/escape.ts";
import { isCounted } from "../../telemetry/recording/metrics.ts";
import { BUDGET_DASH, LIMIT_DASH, THEMES, type Theme } from "../drawing/palette.ts";
import { decimate, type Line } from "../model/decimate.ts";
import type { HostAccount, ScenarioReport } from "../model/gate-report.ts";
import { type AxisView, type PanelView, viewOf } from "./panel-view.ts";

/** One line of a page's chart. */
interface PageLine {
  /** The parts of an account stand one upon the other, the last one at the bottom. */
  readonly role: "part" | "series" | "baseline-low" | "baseline-mid" | "baseline-high" | "limit" | "budget";
  readonly label: string;
  readonly color: { readonly light: string; readonly dark: string };
  readonly width: number;
  readonly dash: readonly number[];
  /** Whether samples are drawn as points: a line of one sample has no length. */
  readonly lone: boolean;
  /** Seconds or steps, base64 of little-endian Float32. */
  readonly x: string;
  /** Bytes, base64 of little-endian Float64; NaN = gap. */
  readonly bytes: string;
}

/** One series with its band and its limits. */
export interface PagePanel {
  readonly label: string;
  readonly unit: AxisView["unit"];
  /** Whether the values are a number of things, and not bytes. */
  readonly counted: boolean;
  readonly from: number;
  readonly to: number;
  /** Value at the top of the chart. */
  readonly high: number;
  /** Whether the picture shows it, or it is what host memory consists of. */
  readonly place: "deciding" | "account" | "other";
  /** Whether it has the axis of the deciding series. */
  readonly isLinked: boolean;
  /** What is shaded: the series above this value, or above the baseline; null = nothing. */
  readonly excess: number | "baseline" | null;
  /** Limits too far above the series to be drawn. */
  readonly far: readonly { readonly name: string; readonly bytes: number }[];
  readonly lines: readonly PageLine[];
}

interface PageData {
  readonly scenarios: readonly { readonly panels: readonly PagePanel[] }[];
  /** Colour of the shaded excess and of the baseline's band. */
  readonly fills: Readonly<Record<"excess" | "band", { readonly light: string; readonly dark: string }>>;
}

const plain = (color: string): PageLine["color"] => ({ light: color, dark: color });

/** The parts of an account from the top down. */
const ACCOUNT_PARTS = [
  { part: "rest", label: "rest", color: both("band") },
  { part: "files", label: "files in RAM", color: plain("#cc79a7") },
  { part: "shared", label: "shared", color: plain("#009e73") },
  { part: "kept", label: "kept by allocators", color: plain("#e69f00") },
  { part: "in_use", label: "in use", color: plain("#0072b2") },
] as const;

/** The data block of the page's script, as JSON-safe values. */
export function pageData(scenarios: readonly ScenarioReport[]): PageData {
  return {
    scenarios: scenarios.map((scenario) => ({ panels: panelsOf(scenario) })),
    fills: { excess: both("excess"), band: both("band") },
  };
}

/** The panels of a scenario in the order of the page: those of the deciding series first. */
export function panelsOf({ timeline }: ScenarioReport): readonly PagePanel[] {
  if (timeline === null) return [];
  const { deciding, others } = viewOf(timeline);
  const all = [deciding, ...others].flatMap((axis) => axis.panels.map((view) => ({ axis, view }))).slice(0, 24);
  const panels = all.map(({ axis, view }): PagePanel => {
    const lowest = view.limits.filter(({ isInside }) => isInside).at(-1);
    const isOver = lowest !== undefined && view.peak !== null && view.peak.bytes > lowest.bytes;
    const grows = timeline.verdict === "fail" && view.growth !== undefined && view.band !== null;
    return {
      label: escapeTerminal(view.label).slice(0, 80),
      unit: axis.unit,
      counted: isCounted(view.series.metric),
      from: axis.from,
      to: axis.to,
      high: view.high,
      place: axis === deciding ? "deciding" : "other",
      isLinked: axis === deciding,
      excess: isOver ? lowest.bytes : grows ? "baseline" : null,
      far: view.limits.filter(({ isInside }) => !isInside).map(({ name, bytes }) => ({ name, bytes })),
      lines: linesOf(view, axis),
    };
  });
  const { account } = timeline;
  const host = all.findIndex(({ view: { series } }) => series.metric === "host" && series.rank === account?.rank);
  return account === undefined || host < 0 ? panels : [...panels, accountPanel(account, panels[host]!)];
}

/** What the host memory of a panel consists of. */
function accountPanel(account: HostAccount, host: PagePanel): PagePanel {
  const x = (host.unit === "second" ? account.time_s : account.steps) ?? [];
  const rows = [...x.keys()].filter((row) => Number.isFinite(x[row]));
  const pick = (values: readonly (number | null)[]) => Float64Array.from(rows, (row) => values[row] ?? Number.NaN);
  const lines = ACCOUNT_PARTS.flatMap(({ part, label, color }) => {
    const values = account[part];
    const look = { role: "part", label, color, width: 0, dash: [] } as const;
    return values === undefined ? [] : [pageLine(look, { time_s: pick(x), bytes: pick(values) })];
  });
  const sums = rows.map((row) => ACCOUNT_PARTS.reduce((sum, { part }) => sum + (account[part]?.[row] || 0), 0));
  const high = sums.reduce((most, bytes) => Math.max(most, bytes), 1024);
  return { ...host, place: "account", high, excess: null, far: [], lines };
}

function both(name: keyof Theme): PageLine["color"] {
  return { light: THEMES.light[name], dark: THEMES.dark[name] };
}

function linesOf({ series, x, band, limits }: PanelView, { from, to }: AxisView): PageLine[] {
  const lines: PageLine[] = [];
  if (band !== null) {
    const add = (role: PageLine["role"], label: string, values: readonly number[], width: number) =>
      lines.push(
        pageLine(
          { role, label, color: both(role === "baseline-mid" ? "median" : "band"), width, dash: [] },
          { time_s: Float64Array.from(band.x), bytes: Float64Array.from(values) },
        ),
      );
    add("baseline-high", "baseline highest", band.high, 0.6);
    add("baseline-low", "baseline lowest", band.low, 0.6);
    add("baseline-mid", band.label, band.mid, 1.5);
  }
  for (const { name, bytes, isInside } of limits) {
    if (!isInside) continue;
    const dash = (name === "limit" ? LIMIT_DASH : BUDGET_DASH).split(" ").map(Number);
    const look = { role: name, label: name, color: both(name), width: 1.5, dash } as const;
    lines.push(pageLine(look, { time_s: Float64Array.of(from, to), bytes: Float64Array.of(bytes, bytes) }));
  }
  const look = {
    role: "series",
    label: band === null ? "this run" : "this change",
    color: both("line"),
    width: 2,
    dash: [],
  } as const;
  // Columns kept of a line: zooming shows more detail than the picture, and no extreme is lost.
  lines.push(pageLine(look, decimate({ time_s: x, bytes: series.bytes }, from, to, 2000)));
  return lines;
}

function pageLine(look: Omit<PageLine, "x" | "bytes" | "lone">, line: Line): PageLine {
  let finite = 0;
  for (const value of line.bytes) if (Number.isFinite(value)) finite += 1;
  return {
    ...look,
    lone: finite <= 2 && look.role === "series",
    x: base64(Float32Array.from(line.time_s)),
    bytes: base64(line.bytes),
  };
}

function base64(values: Float32Array | Float64Array): string {
  return Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString("base64");
}
