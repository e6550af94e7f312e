import { type Block, CachingAllocator } from "./caching-allocator.ts";
import type { Draw } from "./draw.ts";
import { HostHeap } from "./host-heap.ts";

/** Numbers that grow. */
class Column {
  #values = new Float64Array(4096);
  length = 0;

  push(value: number): void {
    if (this.length === this.#values.length) {
      const wider = new Float64Array(2 * this.length);
      wider.set(this.#values);
      this.#values = wider;
    }
    this.#values[this.length++] = value;
  }

  get values(): Float64Array {
    return this.#values.subarray(0, this.length);
  }
}

/** Every time at which memory changed. */
export interface Trace {
  readonly seconds: Float64Array;
  readonly step: Float64Array;
  readonly allocated: Float64Array;
  readonly reserved: Float64Array;
  readonly host: Float64Array;
  /** Bytes leaked up to here, device and host: the truth. */
  readonly leaked: Float64Array;
}

/** One process with one device, whose memory is recorded whenever it changes. */
export class Machine {
  readonly draw: Draw;
  readonly device = new CachingAllocator();
  readonly heap: HostHeap;
  step = 0;
  /** Factor on the activations of the coming step. */
  scale = 1;
  seconds = 0;
  leaked = 0;
  readonly #columns = {
    seconds: new Column(),
    step: new Column(),
    allocated: new Column(),
    reserved: new Column(),
    host: new Column(),
    leaked: new Column(),
  };

  constructor(draw: Draw, hostBase: number, hostSpread: number) {
    this.draw = draw;
    this.heap = new HostHeap(draw, hostBase, hostSpread);
  }

  /** Advances the clock, then records the state. */
  mark(seconds: number): void {
    this.seconds += seconds;
    this.heap.breathe();
    this.#columns.seconds.push(this.seconds);
    this.#columns.step.push(this.step);
    this.#columns.allocated.push(this.device.allocated);
    this.#columns.reserved.push(this.device.reserved);
    this.#columns.host.push(this.heap.bytes);
    this.#columns.leaked.push(this.leaked);
  }

  /** Tensors of `bytes` in all, none larger than 1 GiB. */
  tensors(bytes: number): Block[] {
    const parts = Math.max(1, Math.ceil(bytes / 2 ** 30));
    return Array.from({ length: parts }, () => this.device.alloc(bytes / parts));
  }

  drop(blocks: readonly Block[]): void {
    for (const block of blocks) this.device.release(block);
  }

  /** Device memory that is never freed. */
  leak(bytes: number): void {
    const before = this.device.allocated;
    this.tensors(bytes);
    this.leaked += this.device.allocated - before;
  }

  /** The same in host memory. */
  leakHost(bytes: number): void {
    this.heap.hold(bytes);
    this.leaked += bytes;
  }

  trace(): Trace {
    return {
      seconds: this.#columns.seconds.values,
      step: this.#columns.step.values,
      allocated: this.#columns.allocated.values,
      reserved: this.#columns.reserved.values,
      host: this.#columns.host.values,
      leaked: this.#columns.leaked.values,
    };
  }
}
