/**
 * Growth that ended, as one model: any sequence of rests (a level) and ramps (a rising line), joined or with jumps
 * between them, of which the last is a rest. The best sequence for each number of parameters is found by dynamic
 * programming over the squared deviations (Jackson et al. 2005, "An algorithm for optimal partitioning of data on an
 * interval"), O(n²) for each.
 */

/** A rest has at least this share of the points, and a ramp this number of points: fewer can be a jump in one part. */
const MIN_REST = 0.1;
const MIN_RAMP = 3;
/** Parameters up to which sequences are tried: a level or a line, and for each further segment its begin as well. */
const MAX_PARAMETERS = 14;
/**
 * Share of the points after which growth has ended. With k events at random times a longer rest has the probability (1
 * − share)ᵏ, 27 % for four and 7 % for eight.
 */
export const ENDED_REST = 0.27;
/** Any rest ends growth in at most two stretches of at most this share of the points, or in at most three jumps. */
const FEW_STRETCHES = 2;
const BRIEF_SHARE = 0.6;
const FEW_JUMPS = 3;

export interface EndedFit {
  readonly sse: number;
  readonly parameters: number;
  /** Share of the points in the last rest. */
  readonly flatShare: number;
  /** Made of jumps that are too few for a staircase. */
  readonly fewJumps: boolean;
  /** Whether growth this short with a rest this long cannot be a leak of which a rest was observed by chance. */
  readonly certain: boolean;
}

interface Segment {
  readonly from: number;
  readonly to: number;
  readonly ramp: boolean;
}

/** Squared deviations of the points [from, to) from their mean, and from their line if it rises, else infinite. */
interface Deviations {
  readonly level: (from: number, to: number) => number;
  readonly line: (from: number, to: number) => number;
}

/** Prefix sums give both in constant time. */
export function deviationsOf(y: Float64Array): Deviations {
  const n = y.length;
  const sums = new Float64Array(n + 1);
  const squares = new Float64Array(n + 1);
  const products = new Float64Array(n + 1);
  const y0 = y[0] ?? 0;
  for (let i = 0; i < n; i++) {
    const value = y[i]! - y0;
    sums[i + 1] = sums[i]! + value;
    squares[i + 1] = squares[i]! + value * value;
    products[i + 1] = products[i]! + value * i;
  }
  const level = (from: number, to: number): number => {
    const sum = sums[to]! - sums[from]!;
    return Math.max(0, squares[to]! - squares[from]! - (sum * sum) / (to - from));
  };
  const line = (from: number, to: number): number => {
    const size = to - from;
    const sxy = products[to]! - products[from]! - ((from + to - 1) / 2) * (sums[to]! - sums[from]!);
    const sxx = (size * (size * size - 1)) / 12;
    return sxy > 0 ? Math.max(0, level(from, to) - (sxy * sxy) / sxx) : Number.POSITIVE_INFINITY;
  };
  return { level, line };
}

/** Least squares of two and of three levels. */
export function fitJumps(y: Float64Array, { level } = deviationsOf(y)): { readonly one: number; readonly two: number } {
  const n = y.length;
  let [one, two] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let at = 1; at < n; at++) {
    const after = level(at, n);
    one = Math.min(one, level(0, at) + after);
    for (let first = 1; first < at; first++) two = Math.min(two, level(0, first) + level(first, at) + after);
  }
  return { one, two };
}

/** The best fits of growth that ended, for each number of parameters that one exists for. */
export function fitEnded(y: Float64Array, { level, line }: Deviations): EndedFit[] {
  const n = y.length;
  const rest = Math.max(2, Math.ceil(MIN_REST * n));
  // Squares of the best sequence for the points [0, end) with a number of parameters, and its last segment.
  const cost = Array.from({ length: MAX_PARAMETERS + 1 }, () => new Float64Array(n + 1).fill(Number.POSITIVE_INFINITY));
  const begin = cost.map(() => new Uint16Array(n + 1));
  const isRamp = cost.map(() => new Uint8Array(n + 1));
  const extend = (p: number, from: number, to: number, before: number, ramp: boolean) => {
    const total = before + (ramp ? line(from, to) : level(from, to));
    if (total >= cost[p]![to]!) return;
    cost[p]![to] = total;
    begin[p]![to] = from;
    isRamp[p]![to] = Number(ramp);
  };
  const found: EndedFit[] = [];
  for (let p = 1; p <= MAX_PARAMETERS; p++) {
    for (let to = 1; to <= n; to++) {
      if (p === 1) extend(p, 0, to, 0, false);
      if (p === 2 && to >= MIN_RAMP) extend(p, 0, to, 0, true);
      for (let from = 1; p > 2 && from < to; from++) {
        extend(p, from, to, cost[p - 2]![from]!, false);
        if (p > 3 && to - from >= MIN_RAMP) extend(p, from, to, cost[p - 3]![from]!, true);
      }
    }
    let best: EndedFit | null = null;
    for (let at = 1; p > 2 && at <= n - rest; at++) {
      const sse = cost[p - 2]![at]! + level(at, n);
      if (!(sse < (best?.sse ?? Number.POSITIVE_INFINITY))) continue;
      const segments: Segment[] = [{ from: at, to: n, ramp: false }];
      for (let q = p - 2, to = at; to > 0; ) {
        const segment = { from: begin[q]![to]!, to, ramp: isRamp[q]![to] === 1 };
        segments.unshift(segment);
        q -= segment.ramp ? 3 : 2;
        to = segment.from;
      }
      const ending = endingOf(segments, y);
      if (ending) best = { sse, parameters: p, flatShare: (n - at) / n, ...ending };
    }
    if (best) found.push(best);
  }
  return found;
}

const meanOf = (y: Float64Array, from: number, to: number): number => {
  let sum = 0;
  for (let i = from; i < to; i++) sum += y[i]! - y[0]!;
  return sum / (to - from);
};

/** How the growth of rising segments has ended; null when they fall, or the last rest is too short. */
function endingOf(segments: readonly Segment[], y: Float64Array): Pick<EndedFit, "certain" | "fewJumps"> | null {
  const n = y.length;
  const separate = Math.max(2, Math.ceil(MIN_REST * n));
  let stretches = 0;
  let growing = 0;
  let open = -1;
  let previous = Number.NEGATIVE_INFINITY;
  for (const { from, to, ramp } of segments) {
    const level = meanOf(y, from, to);
    if (level < previous) return null;
    previous = level;
    const rests = !ramp && to - from >= separate;
    if (rests && (open >= 0 || from > 0)) {
      stretches++;
      growing += from - (open >= 0 ? open : from);
    }
    if (rests) open = -1;
    else if (open < 0) open = from;
  }
  // A level of one point is a jump in the middle of a part.
  const levels = segments.filter(({ from, to }) => to - from > 1).length;
  const fewJumps = levels <= FEW_JUMPS + 1 && segments.every(({ ramp }) => !ramp);
  if (fewJumps || (n - segments[segments.length - 1]!.from) / n >= ENDED_REST) return { certain: true, fewJumps };
  if (stretches > FEW_STRETCHES || growing > BRIEF_SHARE * n) return null;
  return { certain: stretches === 1, fewJumps };
}
