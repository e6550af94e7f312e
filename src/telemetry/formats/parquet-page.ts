/** A file that is damaged, or has encodings that are not read. */
export class UnsupportedEncoding extends Error {}

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

/** Field types of Thrift's compact protocol that page headers use. */
const FIELD = {
  stop: 0,
  true: 1,
  false: 2,
  byte: 3,
  int16: 4,
  int64: 6,
  double: 7,
  binary: 8,
  struct: 12,
} as const;

/** Kinds of pages and encodings of values that the gate writes. */
export const PAGE = { dictionary: 2, data: 3 } as const;
export const ENCODING = { plain: 0, deltaPacked: 5, dictionary: 8 } as const;

/** Stands for a value other than a number, such as a statistic. */
const OTHER = -1;

/**
 * Numeric fields of a struct by id, those of an inner struct under `outer.inner`; {@link OTHER} for one that is none.
 * @return end of the struct
 */
function readStruct(bytes: Uint8Array, start: number, prefix: string, into: Map<string, number>): number {
  let at = start;
  let field = 0;
  const varint = (): number => {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++];
      if (byte === undefined) throw new UnsupportedEncoding("the file ends within a header");
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
  };
  const number = (): number => {
    const value = varint();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  };
  for (;;) {
    const head = bytes[at++];
    if (head === undefined) throw new UnsupportedEncoding("the file ends within a header");
    const kind = head & 0x0f;
    if (kind === FIELD.stop) return at;
    field = head >> 4 === 0 ? number() : field + (head >> 4);
    const name = `${prefix}${field}`;
    // Readers differ on which of two they take.
    if (into.has(name)) throw new UnsupportedEncoding("a header with a field twice");
    into.set(name, OTHER);
    if (kind === FIELD.true || kind === FIELD.false) into.set(name, Number(kind === FIELD.true));
    else if (kind >= FIELD.int16 && kind <= FIELD.int64) into.set(name, number());
    else if (kind === FIELD.byte) at += 1;
    else if (kind === FIELD.double) at += 8;
    else if (kind === FIELD.binary) {
      const length = varint();
      at += length;
    } else if (kind === FIELD.struct) at = readStruct(bytes, at, `${name}.`, into);
    else throw new UnsupportedEncoding("a header of another shape");
  }
}

/**
 * The numeric fields of any page's header by id, and the begin of its data. Asking for one that is missing or negative
 * throws as well.
 * @throws UnsupportedEncoding for a damaged header
 */
export function pageFields(
  bytes: Uint8Array,
  at: number,
): { readonly of: (name: string) => number; readonly has: (name: string) => boolean; readonly bodyAt: number } {
  const fields = new Map<string, number>();
  const bodyAt = readStruct(bytes, at, "", fields);
  const of = (name: string): number => {
    const value = fields.get(name);
    if (value === undefined || value < 0) throw new UnsupportedEncoding("a header of another shape");
    return value;
  };
  return { of, has: (name) => fields.has(name), bodyAt };
}
