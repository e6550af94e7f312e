import { describe, expect, it } from "vitest";
import { pickled, tuple } from "../testing/pickle-writer.ts";
import { Budget } from "./budget.ts";
import { runPickle } from "./machine.ts";
import { Op } from "./opcodes.ts";
import { idOf, Kind, kindOf, type PickleBuilder, tagOf, type Values } from "./values.ts";
import { type ByteSource, sourceOf } from "./window.ts";

/** Builds plain JavaScript values, to inspect the machine's output. */
class Plainly implements PickleBuilder {
  readonly texts: string[] = [];
  readonly dicts: Map<unknown, unknown>[] = [];
  readonly lists: unknown[][] = [];
  readonly contents: unknown[][] = [];
  readonly #tuples: unknown[][] = [];

  value(tag: number, number: number): unknown {
    const id = idOf(tag);
    switch (kindOf(tag)) {
      case Kind.none:
        return null;
      case Kind.bool:
        return id !== 0;
      case Kind.string:
        return this.texts[id];
      case Kind.dict:
        return this.dicts[id];
      case Kind.list:
        return this.lists[id];
      case Kind.pool:
        return this.#tuples[id];
      case Kind.upper:
        return BigInt(number) + 2n ** 64n;
      default:
        return number;
    }
  }

  at({ tags, numbers }: Values, i: number): unknown {
    return this.value(tags[i]!, numbers[i]!);
  }

  string(bytes: Uint8Array, from: number, length: number): number {
    return this.texts.push(new TextDecoder().decode(bytes.subarray(from, from + length))) - 1;
  }

  dict(): number {
    return this.dicts.push(new Map()) - 1;
  }

  list(): number {
    return this.lists.push([]) - 1;
  }

  setItems(dict: number, values: Values, from: number, to: number): void {
    for (let i = from; i < to; i += 2) this.dicts[dict]?.set(this.at(values, i), this.at(values, i + 1));
  }

  append(list: number, values: Values, from: number, to: number): number {
    for (let i = from; i < to; i++) this.lists[list]?.push(this.at(values, i));
    return this.contents.push([...(this.lists[list] ?? [])]) - 1;
  }

  repeat(list: number, contents: number): boolean {
    if (this.lists[list]?.length !== 0) return false;
    this.lists[list].push(...(this.contents[contents] ?? []));
    return true;
  }

