import { type GateError, invalidInput } from "../../core/errors.ts";
import type { Budget } from "./budget.ts";
import type { ByteSource } from "./byte-source.ts";
import { Memo } from "./memo.ts";
import { Op, refusedOpcode } from "./opcodes.ts";
import { Kind, type PickleBuilder } from "./values.ts";
import { Window } from "./window.ts";

const FIRST_STACK = 1 << 10;
const TWO_32 = 2 ** 32;

/** What a pickle turned out to be: the value that STOP left. */
export interface PickleResult {
  readonly kind: number;
  readonly value: number;
}

/** A little-endian integer of two's complement; its kind is `upper` when it is 2^63 or more and fits 64 bits. */
function readLong(bytes: Uint8Array, at: number, length: number): PickleResult {
  if (length === 9 && bytes[at + 8] === 0 && (bytes[at + 7] as number) >= 0x80) {
    return { kind: Kind.upper, value: readLong(bytes, at, 8).value };
  }
  let value = 0;
  let scale = 1;
  for (let i = 0; i < length - 1; i++) {
    value += (bytes[at + i] as number) * scale;
    scale *= 256;
  }
  const highest = length === 0 ? 0 : (bytes[at + length - 1] as number);
  return { kind: Kind.int, value: value + (highest >= 0x80 ? highest - 256 : highest) * scale };
}

/** The unsigned little-endian 32-bit number at `at`. */
function word(bytes: Uint8Array, at: number): number {
  return (
    (bytes[at] as number) +
    ((bytes[at + 1] as number) << 8) +
    ((bytes[at + 2] as number) << 16) +
    (bytes[at + 3] as number) * 0x1000000
  );
}

/** What the machine holds besides its place in the file. */
class Registers {
  kinds = new Uint8Array(FIRST_STACK);
  values = new Float64Array(FIRST_STACK);
  /** Where the values above each open mark begin. */
  #marks = new Uint32Array(FIRST_STACK >> 4);
  #marked = 0;
  readonly #budget: Budget;

  constructor(budget: Budget) {
    this.#budget = budget;
  }

  get open(): number {
    return this.#marked;
  }

  grow(): void {
    const size = 2 * this.kinds.length;
    this.#budget.charge(9 * size);
    const kinds = new Uint8Array(size);
    const values = new Float64Array(size);
    kinds.set(this.kinds);
    values.set(this.values);
    this.kinds = kinds;
    this.values = values;
  }

