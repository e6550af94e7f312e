import { closeSync, readSync } from "node:fs";
import type { ColumnMetaData } from "hyparquet";
import { openRegular } from "../../core/files.ts";
import { bounded, readChunk } from "./parquet-chunk.ts";
import { TooLarge, UnsupportedEncoding } from "./parquet-delta.ts";
import type { ParquetSource, TakeChunk } from "./parquet-source.ts";

/** The bytes of one column of one row group. */
function bytesOf(descriptor: number, fileBytes: number, chunk: ColumnMetaData): Uint8Array {
  const from = Number(chunk.data_page_offset);
  const size = Number(chunk.total_compressed_size);
  if (!(from >= 0 && size >= 0 && from + size <= fileBytes)) throw new UnsupportedEncoding("a column beyond the file");
  const bytes = new Uint8Array(size);
  for (let at = 0; at < size; ) {
    const read = readSync(descriptor, bytes, at, size - at, from + at);
    if (read === 0) throw new UnsupportedEncoding("a column beyond the file");
    at += read;
  }
  return bytes;
}

/**
 * Reads a file of our own writer, one column of a row group at a time. Whole numbers have a reader that terminates for
 * any bytes; hyparquet reads the rest, but makes BigInts and loops forever on some damaged pages.
 * @param general the same file opened by hyparquet
 */
export function ownSource(file: string, general: ParquetSource): ParquetSource {
  const each = async (columns: readonly string[], take: TakeChunk) => {
    const snappy = bounded((await import("hyparquet")).snappyUncompress);
    const others = new Set(columns.filter((name) => general.columns.get(name) !== "INT64"));
    const wanted = new Set(columns.filter((name) => !others.has(name)));
    const { fd: descriptor, stats } = openRegular(file);
    try {
      const { size } = stats;
      let from = 0;
      for (const group of general.metadata.row_groups) {
        const rows = Number(group.num_rows);
        for (const { meta_data: chunk } of group.columns) {
          const name = chunk?.path_in_schema[0];
          if (chunk === undefined || name === undefined || !wanted.has(name)) continue;
          try {
            const values = readChunk(bytesOf(descriptor, size, chunk), chunk, rows, snappy);
            if (values !== null) take(name, values, from);
          } catch (error) {
            if (!(error instanceof TooLarge)) throw error;
            wanted.delete(name);
            others.add(name);
          }
        }
        from += rows;
      }
    } finally {
      closeSync(descriptor);
    }
    await general.each([...others], take);
  };
  return { ...general, each };
}
