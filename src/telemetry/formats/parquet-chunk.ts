import type { ColumnMetaData } from "hyparquet";
import { definedRows, PADDING, PackedReader, UnsupportedEncoding } from "./parquet-delta.ts";
import { pageHeader } from "./parquet-page.ts";

export type Snappy = (input: Uint8Array, output: Uint8Array) => void;

/**
 * A decoder of Snappy that terminates. Hyparquet's takes a literal of 2^31 bytes for a negative length and goes back in
 * its input. Elements are checked first, by the format description of google/snappy.
 * @throws UnsupportedEncoding for an element beyond the input or the output
 */
export function bounded(uncompress: Snappy): Snappy {
  return (input, output) => {
    let at = 0;
    while ((input[at++] ?? 0) >= 0x80) {}
    let made = 0;
    while (at < input.length) {
      const tag = input[at++] ?? 0;
      const kind = tag & 3;
      let length = (tag >>> 2) + 1;
      if (kind === 1) length = ((tag >>> 2) & 7) + 4;
      if (kind === 0 && length > 60) {
        const bytes = length - 60;
        length = 1;
        for (let i = 0; i < bytes; i++) length += (input[at + i] ?? 0) * 2 ** (8 * i);
        at += bytes;
      }
      at += kind === 0 ? length : [0, 1, 2, 4][kind]!;
      made += length;
      if (at > input.length || made > output.length) throw new UnsupportedEncoding("a Snappy element beyond its page");
    }
    uncompress(input, output);
  };
}

/** A packed number takes at most eight bytes. The rest is for the bit widths of incomplete blocks. */
const MAX_BYTES_PER_ROW = 9;
const MAX_OVERHEAD = 2048;

/**
 * Values of one column of one row group, NaN for missing ones, null without any. Terminates for any bytes.
 * @throws UnsupportedEncoding for encodings that our writer does not use, and for damage
 */
export function readChunk(bytes: Uint8Array, chunk: ColumnMetaData, rows: number, snappy: Snappy): Float64Array | null {
  const plain = chunk.codec === "UNCOMPRESSED";
  if (chunk.type !== "INT64" || (!plain && chunk.codec !== "SNAPPY")) throw new UnsupportedEncoding("another column");
  if (chunk.dictionary_page_offset !== undefined) throw new UnsupportedEncoding("a column with a dictionary");
  const end = bytes.length;
  let at = 0;
  let values: Float64Array | null = null;
  let row = 0;
  while (row < rows) {
    if (at >= end) throw new UnsupportedEncoding("fewer values than rows");
    const page = pageHeader(bytes, at);
    at = page.bodyAt + page.compressedBytes;
    if (row + page.rows > rows || at > end) throw new UnsupportedEncoding("a page beyond its column");
    const defined = page.rows - page.nulls;
    if (defined > 0) {
      values ??= new Float64Array(rows).fill(Number.NaN);
      const levels = bytes.subarray(page.bodyAt, page.bodyAt + page.levelBytes);
      const packed = bytes.subarray(page.bodyAt + page.levelBytes, at);
      const length = page.plainBytes - page.levelBytes;
      if (length < 0 || length > MAX_BYTES_PER_ROW * page.rows + MAX_OVERHEAD)
        throw new UnsupportedEncoding("a page of another size");
      const room = new Uint8Array(length + PADDING);
      if (page.compressed && !plain) snappy(packed, room.subarray(0, length));
      else room.set(packed.subarray(0, length));
      const places = page.nulls === 0 ? null : definedRows(levels, page.rows, defined);
      new PackedReader(room, length).deltas(values.subarray(row, row + page.rows), defined, places);
    }
    row += page.rows;
  }
  return values;
}
