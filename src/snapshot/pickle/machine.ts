import { type GateError, invalidInput } from "../../core/errors.ts";
import type { Budget } from "./budget.ts";
import type { ByteSource } from "./byte-source.ts";
import { Memo } from "./memo.ts";
import { Op, refusedOpcode } from "./opcodes.ts";
import { Kind, type PickleBuilder } from "./values.ts";
import { Window } from "./window.ts";

const FIRST_STACK = 1 << 10;
const TWO_32 = 2 ** 32;

/** The value that STOP leaves. */
export interface PickleResult {
  readonly kind: number;
  readonly value: number;
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

const half = (bytes: Uint8Array, at: number): number => (bytes[at] as number) + ((bytes[at + 1] as number) << 8);

/** `upper` for integers from 2^63 on that fit into 64 bits, else `int`. */
function longKind(bytes: Uint8Array, at: number, length: number): number {
  return length === 9 && bytes[at + 8] === 0 && (bytes[at + 7] as number) >= 0x80 ? Kind.upper : Kind.int;
}

/** The little-endian integer in two's complement; of {@link Kind.upper} its lower 64 bits, as a signed number. */
function longValue(bytes: Uint8Array, at: number, length: number): number {
  if (length === 6) {
    // The size of an address.
    const high = half(bytes, at + 4);
    return word(bytes, at) + (high >= 0x8000 ? high - 0x10000 : high) * TWO_32;
  }
  const size = longKind(bytes, at, length) === Kind.upper ? 8 : length;
  let value = 0;
  let scale = 1;
  for (let i = 0; i < size - 1; i++) {
    value += (bytes[at + i] as number) * scale;
    scale *= 256;
  }
  const highest = size === 0 ? 0 : (bytes[at + size - 1] as number);
  return value + (highest >= 0x80 ? highest - 256 : highest) * scale;
}

/** The machine's stack, its marks, and the position in the file while a rare opcode runs. */
class Stack {
  kinds = new Uint8Array(FIRST_STACK);
  values = new Float64Array(FIRST_STACK);
  /** First value above the newest mark. Values below are out of reach until the mark is taken. */
  floor = 0;
  depth = 0;
  position = 0;
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

  push(kind: number, value: number): void {
    this.kinds[this.depth] = kind;
    this.values[this.depth++] = value;
  }

