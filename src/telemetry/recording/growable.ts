/** Small, because a file of ten thousand ranks has a few values for each of them. */
const FIRST_CHUNK = 8;
const LARGEST_CHUNK = 1 << 20;
const NONE = new Float64Array(0);

/** A Float64Array that grows in chunks that are never copied: eight bytes a value, and one copy at the end. */
export class GrowableColumn {
  readonly #full: Float64Array[] = [];
  #chunk: Float64Array = NONE;
  #used = 0;
  #before = 0;

  get length(): number {
    return this.#before + this.#used;
  }

  push(value: number): void {
    if (this.#used === this.#chunk.length) this.#grow();
    this.#chunk[this.#used++] = value;
  }

  /** The last value, NaN when there is none. */
  last(): number {
    if (this.#used > 0) return this.#chunk[this.#used - 1] ?? Number.NaN;
    return this.#full.at(-1)?.at(-1) ?? Number.NaN;
  }

  /** All values in one exact-sized array; the growable is empty afterwards. */
  take(): Float64Array {
    const all = new Float64Array(this.length);
    let offset = 0;
    for (const chunk of this.#full) {
      all.set(chunk, offset);
      offset += chunk.length;
    }
    all.set(this.#chunk.subarray(0, this.#used), offset);
    this.#full.length = 0;
    this.#chunk = NONE;
    this.#used = 0;
    this.#before = 0;
    return all;
  }

  #grow(): void {
    if (this.#used > 0) this.#full.push(this.#chunk);
    this.#before += this.#chunk.length;
    this.#chunk = new Float64Array(Math.min(LARGEST_CHUNK, Math.max(FIRST_CHUNK, this.#chunk.length * 2)));
    this.#used = 0;
  }
}

/** Columns of one length by name, filled a row at a time. */
export class GrowableColumns<Name extends string> {
  readonly #names: readonly Name[];
  readonly #columns: readonly GrowableColumn[];

  constructor(...names: readonly Name[]) {
    this.#names = names;
    this.#columns = names.map(() => new GrowableColumn());
  }

  get length(): number {
    return this.#columns[0]?.length ?? 0;
  }

  /** @param row one value for each name, in their order */
  push(...row: readonly number[]): void {
    for (let i = 0; i < this.#columns.length; i++) this.#columns[i]!.push(row[i]!);
  }

  /** The last value of the first column, NaN when there is none. */
  last(): number {
    return this.#columns[0]?.last() ?? Number.NaN;
  }

  /** All values; the columns are empty afterwards. */
  take(): Record<Name, Float64Array> {
    const taken = this.#names.map((name, i) => [name, this.#columns[i]!.take()] as const);
    return Object.fromEntries(taken) as Record<Name, Float64Array>;
  }
}
