import type { ColumnMetaData, SchemaElement } from "hyparquet";
import { ENCODING, PAGE, pageFields, type Snappy, UnsupportedEncoding } from "./parquet-page.ts";

/** A column whose pages are checked. */
export interface CheckedColumn {
  readonly chunk: ColumnMetaData;
  readonly element: SchemaElement;
  /** Of its row group. */
  readonly rows: number;
}

/** Writers make pages of a megabyte, or of a hundred thousand rows. */
const MAX_VALUES = 1 << 24;
/** Three bytes of Snappy make 64 at most. */
const MAX_EXPANSION = 32;
const MIN_ROOM = 1024;
/** Values that a writer may add to a last group of eight. */
const SLACK = 512;
/** Of the header of a run: their 28 bits hold more than MAX_VALUES. */
const MAX_VARINT_BYTES = 4;

/** Reads runs of equal or packed values as hyparquet does, without making them. */
class EncodedRuns {
  readonly #bytes: Uint8Array;
  #at: number;

  constructor(bytes: Uint8Array, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  #byte(): number {
    const byte = this.#bytes[this.#at++];
    if (byte === undefined) throw new UnsupportedEncoding("a page ends within its values");
    return byte;
  }

  #header(): number {
    let value = 0;
    for (let i = 0; i < MAX_VARINT_BYTES; i++) {
      const byte = this.#byte();
      value |= (byte & 0x7f) << (7 * i);
      if (byte < 0x80) return value;
    }
    throw new UnsupportedEncoding("a run of too many values");
  }

  /** Skips `values` values of so many bits. */
  skip(bits: number, values: number): void {
    const bytes = (bits + 7) >> 3;
    let seen = 0;
    while (seen < values) {
      const header = this.#header();
      const isPacked = (header & 1) === 1;
      const count = isPacked ? (header >> 1) * 8 : header >> 1;
      if (count > values - seen + (isPacked ? SLACK : 0)) throw new UnsupportedEncoding("a run of too many values");
      if (isPacked) {
        const packed = (count / 8) * bits;
        // Of the last group only what is needed must be there.
        const needed = Math.ceil((Math.min(count, values - seen) * bits) / 8);
        if (this.#at + needed > this.#bytes.length) throw new UnsupportedEncoding("a page ends within its values");
        this.#at += packed;
      } else {
        for (let i = 0; i < bytes; i++) this.#byte();
      }
      seen += count;
    }
  }
}

/**
 * Checks every page of a column before hyparquet reads it, whose loops follow the counts in a page and do not end where
 * one is missing or negative. What the gate does not write is refused.
 * @param bytes of the whole column  @throws UnsupportedEncoding for damage, and for pages of another kind
 */
export function checkPages(bytes: Uint8Array, { chunk, element, rows }: CheckedColumn, snappy: Snappy): void {
  if (chunk.path_in_schema.length !== 1 || element.repetition_type !== "OPTIONAL")
    throw new UnsupportedEncoding("a nested column, or one without missing values");
  if (chunk.codec !== "UNCOMPRESSED" && chunk.codec !== "SNAPPY")
    throw new UnsupportedEncoding(`compression by ${chunk.codec}`);
  const unpacked = (packed: Uint8Array, plainBytes: number): Uint8Array => {
    if (plainBytes > MAX_EXPANSION * packed.length + MIN_ROOM) throw new UnsupportedEncoding("a page of another size");
    if (chunk.codec === "UNCOMPRESSED") return packed;
    const room = new Uint8Array(plainBytes);
    snappy(packed, room);
    return room;
  };
  const checkValues = (data: Uint8Array, encoding: number, values: number): void => {
    if (encoding === ENCODING.dictionary) {
      const bits = data[0] ?? 0;
      if (bits > 32) throw new UnsupportedEncoding("values of too many bits");
      new EncodedRuns(data, 1).skip(bits, values);
    } else if (encoding !== ENCODING.plain && encoding !== ENCODING.deltaPacked)
      throw new UnsupportedEncoding(`values in encoding ${encoding}`);
  };
  let at = 0;
  let seen = 0;
  while (seen < rows && at < bytes.length - 1) {
    const { of, has, bodyAt } = pageFields(bytes, at);
    const [plainBytes, packedBytes] = [of("2"), of("3")];
    at = bodyAt + packedBytes;
    if (at > bytes.length) throw new UnsupportedEncoding("a page beyond its column");
    const body = bytes.subarray(bodyAt, at);
    switch (of("1")) {
      case PAGE.dictionary:
        if (of("7.1") > MAX_VALUES) throw new UnsupportedEncoding("a dictionary of too many values");
        unpacked(body, plainBytes);
        break;
      case PAGE.data: {
        const [values, nulls, levels] = [of("8.1"), of("8.2"), of("8.5")];
        if (values > MAX_VALUES || values > rows) throw new UnsupportedEncoding("more values than rows");
        if (of("8.3") !== values || of("8.6") !== 0 || nulls > values || levels > Math.min(packedBytes, plainBytes))
          throw new UnsupportedEncoding("a page of another shape");
        new EncodedRuns(body, 0).skip(1, values);
        const isPacked = !has("8.7") || of("8.7") === 1;
        const rest = body.subarray(levels);
        const data = isPacked ? unpacked(rest, plainBytes - levels) : rest;
        checkValues(data, of("8.4"), values - nulls);
        seen += values;
        break;
      }
      default:
        throw new UnsupportedEncoding("a page of another kind");
    }
  }
}