  tuple(values: Values, from: number, to: number): number {
    const items = Array.from({ length: to - from }, (_, i) => this.at(values, from + i));
    return tagOf(Kind.pool, this.#tuples.push(items) - 1);
  }
}

function run(bytes: Uint8Array | readonly number[], source?: ByteSource): unknown {
  const from = source ?? sourceOf(Uint8Array.from(bytes));
  const builder = new Plainly();
  const { tag, number } = runPickle(from, builder, new Budget(from.size, "file"), "file");
  return builder.value(tag, number);
}

const code = (name: string) => expect.objectContaining({ code: name, kind: "invalid-input", where: "file" });
const ascii = (text: string): number[] => [...text].map((letter) => letter.charCodeAt(0));
const PROTO = [Op.PROTO, 4];

describe("runPickle", () => {
  it("reads every kind of plain data", () => {
    const value = {
      none: null,
      yes: true,
      no: false,
      numbers: [0, 255, 256, 65535, 65536, -1, -(2 ** 31), 2 ** 31, 2 ** 40 + 3, -(2 ** 40), 1.5],
      text: "Größe 🧠",
      long: "x".repeat(300),
      nested: [[], {}, [{ a: [1] }]],
    };
    const read = run(pickled(value)) as Map<string, unknown>;
    const plain = (item: unknown): unknown =>
      item instanceof Map
        ? Object.fromEntries([...item].map(([key, own]) => [key, plain(own)]))
        : Array.isArray(item)
          ? item.map(plain)
          : item;
    expect(plain(read)).toEqual(value);
  });

  it("reads tuples of any length, batches of a thousand, and shared values", () => {
    const shared = tuple(1, 2);
    const many = Array.from({ length: 2501 }, (_, i) => i);
    const read = run(
      pickled([tuple(), tuple(1), shared, tuple(1, 2, 3), tuple(1, 2, 3, 4), shared, many]),
    ) as unknown[];
    expect(read).toEqual([[], [1], [1, 2], [1, 2, 3], [1, 2, 3, 4], [1, 2], many]);
  });

  it("reads explicit memo entries of protocol 2", () => {
    const bytes = [Op.PROTO, 2, Op.EMPTY_LIST, Op.BINPUT, 0, Op.MARK, Op.BINUNICODE, 2, 0, 0, 0, ...ascii("ab")];
    const rest = [Op.LONG_BINPUT, 1, 0, 0, 0, Op.BINGET, 1, Op.LONG_BINGET, 1, 0, 0, 0, Op.APPENDS, Op.STOP];
    expect(run([...bytes, ...rest])).toEqual(["ab", "ab", "ab"]);
  });

  it("reads repeated lists of references by what the memo has at the time", () => {
    const text = (letter: string): number[] => [Op.SHORT_BINUNICODE, 1, ...ascii(letter)];
    const list = [Op.EMPTY_LIST, Op.MARK, Op.BINGET, 0, Op.BINGET, 1, Op.BINGET, 0, Op.APPENDS];
    const memo = [...text("a"), Op.BINPUT, 0, ...text("b"), Op.BINPUT, 1];
    const replaced = [...text("c"), Op.BINPUT, 1];
    const values = [...memo, ...list, ...list, ...replaced, ...list];
    const aba = ["a", "b", "a"];
    expect(run([...PROTO, Op.EMPTY_LIST, Op.MARK, ...values, Op.APPENDS, Op.STOP])).toEqual([
      "a",
      "b",
      aba,
      aba,
      "c",
      ["a", "c", "a"],
    ]);
  });

  it("memoizes numbers and booleans", () => {
    const bytes = [Op.EMPTY_LIST, Op.MARK, Op.NEWTRUE, Op.MEMOIZE, Op.BININT1, 7, Op.MEMOIZE];
    expect(run([...PROTO, ...bytes, Op.BINGET, 0, Op.BINGET, 1, Op.APPENDS, Op.STOP])).toEqual([true, 7, true, 7]);
  });

  it("reads integers of every length, and those of nine bytes exactly where a double can represent them", () => {
    const long = (value: bigint) => run(pickled([value])) as unknown[];
    for (const value of [0n, 127n, 128n, -128n, -129n, 2n ** 47n + 512n, -(2n ** 47n), 2n ** 53n, -(2n ** 62n)]) {
      expect(BigInt(long(value)[0] as number), String(value)).toBe(value);
    }
    expect(pickled(2n ** 63n)[3]).toBe(9);
    for (const address of [2n ** 63n, 0xffff_8000_0000_0200n, 2n ** 64n - 512n]) {
      expect(long(address), String(address)).toEqual([address]);
    }
    expect(long(2n ** 64n)[0]).toBe(2 ** 64);
    expect(run([...PROTO, Op.LONG1, 0, Op.STOP])).toBe(0);
    expect(run([...PROTO, Op.LONG4, 3, 0, 0, 0, 1, 2, 3, Op.STOP])).toBe(0x030201);
  });

  it("reads strings longer than the window, and windows that end within any opcode", () => {
    const value = Array.from({ length: 300 }, (_, i) => ["text".repeat(i % 90), i * 1e6, { key: i, other: [i] }]);
    const bytes = pickled([...value, "x".repeat(700_000)]);
    const whole = run(bytes);
    for (const step of [1, 7, 100_000]) {
      let at = 0;
      const read = (target: Uint8Array): number => {
        const part = bytes.subarray(at, at + Math.min(step, target.length));
        target.set(part);
        at += part.length;
        return part.length;
      };
      expect(run([], { size: bytes.length, read })).toEqual(whole);
    }
  });

  it("stops at STOP and ignores the bytes after it", () => {
    expect(run([...PROTO, Op.NONE, Op.STOP, ...ascii("csys\nexit\n")])).toBeNull();
  });
});

describe("runPickle refuses", () => {
  it.each([
    ["GLOBAL", ascii("cos\nsystem\n")],
    ["STACK_GLOBAL", [0x8c, 2, ...ascii("os"), 0x8c, 6, ...ascii("system"), 0x93]],
    ["REDUCE", [Op.NONE, Op.EMPTY_TUPLE, 0x52]],
    ["BUILD", [Op.NONE, Op.NONE, 0x62]],
    ["INST", [Op.MARK, ...ascii("ios\nsystem\n")]],
    ["OBJ", [Op.MARK, Op.NONE, 0x6f]],
    ["NEWOBJ", [Op.NONE, Op.EMPTY_TUPLE, 0x81]],
    ["NEWOBJ_EX", [Op.NONE, Op.EMPTY_TUPLE, Op.EMPTY_DICT, 0x92]],
    ["EXT1", [0x82, 1]],
    ["EXT2", [0x83, 1, 0]],
    ["EXT4", [0x84, 1, 0, 0, 0]],
    ["PERSID", ascii("Pid\n")],
    ["BINPERSID", [Op.NONE, 0x51]],
    ["NEXT_BUFFER", [0x97]],
    ["READONLY_BUFFER", [0x98]],
  ])("runPickle refuses opcode %s, which could construct an object", (name, bytes) => {
    const refused = expect.objectContaining({
      code: "SNAPSHOT_FORBIDDEN_OPCODE",
      message: expect.stringContaining(`constructs an object (opcode ${name})`),
    });
    expect(() => run([...PROTO, ...bytes, Op.STOP])).toThrow(refused);
  });

  it.each([
    ["DUP", [Op.NONE, 0x32]],
    ["BINBYTES", [0x42, 1, 0, 0, 0, 65]],
    ["INT", ascii("I1\n")],
    ["EMPTY_SET", [0x8f]],
  ])("runPickle refuses opcode %s, which snapshots do not need", (name, bytes) => {
    const refused = expect.objectContaining({
      code: "SNAPSHOT_FORBIDDEN_OPCODE",
      message: expect.stringContaining(`opcode ${name}, which memory snapshots do not need`),
    });
    expect(() => run([...PROTO, ...bytes, Op.STOP])).toThrow(refused);
  });

  it.each([0, 1, 6, 255])("runPickle refuses protocol %i", (protocol) => {
    expect(() => run([Op.PROTO, protocol, Op.NONE, Op.STOP])).toThrow(code("SNAPSHOT_PROTOCOL"));
  });

  it.each([
    ["a file that is not a pickle", ascii("PK\u0003\u0004")],
    ["an empty file", []],
    ["a byte that is not an opcode", [...PROTO, 0xff]],
    ["a value that was never memoized", [...PROTO, Op.BINGET, 3, Op.STOP]],
    ["a memo entry far ahead of the others", [...PROTO, Op.NONE, Op.LONG_BINPUT, 0, 0, 0, 0x7f, Op.STOP]],
    ["remembering nothing", [...PROTO, Op.MEMOIZE]],
    ["memoizing below a mark", [...PROTO, Op.NONE, Op.MARK, Op.MEMOIZE]],
    ["the end of a list without a begin", [...PROTO, Op.APPENDS]],
    ["the end of a dict without a begin", [...PROTO, Op.SETITEMS]],
    ["the end of a tuple without a begin", [...PROTO, Op.TUPLE]],
    ["items of a number", [...PROTO, Op.NONE, Op.MARK, Op.NONE, Op.APPENDS]],
    ["an item without a list", [...PROTO, Op.NONE, Op.APPEND]],
    ["a key without a value", [...PROTO, Op.EMPTY_DICT, Op.MARK, Op.NONE, Op.SETITEMS]],
    ["items of a list below a mark", [...PROTO, Op.EMPTY_LIST, Op.MARK, Op.NONE, Op.APPEND]],
    ["a tuple that reaches below a mark", [...PROTO, Op.NONE, Op.MARK, Op.NONE, Op.TUPLE2]],
    ["an open mark at the end", [...PROTO, Op.MARK, Op.NONE, Op.STOP]],
    ["two values at the end", [...PROTO, Op.NONE, Op.NONE, Op.STOP]],
    ["no value at the end", [...PROTO, Op.STOP]],
    ["an integer of a megabyte", [...PROTO, Op.LONG4, 0, 0, 16, 0]],
  ])("runPickle refuses %s", (_name, bytes) => {
    expect(() => run(bytes)).toThrow(code("SNAPSHOT_MALFORMED"));
  });

  it.each([
    ["of four bytes", [Op.BINUNICODE, 0xff, 0xff, 0xff, 0x7f]],
    ["of eight bytes", [Op.BINUNICODE8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]],
  ])("runPickle refuses a string whose length %s exceeds the file", (_name, bytes) => {
    expect(() => run([...PROTO, ...bytes, 65])).toThrow(code("SNAPSHOT_TRUNCATED"));
  });

  it("runPickle refuses a string longer than any in a snapshot, in a file of that length", () => {
    const huge = { size: 2 ** 33, read: (target: Uint8Array) => target.fill(65).length };
    const head = Uint8Array.from([...PROTO, Op.BINUNICODE, 0, 0, 0, 0x7f]);
    let first = true;
    const read = (target: Uint8Array): number => {
      const count = huge.read(target);
      if (first) target.set(head);
      first = false;
      return count;
    };
    expect(() => run([], { size: huge.size, read })).toThrow(code("SNAPSHOT_MALFORMED"));
  });

  it("runPickle refuses a file truncated anywhere", () => {
    const bytes = pickled({ a: [1, 2 ** 20, 2 ** 40, 1.5, "text", tuple(1, 2), "x".repeat(300)], b: { c: null } });
    for (let length = 2; length < bytes.length; length++) {
      expect(() => run(bytes.subarray(0, length)), `after ${length} bytes`).toThrow(code("SNAPSHOT_TRUNCATED"));
    }
  });
});
