import type { FileMetaData } from "hyparquet";
import { checkPages } from "./parquet-check.ts";
import { bounded, UnsupportedEncoding } from "./parquet-page.ts";

/** Values of one column of one row group; `rowStart` is the file's row of the first value. */
type TakeChunk = (column: string, values: ArrayLike<unknown>, rowStart: number) => void;

/** An open Parquet file. */
export interface ParquetSource {
  readonly metadata: FileMetaData;
  readonly rows: number;
  readonly columns: ReadonlySet<string>;
  /** Reads columns front to back, one row group at a time: hyparquet decodes all requested before releasing any. */
  readonly each: (columns: readonly string[], take: TakeChunk) => Promise<void>;
}

/** Rows that any file may have, and per byte of a larger one: equal values take a few bytes in a hundred thousand. */
const MAX_FREE_ROWS = 1_000_000;
const MAX_ROWS_PER_BYTE = 1000;

/** The number of rows, for which columns are made before a value is read. */
function rowsOf({ num_rows: declared, row_groups: groups }: FileMetaData, bytes: number): number {
  const rows = Number(declared);
  if (!(rows <= MAX_FREE_ROWS + MAX_ROWS_PER_BYTE * bytes))
    throw new UnsupportedEncoding("it has more rows than its size allows");
  if (
    groups.some(({ num_rows }) => num_rows < 0n) ||
    groups.reduce((sum, group) => sum + group.num_rows, 0n) !== declared
  )
    throw new UnsupportedEncoding("its groups have another number of rows");
  return rows;
}

/** Opens a file. @throws UnsupportedEncoding for more rows than its size allows, else what hyparquet and files throw */
export async function openParquet(file: string): Promise<ParquetSource> {
  const { asyncBufferFromFile, parquetMetadataAsync, parquetRead, parquetSchema, snappyUncompress } = await import(
    "hyparquet"
  );
  const snappy = bounded(snappyUncompress);
  const compressors = {
    SNAPPY: (input: Uint8Array, bytes: number): Uint8Array => {
      const output = new Uint8Array(bytes);
      snappy(input, output);
      return output;
    },
  };
  const source = await asyncBufferFromFile(file);
  const metadata = await parquetMetadataAsync(source);
  const { children } = parquetSchema(metadata);
  return {
    metadata,
    rows: rowsOf(metadata, source.byteLength),
    columns: new Set(metadata.schema.slice(1).map(({ name }) => name)),
    each: async (columns, take) => {
      if (columns.length === 0) return;
      let before = 0;
      for (const group of metadata.row_groups) {
        const rows = Number(group.num_rows);
        const from = before;
        before += rows;
        for (const { meta_data: chunk } of group.columns) {
          const name = chunk?.path_in_schema[0];
          // Groups may have columns of the same name.
          const element = children.find((child) => child.element.name === name)?.element;
          if (chunk === undefined || name === undefined || element === undefined || !columns.includes(name)) continue;
          const start = Number(chunk.dictionary_page_offset || chunk.data_page_offset);
          const bytes = new Uint8Array(await source.slice(start, start + Number(chunk.total_compressed_size)));
          checkPages(bytes, { chunk, element, rows }, snappy);
        }
        // hyparquet does not wait for what takes its chunks: an error there would end the process.
        const failures: unknown[] = [];
        await parquetRead({
          file: source,
          compressors,
          metadata: { ...metadata, num_rows: group.num_rows, row_groups: [group] },
          columns: [...columns],
          onChunk: ({ columnName, columnData, rowStart }) => {
            try {
              take(columnName, columnData, from + rowStart);
            } catch (error) {
              failures.push(error);
            }
          },
        });
        if (failures.length > 0) throw failures[0];
      }
    },
  };
}

/** A cell as a number; null is NaN. */
export const numberOf = (value: unknown): number =>
  value === null || value === undefined ? Number.NaN : Number(value);