  mark(depth: number): void {
    if (this.#marked === this.#marks.length) {
      this.#budget.charge(8 * this.#marked);
      const marks = new Uint32Array(2 * this.#marked);
      marks.set(this.#marks);
      this.#marks = marks;
    }
    this.#marks[this.#marked++] = this.floor;
    this.floor = depth;
  }

  /** Takes the newest mark. Returns the first value above it. */
  unmark(): number {
    const from = this.floor;
    this.floor = this.#marks[--this.#marked] as number;
    return from;
  }
}

/**
 * Reads one pickle of plain data (protocol 2 to 5) into `builder`. Opcodes that could load code or construct an object
 * are rejected, so untrusted files can be read. Never recurses; every opcode takes time proportional to its bytes and
 * the values it takes, and everything kept is charged to `budget`.
 * @throws GateError (invalid input) SNAPSHOT_FORBIDDEN_OPCODE, SNAPSHOT_PROTOCOL, SNAPSHOT_TRUNCATED,
 *   SNAPSHOT_MALFORMED, SNAPSHOT_TOO_COSTLY
 */
export function runPickle(source: ByteSource, builder: PickleBuilder, budget: Budget, where: string): PickleResult {
  const window = new Window(source, budget, where);
  const position = window.refill(0);
  if (window.bytes[0] !== Op.PROTO) throw notPickle(where);
  return interpret(window, position, builder, budget);
}

/** The loop over the opcodes. It works on local variables, which no function inside may close over, for speed. */
function interpret(window: Window, start: number, builder: PickleBuilder, budget: Budget): PickleResult {
  const memo = new Memo(budget);
  const stack = new Stack(budget);
  let memoized = 0;
  let { kinds, values } = stack;
  let { bytes, safe } = window;
  let depth = 0;
  let position = start;
  for (;;) {
    if (position >= safe) {
      window.check(position);
      position = window.refill(position);
      bytes = window.bytes;
      safe = window.safe;
    }
    if (depth + 1 >= kinds.length) {
      stack.grow();
      kinds = stack.kinds;
      values = stack.values;
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
          checkMemoIndex(index, window, position);
        }
        if (depth === stack.floor) throw malformed(window, position, "an empty stack to memoize");
        memo.put(index, kinds[depth - 1] as number, values[depth - 1] as number);
        break;
      }
      case Op.BININT1:
      case Op.BININT2:
        kinds[depth] = Kind.int;
        values[depth++] = op === Op.BININT1 ? (bytes[position] as number) : half(bytes, position);
        position += op === Op.BININT1 ? 1 : 2;
        break;
      case Op.BININT:
        kinds[depth] = Kind.int;
        values[depth++] = word(bytes, position) | 0;
        position += 4;
        break;
      case Op.LONG1: {
        const length = bytes[position++] as number;
        kinds[depth] = longKind(bytes, position, length);
        values[depth++] = longValue(bytes, position, length);
        position += length;
        break;
      }
      case Op.SHORT_BINUNICODE:
      case Op.BINUNICODE: {
        const width = op === Op.SHORT_BINUNICODE ? 1 : 4;
        const length = width === 1 ? (bytes[position] as number) : word(bytes, position);
        position = window.need(position + width, length);
        bytes = window.bytes;
        safe = window.safe;
        kinds[depth] = Kind.string;
        values[depth++] = builder.string(bytes, position, length);
        position += length;
        break;
      }
      case Op.MARK:
        stack.mark(depth);
        break;
      case Op.STOP:
        if (depth !== 1 || stack.open !== 0) throw malformed(window, position, "an end with values left on the stack");
        return { kind: kinds[0] as number, value: values[0] as number };
      default:
        stack.depth = depth;
        stack.position = position;
        if (!runContainer(op, stack, builder, window) && !runScalar(op, stack, builder, window))
          throw refusal(window, op, position);
        ({ depth, position } = stack);
        ({ bytes, safe } = window);
    }
  }
}

/** Picklers number memo entries densely. An index far ahead of the others would make the memo allocate without data. */
function checkMemoIndex(index: number, window: Window, position: number): void {
  if (index > window.offset(position) / 2) throw malformed(window, position, `memo entry ${index} far ahead of others`);
}

/** The first value of a container: the one above the newest mark. */
function unmark(stack: Stack, window: Window, container: string): number {
  if (stack.open === 0) throw malformed(window, stack.position, `the end of a ${container} without a begin`);
  return stack.unmark();
}

/** Runs an opcode that creates or fills a container. @returns false for other opcodes */
function runContainer(op: number, stack: Stack, builder: PickleBuilder, window: Window): boolean {
  const { kinds, values, depth, position } = stack;
  switch (op) {
    case Op.EMPTY_DICT:
      stack.push(Kind.dict, builder.dict());
      return true;
    case Op.EMPTY_LIST:
      stack.push(Kind.list, builder.list());
      return true;
    case Op.SETITEM:
    case Op.SETITEMS: {
      const from = op === Op.SETITEMS ? unmark(stack, window, "dict") : depth - 2;
      if (from <= stack.floor || kinds[from - 1] !== Kind.dict || (depth - from) % 2 !== 0) {
        throw malformed(window, position, "items without a dict");
      }
      builder.setItems(values[from - 1] as number, kinds, values, from, depth);
      stack.depth = from;
      return true;
    }
    case Op.APPEND:
    case Op.APPENDS: {
      const from = op === Op.APPENDS ? unmark(stack, window, "list") : depth - 1;
      if (from <= stack.floor || kinds[from - 1] !== Kind.list)
        throw malformed(window, position, "items without a list");
      builder.append(values[from - 1] as number, kinds, values, from, depth);
      stack.depth = from;
      return true;
    }
    case Op.EMPTY_TUPLE:
    case Op.TUPLE1:
    case Op.TUPLE2:
    case Op.TUPLE3:
    case Op.TUPLE: {
      const size = op === Op.EMPTY_TUPLE ? 0 : op - Op.TUPLE1 + 1;
      const from = op === Op.TUPLE ? unmark(stack, window, "tuple") : depth - size;
      if (op !== Op.TUPLE && from < stack.floor)
        throw malformed(window, position, "a tuple of more values than the stack has");
      builder.tuple(kinds, values, from, depth);
      stack.depth = from + 1;
      return true;
    }
    default:
      return false;
  }
}

/** Runs one of the less frequent opcodes for scalars and framing. @returns false for other opcodes */
function runScalar(op: number, stack: Stack, builder: PickleBuilder, window: Window): boolean {
  const { bytes } = window;
  const { position } = stack;
  switch (op) {
    case Op.NONE:
      stack.push(Kind.none, 0);
      return true;
    case Op.NEWTRUE:
    case Op.NEWFALSE:
      stack.push(Kind.bool, op === Op.NEWTRUE ? 1 : 0);
      return true;
    case Op.BINFLOAT:
      stack.push(Kind.float, new DataView(bytes.buffer, bytes.byteOffset + position, 8).getFloat64(0));
      stack.position += 8;
      return true;
    case Op.LONG4: {
      const length = word(bytes, position);
      if (length > 255) throw malformed(window, position + 4, `an integer of ${length} bytes`);
      const at = window.need(position + 4, length);
      stack.push(longKind(window.bytes, at, length), longValue(window.bytes, at, length));
      stack.position = at + length;
      return true;
    }
    case Op.BINUNICODE8: {
      const length = word(bytes, position) + word(bytes, position + 4) * TWO_32;
      const at = window.need(position + 8, length);
      stack.push(Kind.string, builder.string(window.bytes, at, length));
      stack.position = at + length;
      return true;
    }
    case Op.FRAME:
      // Frames only divide the writer's output.
      stack.position += 8;
      return true;
    case Op.PROTO: {
      const protocol = bytes[position] as number;
      stack.position += 1;
      window.check(stack.position);
      if (protocol < 2 || protocol > 5) throw unknownProtocol(protocol, window.where);
      return true;
    }
    default:
      return false;
  }
}

function malformed(window: Window, position: number, what: string): GateError {
  // Bytes beyond the end read as zeros. A truncated file must be reported as such.
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
    `pickle protocol ${protocol} is not supported (supported: 2 to 5)`,
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
      `byte ${offset} (0x${op.toString(16).padStart(2, "0")}) is not a pickle opcode`,
      window.where,
      "The file is damaged.",
    );
  }
  return invalidInput(
    "SNAPSHOT_FORBIDDEN_OPCODE",
    refused.constructs
      ? `byte ${offset} constructs an object (opcode ${refused.name}), which plain data never does`
      : `byte ${offset} is opcode ${refused.name}, which memory snapshots do not need`,
    window.where,
    "Only memory snapshots can be read: pickle.dump(torch.cuda.memory._snapshot(), file).",
  );
}
