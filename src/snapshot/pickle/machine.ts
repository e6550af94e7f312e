import { type GateError, invalidInput } from "../../core/errors.ts";
import type { Budget } from "./budget.ts";
import { Op, refusedOpcode } from "./opcodes.ts";
import { Memo, ReferenceRuns } from "./reference-runs.ts";
import { idOf, isNumber, Kind, kindOf, type PickleBuilder, tagOf, type Values } from "./values.ts";
import type { ByteSource } from "./window.ts";
import { Window } from "./window.ts";

const FIRST_STACK = 1 << 10;
const TWO_32 = 2 ** 32;
const INT = tagOf(Kind.int, 0);

/** The value that STOP leaves. */
export interface PickleResult {
  readonly tag: number;
  /** Of a number only. */
  readonly number: number;
}

/** `upper` for integers from 2^63 on that fit into 64 bits, else `int`. */
function longKind(bytes: Uint8Array, at: number, length: number): number {
  return length === 9 && bytes[at + 8] === 0 && (bytes[at + 7] as number) >= 0x80 ? Kind.upper : Kind.int;
}

/** The little-endian integer in two's complement; of {@link Kind.upper} its lower 64 bits, as a signed number. */
function longValue(bytes: Uint8Array, view: DataView, at: number, length: number): number {
  // The size of an address.
  if (length === 6) return view.getUint32(at, true) + view.getInt16(at + 4, true) * TWO_32;
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
class Stack implements Values {
  tags = new Int32Array(FIRST_STACK);
  numbers = new Float64Array(FIRST_STACK);
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
    this.tags = this.#budget.longer(this.tags);
    this.numbers = this.#budget.longer(this.numbers);
  }

  push(kind: number, id: number): void {
    this.tags[this.depth++] = tagOf(kind, id);
  }

  pushNumber(kind: number, number: number): void {
    this.numbers[this.depth] = number;
    this.push(kind, 0);
  }

  mark(depth: number): void {
    if (this.#marked === this.#marks.length) this.#marks = this.#budget.longer(this.#marks);
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
  if (window.bytes[0] !== Op.PROTO) {
    throw invalidInput(
      "SNAPSHOT_MALFORMED",
      "not a pickle of protocol 2 or later",
      where,
      "Write the snapshot with torch.cuda.memory._dump_snapshot, or with pickle.dump and its default protocol.",
    );
  }
  return interpret(window, position, builder, budget);
}

/** The loop over the opcodes. It works on local variables, which no function inside may close over, for speed. */
function interpret(window: Window, start: number, builder: PickleBuilder, budget: Budget): PickleResult {
  const memo = new Memo(budget);
  const runs = new ReferenceRuns(memo, builder, budget);
  const stack = new Stack(budget);
  let memoized = 0;
  let { tags, numbers } = stack;
  let { bytes, view, safe } = window;
  let depth = 0;
  let position = start;
  for (;;) {
    if (position >= safe) {
      window.check(position);
      position = window.refill(position);
      ({ bytes, view, safe } = window);
    }
    if (depth + 1 >= tags.length) {
      stack.grow();
      ({ tags, numbers } = stack);
    }
    const op = bytes[position++] as number;
    switch (op) {
      case Op.BINGET:
      case Op.LONG_BINGET: {
        const index = op === Op.BINGET ? (bytes[position] as number) : view.getUint32(position, true);
        position += op === Op.BINGET ? 1 : 4;
        const tag = memo.tag(index);
        if (tag === 0) throw malformed(window, position, `a reference to entry ${index}, which was never written,`);
        if (isNumber(kindOf(tag))) numbers[depth] = memo.number(tag);
        tags[depth++] = tag;
        break;
      }
      case Op.MEMOIZE:
      case Op.BINPUT:
      case Op.LONG_BINPUT: {
        let index = memoized;
        if (op === Op.MEMOIZE) memoized++;
        else {
          index = op === Op.BINPUT ? (bytes[position] as number) : view.getUint32(position, true);
          position += op === Op.BINPUT ? 1 : 4;
          checkMemoIndex(index, window, position);
        }
        if (depth === stack.floor) throw malformed(window, position, "an empty stack to memoize");
        memo.put(index, tags[depth - 1] as number, numbers[depth - 1] as number);
        break;
      }
      case Op.BININT1:
      case Op.BININT2:
        numbers[depth] = op === Op.BININT1 ? (bytes[position] as number) : view.getUint16(position, true);
        tags[depth++] = INT;
        position += op === Op.BININT1 ? 1 : 2;
        break;
      case Op.BININT:
        numbers[depth] = view.getInt32(position, true);
        tags[depth++] = INT;
        position += 4;
        break;
      case Op.LONG1: {
        const length = bytes[position++] as number;
        numbers[depth] = longValue(bytes, view, position, length);
        tags[depth++] = tagOf(longKind(bytes, position, length), 0);
        position += length;
        break;
      }
      case Op.SHORT_BINUNICODE:
      case Op.BINUNICODE: {
        const width = op === Op.SHORT_BINUNICODE ? 1 : 4;
        const length = width === 1 ? (bytes[position] as number) : view.getUint32(position, true);
        position = window.need(position + width, length);
        ({ bytes, view, safe } = window);
        tags[depth++] = tagOf(Kind.string, builder.string(bytes, position, length));
        position += length;
        break;
      }
      case Op.MARK:
        if (depth > stack.floor && kindOf(tags[depth - 1] as number) === Kind.list) {
          const after = runs.append(idOf(tags[depth - 1] as number), window, position);
          if (after >= 0) {
            position = after;
            break;
          }
        }
        stack.mark(depth);
        break;
      case Op.STOP:
        if (depth !== 1 || stack.open !== 0) throw malformed(window, position, "an end with values left on the stack");
        return { tag: tags[0] as number, number: numbers[0] as number };
      default:
        stack.depth = depth;
        stack.position = position;
        if (!runContainer(op, stack, builder, window) && !runScalar(op, stack, builder, window))
          throw refusal(window, op, position);
        ({ depth, position } = stack);
        ({ bytes, view, safe } = window);
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
  const { tags, depth, position } = stack;
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
      if (from <= stack.floor || kindOf(tags[from - 1] as number) !== Kind.dict || (depth - from) % 2 !== 0) {
        throw malformed(window, position, "items without a dict");
      }
      builder.setItems(idOf(tags[from - 1] as number), stack, from, depth);
      stack.depth = from;
      return true;
    }
    case Op.APPEND:
    case Op.APPENDS: {
      const from = op === Op.APPENDS ? unmark(stack, window, "list") : depth - 1;
      if (from <= stack.floor || kindOf(tags[from - 1] as number) !== Kind.list)
        throw malformed(window, position, "items without a list");
      builder.append(idOf(tags[from - 1] as number), stack, from, depth);
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
      tags[from] = builder.tuple(stack, from, depth);
      stack.depth = from + 1;
      return true;
    }
    default:
      return false;
  }
}

/** Runs one of the less frequent opcodes for scalars and framing. @returns false for other opcodes */
function runScalar(op: number, stack: Stack, builder: PickleBuilder, window: Window): boolean {
  const { bytes, view } = window;
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
      stack.pushNumber(Kind.float, view.getFloat64(position));
      stack.position += 8;
      return true;
    case Op.LONG4: {
      const length = view.getUint32(position, true);
      if (length > 255) throw malformed(window, position + 4, `an integer of ${length} bytes`);
      const at = window.need(position + 4, length);
      stack.pushNumber(longKind(window.bytes, at, length), longValue(window.bytes, window.view, at, length));
      stack.position = at + length;
      return true;
    }
    case Op.BINUNICODE8: {
      const length = view.getUint32(position, true) + view.getUint32(position + 4, true) * TWO_32;
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
      if (protocol < 2 || protocol > 5) {
        throw invalidInput(
          "SNAPSHOT_PROTOCOL",
          `pickle protocol ${protocol} is not supported (supported: 2 to 5)`,
          window.where,
          "Write it again with pickle.dump(snapshot, file, protocol=4).",
        );
      }
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
