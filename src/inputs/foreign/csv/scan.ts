import { invalidInput } from "../../../core/errors.ts";

const QUOTE = 0x22;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
/** A longer row is not a row of samples, and is not buffered further. */
const MAX_ROW_BYTES = 8 << 20;

/** One row, valid only within the callback: cells are byte ranges of a buffer that is reused. */
export interface CsvRow {
  /** 1-based number of the row's first line. */
  readonly line: number;
  /** Number of cells. */
  readonly count: number;
  readonly bytes: Buffer;
  /** Cell `i` is `bytes[starts[i], ends[i])`, without quotes and surrounding spaces. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** False for a last line without a line end, which may be truncated. */
  readonly terminated: boolean;
  text(cell: number): string;
}

/** Converts UTF-16 (with or without byte-order mark) and drops a UTF-8 mark. */
export function* asUtf8(chunks: Iterable<Uint8Array>): Generator<Buffer, void, undefined> {
  let decoder: InstanceType<typeof TextDecoder> | null | undefined;
  for (const chunk of chunks) {
    let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    if (decoder === undefined) {
      const encoding = utf16Encoding(bytes);
      decoder = encoding === null ? null : new TextDecoder(encoding);
      if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) bytes = bytes.subarray(3);
    }
    yield decoder ? Buffer.from(decoder.decode(bytes, { stream: true })) : bytes;
  }
}

/** The UTF-16 byte order of a text, from its mark or from zero bytes at alternate positions; null for other texts. */
export function utf16Encoding(head: Uint8Array): "utf-16le" | "utf-16be" | null {
  if (head[0] === 0xff && head[1] === 0xfe) return "utf-16le";
  if (head[0] === 0xfe && head[1] === 0xff) return "utf-16be";
  if (head.length < 4) return null;
  if (head[0] !== 0 && head[1] === 0 && head[2] !== 0 && head[3] === 0) return "utf-16le";
  if (head[0] === 0 && head[1] !== 0 && head[2] === 0 && head[3] !== 0) return "utf-16be";
  return null;
}

/** The separator of a header line: the one of comma, semicolon and tab that occurs most often. */
export function detectDelimiter(header: string): string {
  const count = (delimiter: string) => header.split(delimiter).length;
  return [",", ";", "\t"].reduce((best, next) => (count(next) > count(best) ? next : best));
}

class RowScanner implements CsvRow {
  bytes: Buffer = Buffer.alloc(0);
  starts = new Int32Array(64);
  ends = new Int32Array(64);
  #escaped = new Uint8Array(64);
  count = 0;
  line = 0;
  terminated = true;
  #nextLine = 1;
  readonly #delimiter: number;

  constructor(delimiter: number) {
    this.#delimiter = delimiter;
  }

  text(cell: number): string {
    const text = this.bytes.toString("utf8", this.starts[cell], this.ends[cell]);
    return this.#escaped[cell] === 1 ? text.replaceAll('""', '"') : text;
  }

  /** Scans the row at `from`. Returns its end, or -1 when the buffer ends within it and `last` is false. */
  scan(from: number, last: boolean): number {
    const bytes = this.bytes;
    const delimiter = this.#delimiter;
    const size = bytes.length;
    let at = from;
    let lines = 1;
    this.count = 0;
    for (;;) {
      let start = at;
      while (start < size && bytes[start] === SPACE) start++;
      if (bytes[start] === QUOTE && start < size) {
        let end = start + 1;
        let escaped = 0;
        for (;;) {
          end = bytes.indexOf(QUOTE, end);
          if (end < 0 || (end + 1 >= size && !last)) {
            if (!last) return -1;
            end = size;
            break;
          }
          if (bytes[end + 1] !== QUOTE) break;
          escaped = 1;
          end += 2;
        }
        // Within the cell alone: a search from each of many cells to a distant line end takes quadratic time.
        for (let i = start; i < end; i++) if (bytes[i] === LINE_FEED) lines++;
        this.#cell(start + 1, end, escaped);
        at = end + 1;
        while (at < size && bytes[at] !== delimiter && bytes[at] !== LINE_FEED) at++;
      } else {
        at = start;
        let byte = 0;
        while (at < size) {
          byte = bytes[at]!;
          if (byte === delimiter || byte === LINE_FEED) break;
          at++;
        }
        let end = at;
        while (end > start && (bytes[end - 1] === SPACE || bytes[end - 1] === CARRIAGE_RETURN)) end--;
        this.#cell(start, end, 0);
      }
      if (at >= size) {
        if (!last) return -1;
        break;
      }
      if (bytes[at++] === LINE_FEED) break;
    }
    this.terminated = at <= size && bytes[at - 1] === LINE_FEED;
    this.line = this.#nextLine;
    this.#nextLine += lines;
    return Math.min(at, size);
  }

  #cell(start: number, end: number, escaped: number): void {
    if (this.count === this.starts.length) {
      const grow = <T extends Int32Array | Uint8Array>(array: T, larger: T): T => {
        larger.set(array);
        return larger;
      };
      this.starts = grow(this.starts, new Int32Array(this.count * 2));
      this.ends = grow(this.ends, new Int32Array(this.count * 2));
      this.#escaped = grow(this.#escaped, new Uint8Array(this.count * 2));
    }
    this.starts[this.count] = start;
    this.ends[this.count] = end;
    this.#escaped[this.count] = escaped;
    this.count++;
  }
}

/**
 * Calls `onRow` for every row of a CSV text, scanned in place. Cells are decoded on request. Blank lines are skipped.
 * @throws GateError CSV_ROW_TOO_LONG
 */
export function scanCsv(
  chunks: Iterable<Uint8Array>,
  delimiter: string,
  name: string,
  onRow: (row: CsvRow) => void,
): void {
  const scanner = new RowScanner(delimiter.charCodeAt(0));
  let rest: Buffer = Buffer.alloc(0);
  const rows = (last: boolean): void => {
    scanner.bytes = rest;
    let at = 0;
    while (at < rest.length) {
      const next = scanner.scan(at, last);
      if (next < 0) break;
      at = next;
      if (scanner.count > 1 || scanner.ends[0]! > scanner.starts[0]!) onRow(scanner);
    }
    rest = rest.subarray(at);
  };
  for (const chunk of asUtf8(chunks)) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    rows(false);
    if (rest.length > MAX_ROW_BYTES) {
      throw invalidInput(
        "CSV_ROW_TOO_LONG",
        `a row is longer than ${MAX_ROW_BYTES} bytes`,
        name,
        "Is this a CSV file?",
      );
    }
  }
  rows(true);
}
