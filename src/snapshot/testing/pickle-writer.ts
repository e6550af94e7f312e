import { Op } from "../pickle/opcodes.ts";

/** Input of the writer: plain data, and tuples, which are arrays marked by {@link tuple}. */
export type Plain =
  | null
  | boolean
  | number
  | bigint
  | string
  | readonly Plain[]
  | Tuple
  | { readonly [key: string]: Plain };

export class Tuple {
  readonly items: readonly Plain[];

  constructor(items: readonly Plain[]) {
    this.items = items;
  }
}

export const tuple = (...items: Plain[]): Tuple => new Tuple(items);

/** Items per batch, as in CPython. */
const BATCH = 1000;
const encoder = new TextEncoder();

/** Pickles plain data like CPython in protocol 4: everything shareable is memoized, strings by value. */
class PickleWriter {
  readonly #bytes: number[] = [];
  readonly #memo = new Map<unknown, number>();

  write(value: Plain): Uint8Array {
    this.#bytes.push(Op.PROTO, 4);
    this.#put(value);
    this.#bytes.push(Op.STOP);
    return Uint8Array.from(this.#bytes);
  }

  #put(value: Plain): void {
    if (value === null) this.#bytes.push(Op.NONE);
    else if (typeof value === "boolean") this.#bytes.push(value ? Op.NEWTRUE : Op.NEWFALSE);
    else if (typeof value === "number") this.#number(value);
    else if (typeof value === "bigint") this.#long(value);
    else if (!this.#again(value)) this.#shared(value);
  }

  #shared(value: string | readonly Plain[] | Tuple | { readonly [key: string]: Plain }): void {
    if (typeof value === "string") {
      const text = encoder.encode(value);
      if (text.length < 256) this.#bytes.push(Op.SHORT_BINUNICODE, text.length);
      else this.#bytes.push(Op.BINUNICODE, ...little(text.length, 4));
      for (const byte of text) this.#bytes.push(byte);
      this.#remember(value);
    } else if (value instanceof Tuple) {
      const { items } = value;
      if (items.length > 3) this.#bytes.push(Op.MARK);
      for (const item of items) this.#put(item);
      this.#bytes.push([Op.EMPTY_TUPLE, Op.TUPLE1, Op.TUPLE2, Op.TUPLE3][items.length] ?? Op.TUPLE);
      this.#remember(value);
    } else if (isList(value)) {
      this.#bytes.push(Op.EMPTY_LIST);
      this.#remember(value);
      this.#batches(value, (item) => this.#put(item), Op.APPEND, Op.APPENDS);
    } else {
      this.#bytes.push(Op.EMPTY_DICT);
      this.#remember(value);
      const item = ([key, own]: [string, Plain]) => {
        this.#put(key);
        this.#put(own);
      };
      this.#batches(Object.entries(value), item, Op.SETITEM, Op.SETITEMS);
    }
  }

  #batches<T>(items: readonly T[], put: (item: T) => void, one: number, many: number): void {
    for (let from = 0; from < items.length; from += BATCH) {
      const batch = items.slice(from, from + BATCH);
      if (batch.length > 1) this.#bytes.push(Op.MARK);
      for (const item of batch) put(item);
      this.#bytes.push(batch.length > 1 ? many : one);
    }
  }

  #remember(value: unknown): void {
    this.#memo.set(value, this.#memo.size);
    this.#bytes.push(Op.MEMOIZE);
  }

  #again(value: unknown): boolean {
    const index = this.#memo.get(value);
    if (index === undefined) return false;
    if (index < 256) this.#bytes.push(Op.BINGET, index);
    else this.#bytes.push(Op.LONG_BINGET, ...little(index, 4));
    return true;
  }

  #number(value: number): void {
    if (!Number.isInteger(value)) {
      const bytes = new Uint8Array(8);
      new DataView(bytes.buffer).setFloat64(0, value);
      this.#bytes.push(Op.BINFLOAT, ...bytes);
    } else if (value >= 0 && value < 256) this.#bytes.push(Op.BININT1, value);
    else if (value >= 0 && value < 65536) this.#bytes.push(Op.BININT2, ...little(value, 2));
    else if (value >= -(2 ** 31) && value < 2 ** 31) this.#bytes.push(Op.BININT, ...little(value >>> 0, 4));
    else this.#long(BigInt(value));
  }

  /** The fewest bytes of two's complement that hold the sign. */
  #long(value: bigint): void {
    const bytes: number[] = [];
    let rest = value;
    do {
      bytes.push(Number(rest & 255n));
      rest >>= 8n;
    } while (!((rest === 0n && (bytes.at(-1) ?? 0) < 128) || (rest === -1n && (bytes.at(-1) ?? 0) >= 128)));
    this.#bytes.push(Op.LONG1, bytes.length, ...bytes);
  }
}

function isList(value: readonly Plain[] | { readonly [key: string]: Plain }): value is readonly Plain[] {
  return Array.isArray(value);
}

function little(value: number, width: number): number[] {
  return Array.from({ length: width }, (_, i) => Math.floor(value / 256 ** i) % 256);
}

/** The bytes of CPython's pickle.dumps(value, protocol=4), without frames. */
export function pickled(value: Plain): Uint8Array {
  return new PickleWriter().write(value);
}
