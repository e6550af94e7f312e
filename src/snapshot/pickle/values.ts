/** Kinds of values on the machine's stack: numbers, or ids of values that the builder keeps. No objects, no garbage. */
export const Kind = {
  none: 1,
  bool: 2,
  /** An integer; beyond 2^53 the nearest double. */
  int: 3,
  /** An unsigned 64-bit integer with the highest bit set, minus 2^64, which a double represents exactly. */
  upper: 4,
  float: 5,
  string: 6,
  dict: 7,
  list: 8,
  /** A tuple of two integers: the id of a memory pool. */
  pool: 9,
  /** A value that snapshots do not need. */
  other: 10,
} as const;

/** Callbacks of the machine while the pickle is read. Ids are whole numbers below 2^32. */
export interface PickleBuilder {
  /** Id of the UTF-8 string of `length` bytes at `from`. The bytes are overwritten afterwards. */
  readonly string: (bytes: Uint8Array, from: number, length: number) => number;
  readonly dict: () => number;
  readonly list: () => number;
  /** Keys and values alternate at [from, to) of the stack. */
  readonly setItems: (dict: number, kinds: Uint8Array, values: Float64Array, from: number, to: number) => void;
  readonly append: (list: number, kinds: Uint8Array, values: Float64Array, from: number, to: number) => void;
  /** Puts the tuple of [from, to) at `from`. */
  readonly tuple: (kinds: Uint8Array, values: Float64Array, from: number, to: number) => void;
}
