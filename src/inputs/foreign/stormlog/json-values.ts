import { invalidInput, messageOf } from "../../../core/errors.ts";
import { isObject } from "../../../core/json.ts";
import { asUtf8 } from "../csv/scan.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const COMMA = 0x2c;
/** Largest single value: a little under the longest string of the JavaScript engine. */
const MAX_VALUE_BYTES = 500e6;
/** Maximum nesting of one value. Writing a value as text again recurses, and needs stack for each level. */
const MAX_NESTING = 500;

const isSpace = (byte: number) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** One value of a JSON text, unparsed. */
export interface JsonText {
  readonly text: string;
  /** Index among the elements of the array, or among the values of a file with many. */
  readonly index: number;
  /** True when the file is one array and this is an element of it. */
  readonly element: boolean;
}

/** Splits arriving JSON bytes into the elements of an array, or the values (JSON Lines). Keeps only the current. */
class ValueSplitter {
  #depth = 0;
  #inString = false;
  #escaped = false;
  #root: "none" | "array" | "values" | "done" = "none";
  /** Start of the current value in the chunk; -1 when none is open. */
  #start = -1;
  #parts: Buffer[] = [];
  #kept = 0;
  #index = 0;
  #afterComma = false;
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  *feed(chunk: Buffer): Generator<JsonText, void, undefined> {
    if (this.#start >= 0) this.#start = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (byte === BACKSLASH) this.#escaped = true;
        else if (byte === QUOTE) this.#inString = false;
        continue;
      }
      if (isSpace(byte)) {
        // A bare word or number ends at white space. A container ends at its bracket.
        if (this.#depth === 0 && this.#start >= 0 && this.#root === "values") yield this.#close(chunk, at);
        continue;
      }
      if (this.#root === "none") {
        this.#root = byte === OPEN_ARRAY ? "array" : "values";
        if (this.#root === "array") continue;
      }
      if (this.#root === "done") throw this.#malformed("text after the end of the array");
      const top = this.#depth === 0;
      if (this.#root === "array" && top && (byte === COMMA || byte === CLOSE_ARRAY)) {
        if (this.#start >= 0) yield this.#close(chunk, at);
        else if (byte === COMMA || this.#afterComma) throw this.#malformed("an element is missing before a separator");
        if (byte === CLOSE_ARRAY) this.#root = "done";
        else this.#afterComma = true;
        continue;
      }
      if (this.#start < 0) {
        this.#start = at;
        this.#afterComma = false;
      }
      if (byte === QUOTE) this.#inString = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        this.#depth++;
        if (this.#depth > MAX_NESTING) throw this.#malformed(`more than ${MAX_NESTING} levels of brackets`);
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        this.#depth--;
        if (this.#depth < 0) throw this.#malformed("an unmatched closing bracket");
        if (this.#depth === 0 && this.#root === "values") yield this.#close(chunk, at + 1);
      }
    }
    if (this.#start >= 0) this.#keep(chunk.subarray(this.#start));
  }

  #keep(part: Buffer): void {
    this.#kept += part.length;
    if (this.#kept > MAX_VALUE_BYTES) {
      throw invalidInput(
        "INPUT_TOO_LARGE",
        `value ${this.#index} is larger than ${MAX_VALUE_BYTES / 1e6} MB`,
        this.#name,
        "Write the events as a plain array or one per line.",
      );
    }
    this.#parts.push(part);
  }

  #close(chunk: Buffer, end: number): JsonText {
    const last = chunk.subarray(this.#start, end);
    const bytes = this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last]);
    this.#parts = [];
    this.#kept = 0;
    this.#start = -1;
    return { text: bytes.toString("utf8"), index: this.#index++, element: this.#root === "array" };
  }

  *finish(): Generator<JsonText, void, undefined> {
    if (this.#root === "none") throw invalidInput("INPUT_EMPTY", "the file contains only white space", this.#name);
    if (this.#inString || this.#depth > 0 || this.#root === "array") {
      throw invalidInput(
        "INPUT_TRUNCATED",
        `the JSON text ends within value ${this.#index}`,
        this.#name,
        "The file is truncated: copy it again, or let the program that writes it finish.",
      );
    }
    if (this.#start >= 0) {
      this.#start = 0;
      yield this.#close(Buffer.alloc(0), 0);
    }
  }

  #malformed(what: string): Error {
    return invalidInput("INPUT_MALFORMED", `not valid JSON at value ${this.#index}: ${what}`, this.#name);
  }
}

/** @throws GateError INPUT_EMPTY, INPUT_TRUNCATED, INPUT_MALFORMED, INPUT_TOO_LARGE */
export function* jsonValues(chunks: Iterable<Uint8Array>, name: string): Generator<JsonText, void, undefined> {
  const splitter = new ValueSplitter(name);
  for (const chunk of asUtf8(chunks)) yield* splitter.feed(chunk);
  yield* splitter.finish();
}

/** A parsed JSON object with facts that `JSON.parse` loses: which numbers were fractions, and large integers. */
export interface SourceRecord {
  /** Integers beyond 2^53 are bigint, the literals NaN and Infinity are numbers. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Keys whose number was written with a decimal point or an exponent, integral or not. */
  readonly fractions: ReadonlySet<string>;
}

export const NO_FRACTIONS: ReadonlySet<string> = new Set();
const NOT_FINITE_LITERAL = /"(?:[^"\\]|\\[\s\S])*"|-?Infinity|NaN/g;

/** Parses JSON, with Python's NaN and Infinity literals as null. @throws GateError INPUT_MALFORMED */
export function parseJson(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const plain = text.replace(NOT_FINITE_LITERAL, (token) => (token.startsWith('"') ? token : "null"));
    if (plain !== text) {
      try {
        return JSON.parse(plain);
      } catch {
        // The first error refers to the unmodified text.
      }
    }
    throw invalidInput("INPUT_MALFORMED", `not valid JSON: ${messageOf(error)}`, where);
  }
}

/** The direct members of the object in `text`: keys and values as written. */
function* members(text: string): Generator<readonly [key: string, value: string], void, undefined> {
  let depth = 0;
  let key = "";
  let from = -1;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === '"') {
      const start = at + 1;
      for (at++; at < text.length && text[at] !== '"'; at++) if (text[at] === "\\") at++;
      if (depth === 1 && from < 0) key = text.slice(start, at);
    } else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
    if (from >= 0 && (depth === 0 || (char === "," && depth === 1))) {
      yield [key, text.slice(from, at).trim()];
      from = -1;
    }
    if (char === ":" && depth === 1 && from < 0) from = at + 1;
  }
}

/** The text of a direct member of the object in `text`, the last one of its name; null where no key is written so. */
export const memberText = (text: string, name: string): string | null =>
  [...members(text)].findLast(([key]) => key === name)?.[1] ?? null;

/**
 * Parses a JSON object, keeping integers beyond 2^53 and `2048.0` apart from `2048`. Null for other values.
 * @throws GateError INPUT_MALFORMED
 */
export function parseRecord(text: string, where: string): SourceRecord | null {
  const parsed = parseJson(text, where);
  if (!isObject(parsed)) return null;
  const stamp = /"timestamp_ns"\s*:\s*(\d{16,})(?![\d.eE])/.exec(text);
  const long = text.match(/\d{16,}/g)?.length ?? 0;
  const plain = !/\d[.eE]/.test(text) && !/NaN|Infinity/.test(text);
  if (plain && long === 0) return { values: parsed, fractions: NO_FRACTIONS };
  if (plain && long === 1 && stamp && parsed.timestamp_ns === Number(stamp[1])) {
    parsed.timestamp_ns = BigInt(stamp[1]!);
    return { values: parsed, fractions: NO_FRACTIONS };
  }
  const fractions = new Set<string>();
  for (const [written, literal] of members(text)) {
    if (!/^(?:-?[\dI]|NaN)/.test(literal)) continue;
    const key = JSON.parse(`"${written}"`) as string;
    if (/^-?\d+$/.test(literal)) {
      if (!Number.isSafeInteger(Number(literal))) parsed[key] = BigInt(literal);
    } else {
      fractions.add(key);
      parsed[key] = Number(literal);
    }
  }
  return { values: parsed, fractions };
}
