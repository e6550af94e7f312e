/** Maximum rate of written telemetry. */
const TICK_NS = 100_000_000;
/** Maximum number of samples of one table, as in Stormlog's tracker: 8 MB, which any viewer opens. */
const MAX_SAMPLES = 10_000;

/** Rows with a known clock and value, in order of time. */
export function allRows(timeNs: Float64Array, main: Float64Array): number[] {
  const rows: number[] = [];
  for (let i = 0; i < main.length; i++) if (Number.isFinite(main[i]) && Number.isFinite(timeNs[i])) rows.push(i);
  // Windows need ascending time. A stable sort keeps equal timestamps in file order.
  return rows.sort((a, b) => (timeNs[a] ?? 0) - (timeNs[b] ?? 0));
}

/**
 * Rows to write as `sample` events: all up to 10 Hz, else the lowest and the highest row of `series[0]` in every window
 * of two ticks, and the overall extremes of the other series. Rows where `series[0]` is unknown are skipped.
 */
export function sampleRows(
  timeNs: Float64Array,
  series: readonly Float64Array[],
  maxSamples: number = MAX_SAMPLES,
): number[] {
  const [main] = series;
  if (!main) return [];
  const rows = allRows(timeNs, main);
  if (rows.length === 0) return rows;
  const start = timeNs[rows[0]!]!;
  const span = timeNs[rows.at(-1)!]! - start;
  const tick = Math.max(TICK_NS, span / Math.max(1, maxSamples / 2 - 1) / 2);
  if (rows.length <= span / tick + 1 || rows.length <= 2) return rows;
  const kept = new Set<number>([rows[0]!, rows.at(-1)!]);
  for (const values of series) for (const row of extremes(values, rows)) kept.add(row);
  let from = 0;
  while (from < rows.length) {
    const window = Math.floor((timeNs[rows[from]!]! - start) / (2 * tick));
    let to = from;
    while (to < rows.length && Math.floor((timeNs[rows[to]!]! - start) / (2 * tick)) === window) to++;
    for (const row of extremes(main, rows, from, to)) kept.add(row);
    from = to;
  }
  return rows.filter((row) => kept.has(row));
}

/** First row of the lowest and of the highest value among `rows[from, to)`. */
function extremes(values: Float64Array, rows: readonly number[], from = 0, to: number = rows.length): number[] {
  let lowest = -1;
  let highest = -1;
  for (let i = from; i < to; i++) {
    const row = rows[i]!;
    const value = values[row]!;
    if (Number.isNaN(value)) continue;
    if (lowest < 0 || value < values[lowest]!) lowest = row;
    if (highest < 0 || value > values[highest]!) highest = row;
  }
  return lowest < 0 ? [] : [lowest, highest];
}
