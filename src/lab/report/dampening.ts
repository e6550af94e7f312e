import { formatBytes } from "../../core/units.ts";
import { median } from "../../stats/order-statistics.ts";
import { metricLabel } from "../../telemetry/recording/metrics.ts";
import { type BackendCell, type ComparisonRow, compareRounds, type PairRow } from "./comparison.ts";
import type { LabDocument } from "./document.ts";
import { patternRatioText, peakText, ratioText } from "./table.ts";

/** Ratios within this factor count as equal: peaks of one program differ by some percent from run to run. */
const ALIKE = 1.05;
/** A cause with a smaller share of the difference (in logarithms) is not named. */
const PART_NAMED = 0.25;

/** What rounds are called in a table: their backends, numbered where two are the same. */
export function roundNames(rounds: readonly LabDocument[]): readonly string[] {
  const backends = rounds.map(({ backend }) => backend ?? "unknown");
  return backends.map((backend, index) =>
    backends.filter((other) => other === backend).length === 1
      ? backend
      : `${backend} ${backends.slice(0, index + 1).filter((other) => other === backend).length}`,
  );
}

const size = (bytes: number | null | undefined): string => (bytes == null ? "an unknown size" : formatBytes(bytes));

/** "2.18 MiB (it keeps 20.00 MiB in 160 steps)": what a leak adds to the peak, and what it keeps if known. */
function addedIn({ pattern }: BackendCell): string {
  const { leaky, fixed, leak_bytes_per_step: kept, steps } = pattern;
  const bytes = leaky?.peak_bytes == null || fixed?.peak_bytes == null ? null : leaky.peak_bytes - fixed.peak_bytes;
  if (kept === null || steps === null) return size(bytes);
  return `${size(bytes)} (it keeps ${size(kept * steps)} in ${steps} steps)`;
}

/** "the leak adds 1.24 GiB to the peak, on mps 10.64 GiB" */
function addedText(row: ComparisonRow, { louder, quieter }: PairRow, names: readonly string[]): string | null {
  const [loud, quiet] = [row.cells[louder], row.cells[quieter]];
  if (loud == null || quiet == null) return null;
  const part = (share: number): string => `${Math.round(100 * share)} %`;
  const shown =
    // Shares of the kept bytes that differ by less are not reported.
    loud.shown === null || quiet.shown === null || Math.abs(loud.shown - quiet.shown) < 0.1
      ? ""
      : `; the counters show ${part(quiet.shown)} and ${part(loud.shown)} of the bytes kept a step`;
  return `the leak adds ${addedIn(quiet)} to the peak, on ${names[louder]} ${addedIn(loud)}${shown}`;
}

/** "the fixed state holds 712.00 MiB, 4.07x as much as on mps" */
function fixedText(row: ComparisonRow, pair: PairRow, larger: number, names: readonly string[]): string {
  const { fixed, series } = row.cells[pair.quieter]?.pattern ?? {};
  const what = series === null || series === undefined ? "" : ` (${metricLabel(series.metric)} on ${series.device})`;
  return `the fixed state holds ${size(fixed?.peak_bytes)}${what}, ${ratioText(larger)} as much as on ${names[pair.louder]}`;
}

/** Reserved memory shows less of a leak, because an allocator reserves ahead and keeps freed memory. */
function reservedText(row: ComparisonRow, { quieter }: PairRow): string | null {
  const pattern = row.cells[quieter]?.pattern;
  const [leaky, fixed] = [pattern?.leaky?.reserved_peak_bytes ?? null, pattern?.fixed?.reserved_peak_bytes ?? null];
  if (leaky === null || !fixed || pattern?.ratio == null || leaky / fixed > pattern.ratio / ALIKE) return null;
  return `its reserved memory differs by ${ratioText(leaky / fixed)} only`;
}

/** Why a leak is quieter in one of two rounds, in the sense of the data; "about as loud" where it is not. */
function whyQuieter(row: ComparisonRow, pair: PairRow, names: readonly string[]): string {
  const { causes, factor, quieter, louder } = pair;
  if (factor < ALIKE) return `about as loud on ${names[quieter]} as on ${names[louder]}`;
  if (causes === null) return `quieter on ${names[quieter]}: the peak there is not above that of the fixed state`;
  const whole = Math.log(causes.largerFixed) + Math.log(causes.lessAdded);
  const reasons = [
    ...(Math.log(causes.largerFixed) >= PART_NAMED * whole ? [fixedText(row, pair, causes.largerFixed, names)] : []),
    ...(Math.log(causes.lessAdded) >= PART_NAMED * whole ? [addedText(row, pair, names)] : []),
    reservedText(row, pair),
  ].filter((reason) => reason !== null);
  return `quieter on ${names[quieter]}: ${reasons.join("; ")}`;
}

