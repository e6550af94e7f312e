/** A line ready to be drawn: seconds and bytes of equal length; a NaN value breaks the line. */
export interface Line {
  readonly time_s: Float64Array;
  readonly bytes: Float64Array;
  /** A further column that is thinned with them. */
  readonly steps?: Float64Array;
}

/**
 * Thin a series to `columns` pixel columns between the seconds `from` and `to`: the first, lowest, highest and last
 * sample of every column are kept, so that the line looks like the full one (M4, Jugel et al., VLDB 2014). A gap (NaN)
 * narrower than a column is bridged; a wider one is kept. At most `5 * columns` points for ascending times.
 */
export function decimate(line: Line, from: number, to: number, columns: number): Line {
  const { time_s, bytes, steps } = line;
  const span = to - from;
  const width = span > 0 ? span / columns : 1;
  const outTime: number[] = [];
  const outBytes: number[] = [];
  const outSteps: number[] = [];
  let column = -1;
  let first = -1;
  let low = -1;
  let high = -1;
  let last = -1;

  const flush = () => {
    if (first < 0) return;
    const kept = [first, low, high, last].sort((a, b) => a - b);
    for (let k = 0; k < kept.length; k++) {
      const index = kept[k]!;
      if (k > 0 && index === kept[k - 1]) continue;
      outTime.push(time_s[index]!);
      outBytes.push(bytes[index]!);
      outSteps.push(steps?.[index] ?? Number.NaN);
    }
    first = -1;
  };

  let gap = false;
  for (let i = 0; i < bytes.length; i++) {
    const value = bytes[i]!;
    const time = time_s[i]!;
    if (!Number.isFinite(time)) continue;
    if (!Number.isFinite(value)) {
      gap = true;
      continue;
    }
    const at = Math.min(columns - 1, Math.max(0, Math.floor((time - from) / width)));
    if (gap && last >= 0 && time - time_s[last]! > width) {
      flush();
      outTime.push(time_s[last]!);
      outBytes.push(Number.NaN);
      outSteps.push(steps?.[last] ?? Number.NaN);
    } else if (at !== column) {
      flush();
    }
    gap = false;
    column = at;
    if (first < 0) {
      first = i;
      low = i;
      high = i;
    }
    if (value < bytes[low]!) low = i;
    if (value > bytes[high]!) high = i;
    last = i;
  }
  flush();
  const thinned = { time_s: Float64Array.from(outTime), bytes: Float64Array.from(outBytes) };
  return steps === undefined ? thinned : { ...thinned, steps: Float64Array.from(outSteps) };
}

/** Index of the highest finite value that has a finite time, the earliest of equals; -1 when there is none. */
export function indexOfPeak(bytes: ArrayLike<number>, time_s?: ArrayLike<number>): number {
  let best = -1;
  for (let i = 0; i < bytes.length; i++) {
    const value = bytes[i]!;
    if (time_s !== undefined && !Number.isFinite(time_s[i])) continue;
    if (Number.isFinite(value) && (best < 0 || value > bytes[best]!)) best = i;
  }
  return best;
}
