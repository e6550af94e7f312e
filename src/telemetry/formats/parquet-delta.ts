/**
 * Decodes DELTA_BINARY_PACKED into doubles, exact below 2^53 (beyond: an error). The general reader makes a BigInt of
 * every value, and a job of a thousand ranks has a hundred million of them.
 */

/** A file with encodings that our writer does not use, for the general reader. */
export class UnsupportedEncoding extends Error {}

/** A number that a double cannot represent exactly, for the general reader. */
export class TooLarge extends UnsupportedEncoding {}

/** Bytes that a page needs after its end: values are read eight bytes at a time. */
export const PADDING = 8;

const EXACT = Number.MAX_SAFE_INTEGER;

/** Reads one page's numbers from the front. */
export class PackedReader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #at = 0;

  /** @param bytes with {@link PADDING} bytes after `length` */
  constructor(bytes: Uint8Array, length: number) {
    if (bytes.length < length + PADDING) throw new RangeError("no padding after the page");
    this.#bytes = bytes;
    this.#end = length;
  }

  #byte(): number {
    if (this.#at >= this.#end) throw new UnsupportedEncoding("the page ends within a value");
    return this.#bytes[this.#at++]!;
  }

  #unsigned(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#byte();
      value += (byte & 0x7f) * scale;
      if (value > EXACT) throw new TooLarge("a number is larger than a double holds exactly");
      if (byte < 0x80) return value;
    }
  }

  /** Zigzag: even numbers are positive, odd ones negative. */
  #signed(): number {
    const value = this.#unsigned();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  /** @param places rows of the values, ascending; null = all from 0 on */
  deltas(into: Float64Array, count: number, places: Uint32Array | null): void {
    const blockSize = this.#unsigned();
    const miniblocks = this.#unsigned();
    const total = this.#unsigned();
    const perMiniblock = blockSize / miniblocks;
    if (
      total !== count ||
      !(perMiniblock >= 8) ||
      !Number.isInteger(perMiniblock) ||
      perMiniblock % 8 !== 0 ||
      perMiniblock > 4096
    ) {
      throw new UnsupportedEncoding("a page of another shape");
    }
    let value = this.#signed();
    if (count === 0) return;
    let done = 0;
    into[places === null ? 0 : places[0]!] = value;
    done = 1;
    while (done < count) {
      const least = this.#signed();
      const widths = this.#at;
      this.#at += miniblocks;
      for (let block = 0; block < miniblocks && done < count; block++) {
        const width = this.#bytes[widths + block]!;
        const until = Math.min(count, done + perMiniblock);
        if (width === 0) {
          for (; done < until; done++) {
            value += least;
            into[places === null ? done : places[done]!] = value;
          }
          continue;
        }
        if (width > 64 || this.#at + (perMiniblock * width) / 8 > this.#end)
          throw new UnsupportedEncoding("a block of another shape");
        if (width > 53) throw new TooLarge("a difference is larger than a double holds exactly");
        this.#miniblock(into, { places, from: done, until, value, least, width });
        value = into[places === null ? until - 1 : places[until - 1]!]!;
        done = until;
        this.#at += (perMiniblock * width) / 8;
      }
    }
  }

  #miniblock(into: Float64Array, run: Miniblock): void {
    const { places, from, until, least, width } = run;
    const bytes = this.#bytes;
    let { value } = run;
    let bit = this.#at * 8;
    const short = width <= 32 ? (width === 32 ? 0xffffffff : (1 << width) - 1) : 0;
    for (let i = from; i < until; i++) {
      const at = Math.floor(bit / 8);
      const shift = bit % 8;
      const low = (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> shift;
      let delta: number;
      if (shift + width <= 32) delta = (low & short) >>> 0;
      else {
        const rest = width - (32 - shift);
        const high = (bytes[at + 4]! | (bytes[at + 5]! << 8) | (bytes[at + 6]! << 16) | (bytes[at + 7]! << 24)) >>> 0;
        delta = low + (rest === 32 ? high : high & ((1 << rest) - 1)) * 2 ** (32 - shift);
      }
      value += least + delta;
      into[places === null ? i : places[i]!] = value;
      bit += width;
    }
    if (!(Math.abs(value) <= EXACT)) throw new TooLarge("a value is larger than a double holds exactly");
  }
}

interface Miniblock {
  readonly places: Uint32Array | null;
  readonly from: number;
  readonly until: number;
  readonly value: number;
  readonly least: number;
  readonly width: number;
}

/** Rows with a value, from a page's definition levels of one bit (runs, and groups of eight). */
export function definedRows(bytes: Uint8Array, rows: number, defined: number): Uint32Array {
  const places = new Uint32Array(defined);
  let row = 0;
  let found = 0;
  let at = 0;
  while (row < rows && at < bytes.length) {
    let header = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = bytes[at++] ?? 0;
      header += (byte & 0x7f) * scale;
      if (byte < 0x80) break;
    }
    if (header % 2 === 0) {
      const until = Math.min(rows, row + header / 2);
      const set = (bytes[at++] ?? 0) === 1;
      for (; row < until; row++) if (set) places[found++] = row;
      continue;
    }
    for (let group = (header - 1) / 2; group > 0 && row < rows; group--) {
      const bits = bytes[at++] ?? 0;
      for (let bit = 0; bit < 8 && row < rows; bit++, row++) if ((bits >> bit) & 1) places[found++] = row;
    }
  }
  if (row !== rows || found !== defined) throw new UnsupportedEncoding("levels that do not fit their page");
  return places;
}
