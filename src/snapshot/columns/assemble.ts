import { type GateError, invalidInput } from "../../core/errors.ts";
import { Action } from "../model/keys.ts";
import type { BlockTable, SegmentTable, TorchSnapshot, TraceAnnotation, TraceTable } from "../model/snapshot.ts";
import type { Budget } from "../pickle/budget.ts";
import type { PickleResult } from "../pickle/machine.ts";
import { idOf, Kind, kindOf } from "../pickle/values.ts";
import type { SnapshotBuilder } from "./builder.ts";
import type { Rows } from "./containers.ts";
import { Class, NO_RUN } from "./containers.ts";
import { AnnotationField, BlockField, HistoryField, SegmentField, TopField } from "./fields.ts";
import { NO_STACK } from "./stacks.ts";

const BLOCK_BYTES = 33;
const SEGMENT_BYTES = 42;
const ANNOTATION_BYTES = 120;
/** Threads read a clock in another order than they write: by far less than this, microseconds. */
const MAX_BACK_US = 1e6;

function notSnapshot(what: string, where: string): GateError {
  return invalidInput(
    "SNAPSHOT_SHAPE",
    `not a memory snapshot: ${what}`,
    where,
    "Expected the pickled result of torch.cuda.memory._snapshot() or torch.cuda.memory_snapshot().",
  );
}

/** Assembles the rows of a builder into a snapshot. */
class Assembler {
  readonly #builder: SnapshotBuilder;
  readonly #budget: Budget;
  readonly #where: string;

  constructor(builder: SnapshotBuilder, budget: Budget, where: string) {
    this.#builder = builder;
    this.#budget = budget;
    this.#where = where;
  }

  /** Head of the runs of list `id`, whose items must be of class `item`; {@link NO_RUN} for an empty list. */
  #runsOf(id: number, item: number, what: string): number {
    const own = this.#builder.lists.classOf(id);
    if (own === Class.empty) return NO_RUN;
    if (own !== item) throw notSnapshot(`${what} contains other values`, this.#where);
    return this.#builder.lists.head(id);
  }

