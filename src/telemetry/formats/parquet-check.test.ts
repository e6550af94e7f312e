import type { ColumnMetaData, SchemaElement } from "hyparquet";
import { describe, expect, it } from "vitest";
import { checkPages } from "./parquet-check.ts";

const ROWS = 8;
/** Eight present values: a run of eight ones. */
const LEVELS = [2 * ROWS, 1];
const VALUES = Array.from({ length: 8 * ROWS }, () => 7);

const varint = (value: number): number[] => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]);
const zigzag = (value: number): number[] => varint(value < 0 ? -2 * value - 1 : 2 * value);

/** A struct of 32-bit numbers by field, in the compact protocol; a field without a number is a text of two bytes. */
function struct(fields: readonly (readonly [number, number | null | readonly number[]])[]): number[] {
  let before = 0;
  const encoded = fields.flatMap(([field, value]) => {
    const kind = value === null ? 8 : typeof value === "number" ? 5 : 12;
    const head = field - before > 0 ? [((field - before) << 4) | kind] : [kind, ...zigzag(field)];
    before = field;
    if (value === null) return [...head, 2, 1, 1];
    return [...head, ...(typeof value === "number" ? zigzag(value) : value)];
  });
  return [...encoded, 0];
}

interface Page {
  readonly inner?: readonly (readonly [number, number | null])[];
  readonly levels?: readonly number[];
  readonly values?: readonly number[];
}

const INNER = [
  [1, ROWS],
  [2, 0],
  [3, ROWS],
  [4, 0],
  [5, LEVELS.length],
  [6, 0],
] as const;

/** A page of version 2 with eight doubles. */
function page({ inner = INNER, levels = LEVELS, values = VALUES }: Page = {}): Uint8Array {
  const bytes = levels.length + values.length;
  const header = struct([
    [1, 3],
    [2, bytes],
    [3, bytes],
    [8, struct(inner)],
  ]);
  return Uint8Array.from([...header, ...levels, ...values]);
}

const chunk = { path_in_schema: ["used_bytes"], codec: "UNCOMPRESSED" } as unknown as ColumnMetaData;
const element: SchemaElement = { name: "used_bytes", type: "DOUBLE", repetition_type: "OPTIONAL" };
const check =
  (bytes: Uint8Array, column: ColumnMetaData = chunk) =>
  () =>
    checkPages(bytes, { chunk: column, element, rows: ROWS }, () => {});
const withInner = (field: number, value: number | null) =>
  page({ inner: INNER.map((one) => (one[0] === field ? [field, value] : one)) });

describe("pages that hyparquet reads", () => {
  it("pass with the counts of their values, and with statistics", () => {
    expect(check(page())).not.toThrow();
    expect(check(page({ inner: [...INNER, [8, null]] }))).not.toThrow();
  });

  it("a page whose header has a length that is missing, repeated, negative or of another kind is refused", () => {
    expect(check(page({ inner: INNER.slice(0, 5) }))).toThrow("a header of another shape");
    expect(check(withInner(6, null))).toThrow("a header of another shape");
    expect(check(page({ inner: [...INNER, [6, 0]] }))).toThrow("a header with a field twice");
    expect(check(withInner(5, -1))).toThrow("a header of another shape");
  });

  it("a page with a run of more values than it has rows is refused", () => {
    expect(check(page({ levels: [...varint(2 * 1_000_000), 1] }))).toThrow("a run of too many values");
    expect(check(page({ levels: [0xff, 0xff, 0xff, 0xff, 0x0f, 1] }))).toThrow("a run of too many values");
    expect(check(withInner(1, 1_000_000))).toThrow("more values than rows");
    // Indices of a dictionary, without bits of their own.
    const inner = INNER.map((one) => (one[0] === 4 ? ([4, 8] as const) : one));
    expect(check(page({ inner, values: [0, 2 * ROWS] }))).not.toThrow();
    expect(check(page({ inner, values: [0, ...varint(2 * 1_000_000)] }))).toThrow("a run of too many values");
  });

  it("a page that ends within its values or lies beyond its column is refused", () => {
    expect(check(page({ levels: [2, 1], values: [] }))).toThrow("a page ends within its values");
    expect(check(page().slice(0, -1))).toThrow("a page beyond its column");
  });

  it("a page in another encoding, of a nested column or with another compression is refused", () => {
    expect(check(withInner(4, 7))).toThrow("values in encoding 7");
    expect(check(page(), { ...chunk, path_in_schema: ["a", "b"] })).toThrow("a nested column");
    expect(check(page(), { ...chunk, codec: "GZIP" })).toThrow("compression by GZIP");
  });
});