/** The widest difference of a row and its causes, or why it has none. */
function rowSentence(row: ComparisonRow, names: readonly string[]): string {
  const ran = row.cells.flatMap((cell, index) => (cell?.pattern.leaky?.out_of_memory ? [names[index] ?? ""] : []));
  if (ran.length > 0) {
    const everywhere = ran.length > 1 && ran.length === row.cells.filter((cell) => cell !== null).length;
    return `ran out of memory on ${everywhere ? "each" : ran.join(" and ")}: the ratio would have gone on growing`;
  }
  if (row.widest !== null) return whyQuieter(row, row.widest, names);
  const missing = row.cells.flatMap((cell, index) => (cell?.pattern.ratio == null ? [names[index] ?? ""] : []));
  return `no ratio on ${missing.join(" and ")}`;
}

/** One sentence for two rounds; null when they have no ratio in common. */
function pairSentence(rows: readonly ComparisonRow[], a: number, b: number, names: readonly string[]): string | null {
  const both = rows.flatMap(({ name, pairs }) =>
    pairs
      .filter(({ louder, quieter }) => Math.min(louder, quieter) === a && Math.max(louder, quieter) === b)
      .map((pair) => ({ name, ...pair })),
  );
  if (both.length === 0) return null;
  const apart = both.filter(({ factor }) => factor >= ALIKE);
  const ofA = apart.filter(({ quieter }) => quieter === a);
  const ofB = apart.filter(({ quieter }) => quieter === b);
  const [mine, others, quieter, louder] = ofA.length > ofB.length ? [ofA, ofB, a, b] : [ofB, ofA, b, a];
  const leaks = (count: number): string => `${count} of ${both.length} ${both.length === 1 ? "leak" : "leaks"}`;
  const [first] = mine;
  if (first === undefined) return `${names[a]} and ${names[b]}: ${leaks(both.length)} about as loud on both.`;
  const least = mine.reduce((low, one) => (one.factor < low.factor ? one : low), first);
  const most = mine.reduce((high, one) => (one.factor > high.factor ? one : high), first);
  const span =
    mine.length === 1
      ? `by ${ratioText(first.factor)} (${first.name})`
      : `by ${ratioText(least.factor)} (${least.name}) to ${ratioText(most.factor)} (${most.name})`;
  const rest = [
    ...(others.length === 0 ? [] : [`${others.length} the other way round`]),
    ...(both.length === apart.length ? [] : [`${both.length - apart.length} about as loud on both`]),
  ];
  const causes = mine.flatMap((one) => (one.causes === null ? [] : [one.causes]));
  const larger = median(causes.map(({ largerFixed }) => largerFixed));
  const less = median(causes.map(({ lessAdded }) => lessAdded));
  const why =
    mine.length === 1 || causes.length === 0
      ? ""
      : ` At the median its fixed states hold ${ratioText(larger)} as much as those on ${names[louder]}, and its leaks add ${ratioText(1 / less)} as much.`;
  return `${names[quieter]} dampens: ${leaks(mine.length)} ${mine.length === 1 ? "is" : "are"} quieter there than on ${names[louder]}, ${span}${rest.length === 0 ? "" : `; ${rest.join(", ")}`}.${why}`;
}

/** Which round dampens and how strongly, a sentence for every pair; empty for one round. */
export function dampening(rounds: readonly LabDocument[]): readonly string[] {
  const rows = compareRounds(rounds);
  const names = roundNames(rounds);
  return rounds.flatMap((_, a) =>
    rounds.slice(a + 1).flatMap((__, offset) => pairSentence(rows, a, a + 1 + offset, names) ?? []),
  );
}

/** A column of the table across backends. Its texts are unescaped. */
interface LabColumn {
  readonly name: string;
  readonly align: "l" | "r";
}

/** The table across backends, independent of the output format. */
export interface LabTable {
  readonly columns: readonly LabColumn[];
  /** A row per pattern: its cells, and a sentence with the quieter backend and the causes. */
  readonly rows: readonly { readonly name: string; readonly cells: readonly string[]; readonly sentence: string }[];
}

/** "mps over cuda: 5.56x". Of more than two rounds, the two that are furthest apart. */
function widestText({ widest }: ComparisonRow, names: readonly string[]): string {
  return widest === null ? "–" : `${names[widest.louder]} over ${names[widest.quieter]}: ${ratioText(widest.factor)}`;
}

/** Leaky, fixed and ratio of each round, then the louder one and the factor. */
export function comparisonTable(rounds: readonly LabDocument[]): LabTable {
  const names = roundNames(rounds);
  const columns: readonly LabColumn[] = [
    { name: "pattern", align: "l" },
    ...names.flatMap((name): readonly LabColumn[] => [
      { name: `${name} leaky`, align: "r" },
      { name: "fixed", align: "r" },
      { name: "ratio", align: "r" },
    ]),
    { name: rounds.length > 2 ? "loudest over quietest" : "louder over quieter", align: "l" },
  ];
  const rows = compareRounds(rounds).map((row) => ({
    name: row.name,
    cells: [
      row.name,
      ...row.cells.flatMap((cell) =>
        cell === null
          ? ["not run", "–", "–"]
          : [peakText(cell.pattern.leaky), peakText(cell.pattern.fixed), patternRatioText(cell.pattern)],
      ),
      widestText(row, names),
    ],
    sentence: rowSentence(row, names),
  }));
  return { columns, rows };
}
