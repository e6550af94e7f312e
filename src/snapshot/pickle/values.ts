/**
 * Kinds of values on the machine's stack. A value is a kind and a number: the number itself, or the id of something that
 * the builder keeps. Nothing on the stack is a JavaScript object, so that a million entries make no garbage.
 */
export const Kind = {
  none: 1,
  bool: 2,
  /** An integer; beyond 2^53 the nearest double. */
  int: 3,
  /**
   * An unsigned integer of 64 bits with the highest set, as its signed twin (value - 2^64): an address of the upper half, which
   * a double holds exactly in this form.
   */
  upper: 4,
  float: 5,
  string: 6,
  dict: 7,
  list: 8,
  /** A tuple of two integers: the id of a memory pool. */
  pool: 9,
  /** Something a snapshot needs nothing of. */
  other: 10,
} as const;

/** What the machine calls as the pickle is read. Ids are whole numbers below 2^32. */
export interface PickleBuilder {
  /** Id of the text in `bytes` from `from`, `length` long, in UTF-8. The bytes are overwritten afterwards. */
  readonly string: (bytes: Uint8Array, from: number, length: number) => number;
  readonly dict: () => number;
  readonly list: () => number;
  /** Keys and values stand in turn at [from, to) of the stack. */
  readonly setItems: (dict: number, kinds: Uint8Array, values: Float64Array, from: number, to: number) => void;
  readonly append: (list: number, kinds: Uint8Array, values: Float64Array, from: number, to: number) => void;
  /** Put the tuple of [from, to) at `from`. */
  readonly tuple: (kinds: Uint8Array, values: Float64Array, from: number, to: number) => void;
}
