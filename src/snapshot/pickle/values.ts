/** Kinds of values on the machine's stack: numbers, or ids of values that the builder keeps. No objects, no garbage. */
export const Kind = {
  none: 1,
  /** Its id is 0 or 1. */
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

const ID_BITS = 28;
/** Maximum id. A file with more values of a kind is beyond what memory allows. */
export const MAX_ID = 2 ** ID_BITS - 1;

/** A value in 32 bits: its kind, and its id unless it is a number. Never 0. */
export const tagOf = (kind: number, id: number): number => (kind << ID_BITS) | id;
export const kindOf = (tag: number): number => tag >>> ID_BITS;
export const idOf = (tag: number): number => tag & MAX_ID;

/** Whether a value of this kind is a number, which stands beside the tag. */
export const isNumber = (kind: number): boolean => kind >= Kind.int && kind <= Kind.float;

/** Values of the stack: the tag of each, and of numbers the number. */
export interface Values {
  readonly tags: Int32Array;
  readonly numbers: Float64Array;
}

/** Callbacks of the machine while the pickle is read. Ids are whole numbers up to {@link MAX_ID}. */
export interface PickleBuilder {
  /** Id of the UTF-8 string of `length` bytes at `from`. The bytes are overwritten afterwards. */
  readonly string: (bytes: Uint8Array, from: number, length: number) => number;
  readonly dict: () => number;
  readonly list: () => number;
  /** Keys and values alternate at [from, to) of the stack. */
  readonly setItems: (dict: number, values: Values, from: number, to: number) => void;
  /** A number for the contents of the list, if they depend on the appended values only and may recur; else -1. */
  readonly append: (list: number, values: Values, from: number, to: number) => number;
  /** Gives a list the contents of that number. @returns false, with nothing done, where they would differ by now */
  readonly repeat: (list: number, contents: number) => boolean;
  /** The tag of the tuple of [from, to). */
  readonly tuple: (values: Values, from: number, to: number) => number;
}