  /** The rows of list `id`. */
  *#rowsOf(id: number, item: number, what: string): Generator<number, void, undefined> {
    for (const { start, count } of this.#builder.runs.from(this.#runsOf(id, item, what))) {
      for (let row = start; row < start + count; row++) yield row;
    }
  }

  #rows(item: number): Rows {
    return this.#builder.rows[item] as Rows;
  }

  /** A byte count, which must be present if `required`, else {@link Number.NaN} where it is missing. */
  #bytes(value: number, what: string, required: boolean): number {
    if (value < 0) throw invalidInput("NEGATIVE_BYTES", `${what} is ${value}`, this.#where);
    if (required && !Number.isFinite(value)) throw notSnapshot(`${what} is missing`, this.#where);
    return value > Number.MAX_SAFE_INTEGER ? this.#tooLarge(what, value) : value;
  }

  #tooLarge(what: string, value: number): never {
    throw invalidInput("SNAPSHOT_MALFORMED", `${what} is ${value} bytes`, this.#where, "The file is damaged.");
  }

  segments(list: number | null): { readonly segments: SegmentTable; readonly blocks: BlockTable } {
    const { runs } = this.#builder;
    const segmentRows = list === null ? [] : [...this.#segmentRows(list)];
    const own = this.#rows(Class.segment);
    const blockLists = segmentRows.map((row) => own.get(row, SegmentField.blocks));
    let blockCount = 0;
    for (const id of blockLists) {
      if (Number.isNaN(id)) throw notSnapshot("a segment has no blocks", this.#where);
      const head = this.#runsOf(id, Class.block, '"blocks" of a segment');
      const count = runs.total(head);
      // A list shared by several segments would cost two bytes each and yield all its blocks each time.
      this.#budget.charge(BLOCK_BYTES * count);
      blockCount += count;
    }
    this.#budget.charge(SEGMENT_BYTES * segmentRows.length);
    const segments = {
      count: segmentRows.length,
      device: new Int32Array(segmentRows.length),
      address: new Float64Array(segmentRows.length),
      totalSize: new Float64Array(segmentRows.length),
      stream: new Float64Array(segmentRows.length),
      pool: new Uint32Array(segmentRows.length),
      large: new Uint8Array(segmentRows.length),
      expandable: new Uint8Array(segmentRows.length),
      firstBlock: new Uint32Array(segmentRows.length + 1),
    } satisfies SegmentTable;
    const blocks = {
      count: blockCount,
      segment: new Uint32Array(blockCount),
      address: new Float64Array(blockCount),
      size: new Float64Array(blockCount),
      requested: new Float64Array(blockCount),
      state: new Uint8Array(blockCount),
      stack: new Uint32Array(blockCount),
    } satisfies BlockTable;
    let at = 0;
    for (const [i, row] of segmentRows.entries()) {
      segments.device[i] = own.get(row, SegmentField.device);
      segments.address[i] = own.get(row, SegmentField.address);
      segments.stream[i] = own.get(row, SegmentField.stream);
      segments.pool[i] = own.get(row, SegmentField.pool);
      segments.expandable[i] = own.get(row, SegmentField.expandable);
      const type = own.get(row, SegmentField.type);
      segments.large[i] = Number.isNaN(type) || this.#builder.strings.text(type) !== "small" ? 1 : 0;
      segments.firstBlock[i] = at;
      const first = at;
      at = this.#blocksOf(blockLists[i] as number, i, segments.address[i] as number, blocks, at);
      segments.totalSize[i] = this.#bytes(own.get(row, SegmentField.totalSize), "total_size of a segment", false);
      if (Number.isNaN(segments.totalSize[i])) {
        segments.totalSize[i] = blocks.size.subarray(first, at).reduce((sum, size) => sum + size, 0);
      }
    }
    segments.firstBlock[segmentRows.length] = at;
    return { segments, blocks };
  }

  *#segmentRows(list: number): Generator<number, void, undefined> {
    for (const row of this.#rowsOf(list, Class.segment, '"segments"')) {
      this.#budget.charge(SEGMENT_BYTES);
      yield row;
    }
  }

  /** Writes the blocks of one segment from `from` on. Returns the begin of the next segment's blocks. */
  #blocksOf(list: number, segment: number, address: number, blocks: BlockTable, from: number): number {
    const own = this.#rows(Class.block);
    let at = from;
    // Before PyTorch 2.1 a block has no address: it begins where the previous one ends.
    let next = address;
    for (const row of this.#rowsOf(list, Class.block, '"blocks" of a segment')) {
      const size = this.#bytes(own.get(row, BlockField.size), "size of a block", true);
      const recorded = own.get(row, BlockField.address);
      const begin = Number.isNaN(recorded) ? next : recorded;
      next = begin + size;
      let requested = own.get(row, BlockField.requestedSize);
      let stack = own.get(row, BlockField.stack);
      const history = own.get(row, BlockField.history);
      if (!Number.isNaN(history)) {
        const newest = this.#newest(history);
        if (Number.isNaN(requested)) requested = newest.size;
        if (Number.isNaN(stack)) stack = newest.stack;
      }
      blocks.segment[at] = segment;
      blocks.address[at] = begin;
      blocks.size[at] = size;
      blocks.requested[at] = this.#bytes(requested, "requested_size of a block", false);
      blocks.state[at] = own.get(row, BlockField.state);
      blocks.stack[at] = Number.isNaN(stack) ? NO_STACK : stack;
      at++;
    }
    return at;
  }

  /** The newest entry of a block's `history`, which describes its current allocation. */
  #newest(list: number): { readonly size: number; readonly stack: number } {
    const own = this.#rows(Class.history);
    for (const row of this.#rowsOf(list, Class.history, '"history" of a block')) {
      return { size: own.get(row, HistoryField.realSize), stack: own.get(row, HistoryField.stack) };
    }
    return { size: Number.NaN, stack: Number.NaN };
  }

  traces(list: number | null): TraceTable[] {
    if (list === null) return [];
    const own = this.#builder.lists.classOf(list);
    if (own === Class.empty) return [];
    if (own !== Class.lists) throw notSnapshot('"device_traces" is not a list of lists', this.#where);
    const tables: TraceTable[] = [];
    let device = 0;
    for (const inner of this.#rowsOf(list, Class.lists, '"device_traces"')) {
      // One list per device. Devices without entries are skipped.
      const runs = [...this.#builder.runs.from(this.#runsOf(inner, Class.trace, '"device_traces"'))];
      if (runs.length > 0) tables.push({ device, ...this.#builder.traces.gather(runs) });
      device++;
    }
    for (const table of tables) this.#checkTrace(table);
    return tables;
  }

  /** Damaged values would be left out of sums without a word. Out-of-memory entries and snapshots have no address. */
  #checkTrace({ action, addr, size, time, length }: TraceTable): void {
    for (let i = 0; i < length; i++) {
      const code = action[i] as number;
      if (code === 0) this.#damaged(i, "no known action");
      if (!((size[i] as number) >= 0)) this.#bytes(size[i] as number, "size of a trace entry", code < Action.snapshot);
      if (code < Action.snapshot && !Number.isFinite(addr[i])) this.#damaged(i, "no address");
      if (i > 0 && (time[i - 1] as number) - (time[i] as number) > MAX_BACK_US)
        this.#damaged(i, "an earlier time than the entry before it");
    }
  }

  #damaged(entry: number, what: string): never {
    const hint = "The file is damaged.";
    throw invalidInput("SNAPSHOT_MALFORMED", `trace entry ${entry} has ${what}`, this.#where, hint);
  }

  annotations(list: number | null): TraceAnnotation[] {
    if (list === null) return [];
    const own = this.#rows(Class.annotation);
    const all: TraceAnnotation[] = [];
    // Annotations are optional, so another value is ignored.
    if (this.#builder.lists.classOf(list) !== Class.annotation) return all;
    for (const row of this.#rowsOf(list, Class.annotation, '"external_annotations"')) {
      const name = own.get(row, AnnotationField.name);
      const stage = own.get(row, AnnotationField.stage);
      const timeUs = own.get(row, AnnotationField.time);
      const device = own.get(row, AnnotationField.device);
      if (Number.isNaN(name) || Number.isNaN(stage) || Number.isNaN(timeUs)) continue;
      this.#budget.charge(ANNOTATION_BYTES);
      all.push({
        name: this.#builder.strings.text(name),
        stage: this.#builder.strings.text(stage) === "END" ? "END" : "START",
        device: Number.isNaN(device) ? null : device,
        timeUs,
      });
    }
    return all;
  }

  snapshot(root: PickleResult): TorchSnapshot {
    const top = this.#top(root);
    const builder = this.#builder;
    return {
      ...this.segments(top.segments),
      traces: this.traces(top.traces),
      stacks: builder.stacks,
      annotations: this.annotations(top.annotations),
      poolName: (pool) => builder.poolNames[pool] ?? "?",
    };
  }

  #top(root: PickleResult): Record<keyof typeof TopField, number | null> {
    const none = { segments: null, traces: null, annotations: null };
    const kind = kindOf(root.tag);
    const id = idOf(root.tag);
    if (kind === Kind.list) {
      const own = this.#builder.lists.classOf(id);
      if (own !== Class.empty && own !== Class.segment)
        throw notSnapshot("the list does not contain segments", this.#where);
      return { ...none, segments: id };
    }
    if (kind !== Kind.dict || this.#builder.dicts.classOf(id) !== Class.top) {
      throw notSnapshot('there are neither "segments" nor "device_traces"', this.#where);
    }
    const own = this.#rows(Class.top);
    const row = this.#builder.dicts.head(id);
    const field = (name: keyof typeof TopField): number | null => {
      const value = own.get(row, TopField[name]);
      return Number.isNaN(value) ? null : value;
    };
    const top = { segments: field("segments"), traces: field("traces"), annotations: field("annotations") };
    if (top.segments === null && top.traces === null) {
      throw notSnapshot('"segments" and "device_traces" are no lists', this.#where);
    }
    return top;
  }
}

/**
 * @throws GateError (invalid input) SNAPSHOT_SHAPE for another kind of pickle, NEGATIVE_BYTES, SNAPSHOT_MALFORMED for
 *   impossible byte counts and trace entries, SNAPSHOT_TOO_COSTLY when shared lists make it larger than its file
 */
export function assemble(builder: SnapshotBuilder, root: PickleResult, budget: Budget, where: string): TorchSnapshot {
  return new Assembler(builder, budget, where).snapshot(root);
}
