const ESCAPES: Readonly<Record<string, string>> = {
  n: "\n",
  r: "\r",
  t: "\t",
  b: "\b",
  f: "\f",
  v: "\v",
  a: "\u0007",
  "0": "\0",
};
const HEX_ESCAPES: Readonly<Record<string, number>> = { x: 2, u: 4, U: 8 };
const NAMES: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ["None", null],
  ["True", true],
  ["False", false],
  ["nan", null],
  ["inf", null],
]);
const NUMBER = /[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y;
const NAME = /[A-Za-z_]+/y;
const SPACE = /\s*/y;

class NotALiteral extends Error {}

/** Reads the text that `repr` of Python gives a value; evaluates nothing. */
class LiteralReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  whole(): unknown {
    const value = this.#value(0);
    this.#match(SPACE);
    if (this.#at < this.#text.length) throw new NotALiteral();
    return value;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? "";
    this.#at += found.length;
    return found;
  }

  #take(char: string): boolean {
    this.#match(SPACE);
    if (this.#text[this.#at] !== char) return false;
    this.#at++;
    return true;
  }

  #value(depth: number): unknown {
    // Deeper nesting is not telemetry.
    if (depth > 32) throw new NotALiteral();
    this.#match(SPACE);
    const char = this.#text[this.#at];
    if (char === "'" || char === '"') return this.#string();
    if (char === "{") return Object.fromEntries(this.#items("}", () => this.#member(depth + 1)));
    if (char === "[") return this.#items("]", () => this.#value(depth + 1));
    if (char === "(") return this.#items(")", () => this.#value(depth + 1));
    const number = this.#match(NUMBER);
    if (number !== "") {
      const value = Number(number);
      return /^[+-]?\d+$/.test(number) && !Number.isSafeInteger(value) ? BigInt(number) : value;
    }
    // `repr` writes a negative infinity with its sign.
    if (char === "-") this.#at++;
    const name = this.#match(NAME);
    if (!NAMES.has(name)) throw new NotALiteral();
    return NAMES.get(name);
  }

  /** Items up to the closing bracket, with a comma between them and perhaps after the last. */
  #items<T>(closing: string, item: () => T): T[] {
    const items: T[] = [];
    this.#at++;
    while (!this.#take(closing)) {
      if (items.length > 0 && !this.#take(",")) throw new NotALiteral();
      if (this.#take(closing)) break;
      items.push(item());
    }
    return items;
  }

  #member(depth: number): [string, unknown] {
    const key = this.#value(depth);
    if ((typeof key !== "string" && typeof key !== "number") || !this.#take(":")) throw new NotALiteral();
    return [String(key), this.#value(depth)];
  }

  #string(): string {
    const text = this.#text;
    const quote = text[this.#at];
    let out = "";
    for (this.#at++; text[this.#at] !== quote; this.#at++) {
      const char = text[this.#at];
      if (char === undefined) throw new NotALiteral();
      out += char === "\\" ? this.#escape() : char;
    }
    this.#at++;
    return out;
  }

  /** The character of an escape sequence; leaves the position at its last character. */
  #escape(): string {
    const kind = this.#text[++this.#at] ?? "";
    const digits = HEX_ESCAPES[kind];
    if (digits === undefined) return ESCAPES[kind] ?? kind;
    const code = Number.parseInt(this.#text.slice(this.#at + 1, this.#at + 1 + digits), 16);
    if (Number.isNaN(code) || code > 0x10ffff) throw new NotALiteral();
    this.#at += digits;
    return String.fromCodePoint(code);
  }
}

/**
 * The value of a Python literal as `repr` writes it: dictionaries, lists, tuples (as lists), strings, numbers, `True`,
 * `False` and `None`; `nan` and infinities are null. Undefined for any other text.
 */
export function pythonLiteral(text: string): unknown {
  try {
    return new LiteralReader(text).whole();
  } catch (error) {
    if (error instanceof NotALiteral) return undefined;
    throw error;
  }
}