  mark(floor: number): void {
    if (this.#marked === this.#marks.length) {
      this.#budget.charge(8 * this.#marked);
      const marks = new Uint32Array(2 * this.#marked);
      marks.set(this.#marks);
      this.#marks = marks;
    }
    this.#marks[this.#marked++] = floor;
  }

  /** The floor below the newest mark. */
  unmark(): number {
    return this.#marks[--this.#marked] as number;
  }
}

/**
 * Read one pickle of plain data, of protocol 2 to 5, into `builder`. Numbers, texts, lists, dicts and tuples are plain data;
 * whatever could load code or construct an object is refused, so a file from anybody can be read. Nothing recurses, every
 * opcode is done in time proportional to its bytes and the values it takes, and what is kept is charged to `budget`.
 * @throws GateError (invalid input) SNAPSHOT_FORBIDDEN_OPCODE, SNAPSHOT_PROTOCOL, SNAPSHOT_TRUNCATED, SNAPSHOT_MALFORMED,
 *   SNAPSHOT_TOO_COSTLY
 */
export function runPickle(source: ByteSource, builder: PickleBuilder, budget: Budget, where: string): PickleResult {
  const window = new Window(source, budget, where);
  const memo = new Memo(budget);
  const registers = new Registers(budget);
  let memoized = 0;
  // The loop works on local variables alone: no function inside it may close over them.
  let { kinds, values } = registers;
  let depth = 0;
  /** First value above the newest mark: what lies below is out of reach until the mark is taken. */
  let floor = 0;
  let position = window.refill(0);
  let { bytes, safe } = window;
  if (bytes[0] !== Op.PROTO) throw notPickle(where);

  for (;;) {
    if (position >= safe) {
      window.check(position);
      position = window.refill(position);
      bytes = window.bytes;
      safe = window.safe;
    }
    if (depth + 1 >= kinds.length) {
      registers.grow();
      kinds = registers.kinds;
      values = registers.values;
    }
    const op = bytes[position++] as number;
    switch (op) {
      case Op.BINGET:
      case Op.LONG_BINGET: {
        const index = op === Op.BINGET ? (bytes[position] as number) : word(bytes, position);
        position += op === Op.BINGET ? 1 : 4;
        const kind = memo.kind(index);
        if (kind === 0) throw malformed(window, position, `a reference to entry ${index}, which was never written,`);
        kinds[depth] = kind;
        values[depth++] = memo.value(index);
        break;
      }
      case Op.MEMOIZE:
      case Op.BINPUT:
      case Op.LONG_BINPUT: {
        let index = memoized;
        if (op === Op.MEMOIZE) memoized++;
        else {
          index = op === Op.BINPUT ? (bytes[position] as number) : word(bytes, position);
          position += op === Op.BINPUT ? 1 : 4;
          // Every pickler numbers its entries densely; a gap is a bomb.
          if (index > window.offset(position) / 2)
            throw malformed(window, position, `memo entry ${index} far ahead of others`);
        }
        if (depth === floor) throw malformed(window, position, "nothing on the stack to remember");
        memo.put(index, kinds[depth - 1] as number, values[depth - 1] as number);
        break;
      }
      case Op.BININT1:
        kinds[depth] = Kind.int;
        values[depth++] = bytes[position++] as number;
        break;
      case Op.BININT2:
        kinds[depth] = Kind.int;
        values[depth++] = (bytes[position] as number) + ((bytes[position + 1] as number) << 8);
        position += 2;
        break;
      case Op.BININT:
        kinds[depth] = Kind.int;
        values[depth++] = word(bytes, position) | 0;
        position += 4;
        break;
      case Op.LONG1: {
        const length = bytes[position++] as number;
        if (length === 6) {
          // What addresses take.
          const high = (bytes[position + 4] as number) + ((bytes[position + 5] as number) << 8);
          kinds[depth] = Kind.int;
          values[depth++] = word(bytes, position) + (high >= 0x8000 ? high - 0x10000 : high) * TWO_32;
        } else {
          const long = readLong(bytes, position, length);
          kinds[depth] = long.kind;
          values[depth++] = long.value;
        }
        position += length;
        break;
      }
      case Op.LONG4: {
        const length = word(bytes, position);
        position += 4;
        if (length > 255) throw malformed(window, position, `an integer of ${length} bytes`);
        position = window.need(position, length);
        bytes = window.bytes;
        safe = window.safe;
        const long = readLong(bytes, position, length);
        kinds[depth] = long.kind;
        values[depth++] = long.value;
        position += length;
        break;
      }
      case Op.BINFLOAT:
        kinds[depth] = Kind.float;
        values[depth++] = new DataView(bytes.buffer, bytes.byteOffset + position, 8).getFloat64(0);
        position += 8;
        break;
      case Op.NONE:
        kinds[depth] = Kind.none;
        values[depth++] = 0;
        break;
      case Op.NEWTRUE:
      case Op.NEWFALSE:
        kinds[depth] = Kind.bool;
        values[depth++] = op === Op.NEWTRUE ? 1 : 0;
        break;
      case Op.SHORT_BINUNICODE:
      case Op.BINUNICODE:
      case Op.BINUNICODE8: {
        const width = op === Op.SHORT_BINUNICODE ? 1 : op === Op.BINUNICODE ? 4 : 8;
        let length = width === 1 ? (bytes[position] as number) : word(bytes, position);
        if (width === 8) length += word(bytes, position + 4) * TWO_32;
        position = window.need(position + width, length);
        bytes = window.bytes;
        safe = window.safe;
        kinds[depth] = Kind.string;
        values[depth++] = builder.string(bytes, position, length);
        position += length;
        break;
      }
      case Op.EMPTY_DICT:
        kinds[depth] = Kind.dict;
        values[depth++] = builder.dict();
        break;
      case Op.EMPTY_LIST:
        kinds[depth] = Kind.list;
        values[depth++] = builder.list();
        break;
      case Op.MARK:
        registers.mark(floor);
        floor = depth;
        break;
      case Op.SETITEM:
      case Op.SETITEMS: {
        let from = depth - 2;
        if (op === Op.SETITEMS) {
          if (registers.open === 0) throw malformed(window, position, "the end of a dict that never began");
          from = floor;
          floor = registers.unmark();
        }
        if (from <= floor || kinds[from - 1] !== Kind.dict || (depth - from) % 2 !== 0) {
          throw malformed(window, position, "items without a dict");
        }
        builder.setItems(values[from - 1] as number, kinds, values, from, depth);
        depth = from;
        break;
      }
      case Op.APPEND:
      case Op.APPENDS: {
        let from = depth - 1;
        if (op === Op.APPENDS) {
          if (registers.open === 0) throw malformed(window, position, "the end of a list that never began");
          from = floor;
          floor = registers.unmark();
        }
        if (from <= floor || kinds[from - 1] !== Kind.list) throw malformed(window, position, "items without a list");
        builder.append(values[from - 1] as number, kinds, values, from, depth);
        depth = from;
        break;
      }
      case Op.EMPTY_TUPLE:
      case Op.TUPLE1:
      case Op.TUPLE2:
      case Op.TUPLE3:
      case Op.TUPLE: {
        let from = op === Op.EMPTY_TUPLE ? depth : depth - (op - Op.TUPLE1 + 1);
        if (op === Op.TUPLE) {
          if (registers.open === 0) throw malformed(window, position, "the end of a tuple that never began");
          from = floor;
          floor = registers.unmark();
        } else if (from < floor) throw malformed(window, position, "a tuple of more values than there are");
        builder.tuple(kinds, values, from, depth);
        depth = from + 1;
        break;
      }
      case Op.FRAME:
        // How the writer cut its output; nothing depends on it.
        position += 8;
        break;
      case Op.PROTO: {
        const protocol = bytes[position++] as number;
        window.check(position);
        if (protocol < 2 || protocol > 5) throw unknownProtocol(protocol, where);
        break;
      }
      case Op.STOP:
        if (depth !== 1 || registers.open !== 0) throw malformed(window, position, "an end with something left open");
        return { kind: kinds[0] as number, value: values[0] as number };
      default:
        throw refusal(window, op, position);
    }
  }
}

function malformed(window: Window, position: number, what: string): GateError {
  // What is read beyond the end is zeros, and only looks wrong.
  window.check(position);
  return invalidInput(
    "SNAPSHOT_MALFORMED",
    `${what} near byte ${window.offset(position)}`,
    window.where,
    "The file is damaged.",
  );
}

function notPickle(where: string): GateError {
  return invalidInput(
    "SNAPSHOT_MALFORMED",
    "not a pickle of protocol 2 or later",
    where,
    "Write the snapshot with torch.cuda.memory._dump_snapshot, or with pickle.dump and its default protocol.",
  );
}

function unknownProtocol(protocol: number, where: string): GateError {
  return invalidInput(
    "SNAPSHOT_PROTOCOL",
    `pickle protocol ${protocol} is not known; read are 2 to 5`,
    where,
    "Write it again with pickle.dump(snapshot, file, protocol=4).",
  );
}

function refusal(window: Window, op: number, position: number): GateError {
  window.check(position);
  const offset = window.offset(position - 1);
  const refused = refusedOpcode(op);
  if (refused === null) {
    return invalidInput(
      "SNAPSHOT_MALFORMED",
      `byte ${offset} (0x${op.toString(16).padStart(2, "0")}) is no opcode of pickle`,
      window.where,
      "The file is damaged.",
    );
  }
  return invalidInput(
    "SNAPSHOT_FORBIDDEN_OPCODE",
    refused.constructs
      ? `byte ${offset} asks to construct an object (opcode ${refused.name}), which plain data never does`
      : `byte ${offset} holds opcode ${refused.name}, which no memory snapshot needs`,
    window.where,
    "Only memory snapshots are read: pickle.dump(torch.cuda.memory._snapshot(), file).",
  );
}
