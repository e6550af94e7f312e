/** A fixed order whose neighbours are far apart in time, so that closeness in time is not closeness in phase. */
export function scattered(n: number): Uint32Array {
  let stride = Math.max(1, Math.round(n * 0.618));
  while (n > 1 && gcd(stride, n) !== 1) stride++;
  return Uint32Array.from({ length: n }, (_, i) => (i * stride) % n);
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/** Sorts points by their phase at a frequency, into the same array every time. */
export class PhaseFolder {
  readonly #n: number;
  readonly #order: Uint32Array;
  readonly #buckets: number;
  readonly #start: Uint32Array;
  readonly #bucketOf: Uint32Array;
  readonly folded: Uint32Array;

  constructor(n: number) {
    this.#n = n;
    this.#order = scattered(n);
    this.#buckets = Math.max(8, n >> 2);
    this.#start = new Uint32Array(this.#buckets + 1);
    this.#bucketOf = new Uint32Array(n);
    this.folded = new Uint32Array(n);
  }

  fold(frequency: number): Uint32Array {
    const start = this.#start.fill(0);
    const bucketOf = this.#bucketOf;
    for (let i = 0; i < this.#n; i++) {
      const turns = i * frequency;
      const bucket = Math.min(this.#buckets - 1, Math.floor((turns - Math.floor(turns)) * this.#buckets));
      bucketOf[i] = bucket;
      start[bucket + 1]!++;
    }
    for (let b = 0; b < this.#buckets; b++) start[b + 1]! += start[b]!;
    for (const i of this.#order) this.folded[start[bucketOf[i]!]!++] = i;
    return this.folded;
  }
}

/** String length on absolute differences: the mean absolute difference of neighbours in phase. */
export function stringLength(values: Float64Array, folded: Uint32Array): number {
  let sum = 0;
  let previous = values[folded[folded.length - 1]!]!;
  for (let k = 0; k < folded.length; k++) {
    const value = values[folded[k]!]!;
    sum += Math.abs(value - previous);
    previous = value;
  }
  return sum / values.length;
}
